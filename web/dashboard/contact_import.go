package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/operators"
	"weir/surveys/respondents"
	"weir/web/api"
	"weir/web/dashboard/locale"
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

	accepted, duplicates int
}

func newContactFile(v *visit, form url.Values) (rowTarget, error) {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &contactFile{
		Locale:  v.Locale,
		link:    v.Link("/contacts") + "?" + url.Values{"channel": {field("channel")}}.Encode(),
		channel: field("channel"), run: field("run"), text: strings.ReplaceAll(field("text"), "\r\n", "\n"), priority: field("priority"), purpose: field("purpose"),
	}, nil
}

func (f *contactFile) about() *fileWords {
	return &fileWords{
		title: f.T("Send a file"), crumbs: []crumb{{Text: f.T("Contacts"), Link: "/contacts"}, {Text: f.T("Send a file")}}, Path: importPath, Verb: f.T("Send"),
		Help: f.T("The first line names the columns, one of them the phone number, such as phone,text."), First: f.T("Nothing is sent before you have seen how."),
		Named: "Name of the label", NamedOf: "Name of the label of column %s", Shown: []string{"to", "messages"}, Heads: []string{f.T("Recipient"), f.T("Texts"), f.T("Other fields")},
		done: f.T("File sent"), doneInPart: f.T("File sent in part"), Stopped: "Not all of %[1]s was sent, because %[2]s.",
		Again: f.T("Send the same file again, with the same choices, to continue: nobody is contacted twice."),
		Whole: f.T("Or mend and send the whole file: what was sent is not sent twice."),
		Next:  crumb{f.T("Contacts of %s", f.channel), f.link}, next: []operators.Scope{operators.ScopeContactsRead},
	}
}

func (f *contactFile) columns() *columnRules {
	rules := &columnRules{
		max: 100,
		fields: []columnField{
			{option: option{"to", f.T("phone number or address")}, required: true},
			{option: option{"message", f.T("text")}, many: true},
			{option: option{"key", f.T("key")}},
			{option: option{"priority", f.T("priority")}},
			{option: option{"not_before", f.T("not before")}},
			{option: option{"not_after", f.T("not after")}},
			{option: option{"survey", f.T("survey")}},
			{option: option{"purpose", f.T("purpose")}},
			{option: option{"time_zone", f.T("time zone")}},
			{option: option{fieldLabel, f.T("label")}, prefix: "label.", many: true, named: true},
			{option: option{"callback_url", f.T("call: document URL")}},
			{option: option{"call_flow_id", f.T("call: flow")}},
			{option: option{"twiml", f.T("call: document")}},
		},
		nameOf: func(header string) string {
			name := strings.TrimSpace(header)
			if prefix := len("label."); len(name) > prefix && strings.EqualFold(name[:prefix], "label.") {
				return name[prefix:]
			}
			return name
		},
		nameRule: func(name string) string {
			if name == "" {
				return f.T("a label needs a name")
			}
			return ""
		},
	}
	headers := respondents.ContactHeaders()
	for i := range rules.fields {
		rules.fields[i].headers = headers[rules.fields[i].Value]
	}
	return rules
}

func (f *contactFile) fields(c *caller) (first, more []fileField, err error) {
	names, err := channelNames(c, f.channel, operators.ScopeContactsWrite)
	if err != nil {
		return nil, nil, err
	}
	purposes, err := purposeChoices(c, f.purpose)
	channel := fileField{Name: "channel", Label: f.T("Channel"), Value: f.channel, Required: true, Max: 63}
	if names != nil { // otherwise they cannot be read, and one is typed
		channel.Choices = []option{{"", f.T("choose")}}
	}
	for _, name := range names {
		channel.Choices = append(channel.Choices, option{name, name})
	}
	return []fileField{channel}, []fileField{
		{Name: "text", Label: f.T("Text of rows without one"), Value: f.text, Long: true, Max: 1600},
		{Name: "priority", Label: f.T("Priority of rows without one"), Value: f.priority, Choices: priorityChoices(f.Locale)},
		{Name: "purpose", Label: f.T("Purpose of rows without one"), Value: f.purpose, Choices: purposes},
		{Name: "run", Label: f.T("Name of the run"), Value: f.run, Max: 100, Help: f.T("A row that was sent before, with the same content, is not sent again. To send the same rows once more on purpose, name another run, such as may.")},
	}, err
}

func (*contactFile) check(*fileRow, map[string]any) {}

func (*contactFile) notes([]column, bool) []string { return nil }

func (f *contactFile) mistakes() []string {
	var list []string
	if f.channel == "" {
		list = append(list, f.T("choose a channel"))
	}
	if strings.Contains(f.text, "{{") {
		list = append(list, f.T("the text of rows without one is sent as it is: nothing is put in for {{…}}; give each row its own text, in a column of the file"))
	}
	return list
}

func (f *contactFile) row(columns []column, r *fileRow) map[string]any {
	body := filled("priority", f.priority, "purpose", f.purpose)
	if field := f.fill(body, columns, r.cells); field != "" {
		r.refuse(headerOf(columns, field), f.T("is not a whole number"))
		return body
	}
	if body["to"] == nil {
		r.refuse(headerOf(columns, "to"), f.T("is missing"))
		return body
	}
	raw, _ := json.Marshal(body) // texts and numbers cannot fail
	if r.key, _ = body["key"].(string); r.key == "" {
		r.key, _ = respondents.ContactKey(f.channel, f.run, body) // nor can its key
		raw = append(raw[:len(raw)-1], `,"key":"`+r.key+`"}`...)
	}
	r.raw = raw
	return body
}

// fill sets the fields of a contact from the cells of its row. It returns the field that is no
// whole number; empty: there is none.
func (f *contactFile) fill(body map[string]any, columns []column, cells []string) (wrong string) {
	var texts []string
	call, labels := map[string]any{}, map[string]string{}
	for i, value := range cells {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		switch field := columns[i].Field; field {
		case "":
		case "message":
			texts = append(texts, value)
		case fieldLabel:
			labels[columns[i].Name] = value
		case "call_flow_id":
			n, err := strconv.ParseInt(value, 10, 54)
			if err != nil {
				return field
			}
			call[field] = n
		case "callback_url", "twiml":
			call[field] = value
		default:
			body[field] = value
		}
	}
	if len(texts) == 0 && f.text != "" {
		texts = []string{f.text}
	}
	if len(texts) > 0 {
		body["messages"] = texts
	}
	if len(call) > 0 {
		body["call"] = call
	}
	if len(labels) > 0 {
		body["labels"] = labels
	}
	return ""
}

// headerOf returns the header of the column that is a field of a contact, or else the field.
func headerOf(columns []column, field string) string {
	if i := slices.IndexFunc(columns, func(c column) bool {
		return field != "" && (c.Field == field || field == "messages" && c.Field == "message")
	}); i >= 0 {
		return columns[i].Header
	}
	return field
}

// send sends rows. Those that the API refuses are noted, and the others sent without them.
func (f *contactFile) send(post fileRequest, columns []column, rows []*fileRow) error {
	keys := map[string]bool{}
	rows = slices.DeleteFunc(rows, func(r *fileRow) bool { // the API refuses a request that has a key twice
		twice := keys[r.key]
		if keys[r.key] = true; twice {
			f.duplicates++
		}
		return twice
	})
	for len(rows) > 0 {
		bodies := make([][]byte, len(rows))
		for i, r := range rows {
			bodies[i] = r.raw
		}
		var list api.AcceptedList
		request := slices.Concat([]byte(`{"contacts":[`), bytes.Join(bodies, []byte(",")), []byte("]}"))
		err := post(apiPath("v1", "channels", f.channel, "contacts"), "application/json", request, &list)
		if err == nil {
			for i := range list.Contacts {
				if list.Contacts[i].Duplicate {
					f.duplicates++
				} else {
					f.accepted++
				}
			}
			return nil
		}
		refuseContacts(err, columns, rows)
		kept := slices.DeleteFunc(slices.Clone(rows), func(r *fileRow) bool { return r.Reason != "" })
		if len(kept) == len(rows) {
			return err
		}
		rows = kept
	}
	return nil
}

// refuseContacts marks the rows that an error of the API names.
func refuseContacts(err error, columns []column, rows []*fileRow) {
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusConflict {
		return
	}
	for _, e := range p.Errors {
		number, _, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/contacts/"), "/")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(rows) && rows[i].Reason == "" {
			rows[i].refuse(headerOf(columns, contactFieldOf(e.Pointer)), e.Detail)
		}
	}
}

func (f *contactFile) outcome(l *locale.Locale) (figures []fileFigure, text string) {
	text = l.T("%d contacts are queued.", f.accepted)
	if f.duplicates > 0 {
		text += " " + l.T("%d rows were sent before: nobody is contacted twice.", f.duplicates)
	}
	return []fileFigure{{"accepted", l.T("Queued"), f.accepted}, {"duplicates", l.T("Sent before"), f.duplicates}}, text
}
