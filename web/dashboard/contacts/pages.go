package contacts

import (
	"html/template"

	"weir/operators"
	"weir/web/dashboard/files"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// Pages returns the pages of contacts and dead letters.
func Pages(sender *files.Sender) []*page.Page {
	const one = "/contacts/{id}"
	reader, writer := []operators.Scope{operators.ScopeContactsRead}, []operators.Scope{operators.ScopeContactsWrite}
	return append([]*page.Page{
		{
			Name: "contacts", Path: "/contacts", Nav: "Contacts", Scopes: reader, Load: loadContacts, Live: []string{"list"}, Posted: searchNumber,
			Actions: []page.Action{{Path: cancelContactsPath, Scopes: writer, Ask: askCancelContacts, Run: cancelContacts}},
			Files:   map[string]page.Handler{"/contacts/_export.csv": exportContacts},
		},
		{
			Name: "contact_new", Path: newContactPath, Scopes: writer, Load: loadNewContact, Posted: sendContact,
			Files: map[string]page.Handler{"/channels/{name}/contact": tryChannel},
		},
		{
			Name: "contact", Path: one, Scopes: reader, Load: loadContact, Live: []string{"contact"},
			Actions: []page.Action{{Path: one + "/cancel", Scopes: writer, Ask: askCancel, Run: cancelContact}},
		},
		{
			Name: "dead", Path: deadLettersPath, Nav: "Dead letters", Scopes: reader, Load: loadDeadGroups, Live: []string{"groups"},
			Files: map[string]page.Handler{deadLettersPath + "/export.csv": exportDeadLetters},
			Actions: []page.Action{
				{Path: deadLettersPath + "/requeue", Scopes: writer, Ask: askRequeue, Run: bulkDeadLetters("requeue", "%d dead letters are requeued.")},
				{Path: deadLettersPath + "/discard", Scopes: writer, Ask: askDiscard, Run: bulkDeadLetters("discard", "%d dead letters are discarded.")},
			},
		},
		{Name: "dead_list", Path: deadLettersPath + "/list", Scopes: reader, Load: loadDeadList},
	}, sender.Pages(importPath, writer, newContactFile)...)
}

// Functions are what templates call to show contacts.
func Functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{"event": func(what string) string { return timelineText(l, what) }}
}
