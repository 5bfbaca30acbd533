package contacts

import (
	"net/url"
	"slices"
	"strings"

	"weir/operators"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/files"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// importPath is the path of no contact: ids begin with a digit.
const importPath = "/contacts/_import"

// fieldLabel is the field of a column whose values become a label of its name.
const fieldLabel = "label"

// contactFile sends the rows of a file as contacts of a channel.
type contactFile struct {
	*locale.Locale
	link    string // to the contacts of the channel
	channel string
	run     string // with another name, the same rows are sent again
	// Defaults of rows that leave them out.
	text, priority, purpose string
}

func newContactFile(v *page.Visit, form url.Values) (files.Use, error) {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &contactFile{
		Locale:  v.Locale,
		link:    v.Link("/contacts") + "?" + url.Values{"channel": {field("channel")}}.Encode(),
		channel: field("channel"), run: field("run"), text: strings.ReplaceAll(field("text"), "\r\n", "\n"), priority: field("priority"), purpose: field("purpose"),
	}, nil
}

func (f *contactFile) About() *files.Words {
	return &files.Words{
		Title: f.T("Send a file"), Crumbs: []page.Crumb{{Text: f.T("Contacts"), Link: "/contacts"}, {Text: f.T("Send a file")}}, Path: importPath, Verb: f.T("Send"),
		Help: f.T("The first line names the columns, one of them the phone number, such as phone,text."), First: f.T("Nothing is sent before you have seen how."),
		Named: "Name of the label", NamedOf: "Name of the label of column %s", Shown: []string{"to", "messages"}, Heads: []string{f.T("Recipient"), f.T("Texts"), f.T("Other fields")},
		Done: f.T("File sent"), DoneInPart: f.T("File sent in part"), Stopped: "Not all of %[1]s was sent, because %[2]s.",
		Again: f.T("Send the same file again, with the same choices, to continue: nobody is contacted twice."),
		Whole: f.T("Or mend and send the whole file: what was sent is not sent twice."),
		Next:  page.Crumb{Text: f.T("Contacts of %s", f.channel), Link: f.link}, NextScopes: []operators.Scope{operators.ScopeContactsRead},
	}
}

func (f *contactFile) Columns() *files.Rules {
	rules := &files.Rules{
		Max: 100,
		Fields: []files.ColumnField{
			{Option: page.Option{Value: "to", Text: f.T("phone number or address")}, Required: true},
			{Option: page.Option{Value: "message", Text: f.T("text")}, Many: true},
			{Option: page.Option{Value: "key", Text: f.T("key")}},
			{Option: page.Option{Value: "priority", Text: f.T("priority")}},
			{Option: page.Option{Value: "not_before", Text: f.T("not before")}},
			{Option: page.Option{Value: "not_after", Text: f.T("not after")}},
			{Option: page.Option{Value: "survey", Text: f.T("survey")}},
			{Option: page.Option{Value: "purpose", Text: f.T("purpose")}},
			{Option: page.Option{Value: "time_zone", Text: f.T("time zone")}},
			{Option: page.Option{Value: fieldLabel, Text: f.T("label")}, Many: true, Named: true},
			{Option: page.Option{Value: "callback_url", Text: f.T("call: document URL")}},
			{Option: page.Option{Value: "call_flow_id", Text: f.T("call: flow")}},
			{Option: page.Option{Value: "twiml", Text: f.T("call: document")}},
		},
		NameOf: func(header string) string {
			name := strings.TrimSpace(header)
			if prefix := len("label."); len(name) > prefix && strings.EqualFold(name[:prefix], "label.") {
				return name[prefix:]
			}
			return name
		},
		NameRule: func(name string) string {
			if name == "" {
				return f.T("a label needs a name")
			}
			return ""
		},
	}
	declared := contactForm().Fields
	for i := range declared {
		d := &declared[i]
		known := d.Create || d.Name == "messages" || d.Name == "labels" || slices.ContainsFunc(rules.Fields, func(c files.ColumnField) bool { return c.Value == d.Name })
		if !known {
			rules.Fields = append(rules.Fields, files.ColumnField{Option: page.Option{Value: d.Name, Text: f.T(d.Label)}})
		}
	}
	return rules
}

func (f *contactFile) Fields(c *page.Caller) (first, more []files.Field, err error) {
	names, err := choices.ChannelNames(c, f.channel, operators.ScopeContactsWrite)
	if err != nil {
		return nil, nil, err
	}
	purposes, err := choices.PurposeOptions(c, f.purpose)
	channel := files.Field{Name: "channel", Label: f.T("Channel"), Value: f.channel, Required: true, Max: 63}
	if names != nil { // otherwise they cannot be read, and one is typed
		channel.Choices = []page.Option{{Value: "", Text: f.T("choose")}}
	}
	for _, name := range names {
		channel.Choices = append(channel.Choices, page.Option{Value: name, Text: name})
	}
	return []files.Field{channel}, []files.Field{
		{Name: "text", Label: f.T("Text of rows without one"), Value: f.text, Long: true, Max: 1600},
		{Name: "priority", Label: f.T("Priority of rows without one"), Value: f.priority, Choices: priorityChoices(f.Locale)},
		{Name: "purpose", Label: f.T("Purpose of rows without one"), Value: f.purpose, Choices: purposes},
		{Name: "run", Label: f.T("Name of the run"), Value: f.run, Max: 100, Help: f.T("A row that was sent before, with the same content, is not sent again. To send the same rows once more on purpose, name another run, such as may.")},
	}, err
}

func (f *contactFile) Mistakes() []string {
	var list []string
	if f.channel == "" {
		list = append(list, f.T("choose a channel"))
	}
	if strings.Contains(f.text, "{{") {
		list = append(list, f.T("the text of rows without one is sent as it is: nothing is put in for {{…}}; give each row its own text, in a column of the file"))
	}
	return list
}

func (f *contactFile) Request() (path string, query url.Values, defaults map[string]any) {
	if f.channel == "" {
		return "", nil, nil
	}
	query, defaults = url.Values{}, page.Filled("priority", f.priority, "purpose", f.purpose)
	if f.run != "" {
		query.Set("run", f.run)
	}
	if f.text != "" {
		defaults["messages"] = []string{f.text}
	}
	return page.Path("v1", "channels", f.channel, "contacts:import"), query, defaults
}

func (*contactFile) OfAPI(name string) (field, own string) {
	field, own, _ = strings.Cut(name, ".")
	return field, own
}

func (*contactFile) ToAPI(field, own string) string {
	if field == fieldLabel {
		return fieldLabel + "." + own
	}
	return field
}

func (*contactFile) Row(told *files.AnswerRow) map[string]any { return told.Contact }

func (*contactFile) Notes(*files.Form, *files.Answer, bool) []string { return nil }

func (*contactFile) Outcome(l *locale.Locale, told *files.Answer) (figures []files.Figure, text string) {
	text = l.T("%d contacts are queued.", told.Queued)
	if told.Duplicates > 0 {
		text += " " + l.T("%d rows were sent before: nobody is contacted twice.", told.Duplicates)
	}
	return []files.Figure{{ID: "accepted", Text: l.T("Queued"), N: told.Queued}, {ID: "duplicates", Text: l.T("Sent before"), N: told.Duplicates}}, text
}
