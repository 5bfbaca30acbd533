package dashboard

import (
	"html/template"

	"weir/operators"
	"weir/web/dashboard/locale"
)

// contactPages returns the pages of contacts and dead letters.
func contactPages(sender *fileSender) []*page {
	const one = "/contacts/{id}"
	reader, writer := []operators.Scope{operators.ScopeContactsRead}, []operators.Scope{operators.ScopeContactsWrite}
	return append([]*page{
		{
			name: "contacts", path: "/contacts", nav: "Contacts", scopes: reader, load: loadContacts, live: []string{"list"}, posted: searchNumber,
			actions: []action{{path: cancelContactsPath, scopes: writer, ask: askCancelContacts, run: cancelContacts}},
			files:   map[string]handler{"/contacts/_export.csv": exportContacts},
		},
		{
			name: "contact_new", path: newContactPath, scopes: writer, load: loadNewContact, posted: sendContact,
			files: map[string]handler{"/channels/{name}/contact": tryChannel},
		},
		{
			name: "contact", path: one, scopes: reader, load: loadContact, live: []string{"contact"},
			actions: []action{{path: one + "/cancel", scopes: writer, ask: askCancel, run: cancelContact}},
		},
		{
			name: "dead", path: deadLettersPath, nav: "Dead letters", scopes: reader, load: loadDeadGroups, live: []string{"groups"},
			files: map[string]handler{deadLettersPath + "/export.csv": exportDeadLetters},
			actions: []action{
				{path: deadLettersPath + "/requeue", scopes: writer, ask: askRequeue, run: bulkDeadLetters("requeue", "%d dead letters are requeued.")},
				{path: deadLettersPath + "/discard", scopes: writer, ask: askDiscard, run: bulkDeadLetters("discard", "%d dead letters are discarded.")},
			},
		},
		{name: "dead_list", path: deadLettersPath + "/list", scopes: reader, load: loadDeadList},
	}, sender.pages(importPath, writer, newContactFile)...)
}

// contactFunctions are what templates call to show contacts.
func contactFunctions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{"event": func(what string) string { return timelineText(l, what) }}
}
