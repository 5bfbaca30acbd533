package contacts

import (
	"crypto/rand"
	"encoding/hex"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/digest"
	"weir/operators"
	"weir/web/dashboard/channels"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// newContactPath is the path of no contact: their ids begin with a digit.
const newContactPath = "/contacts/_new"

// maxTexts is the API's limit of the texts of a contact.
const maxTexts = 50

// contactForm declares what a contact is asked for. The names are those of the API. A page of a contact and the columns
// of a file name what they do not know otherwise as it does.
func contactForm() *form.Declaration {
	call := func(part string) []string { return []string{"call", part} }
	return form.Of(api.ContactBody{}, nil,
		form.Field{Name: "channel", Create: true, Kind: form.Select, Label: "Channel", Unset: "choose", MaxLength: 63, Required: true},
		form.Field{Name: "to", Kind: form.Code, Label: "Phone number or other address", Help: "A phone number has its country code, unless the channel has a region.", Required: true},
		form.Field{Name: "messages", Kind: form.TextList, MaxLength: 1600, All: true, Label: "Text", Help: "On a channel for texts. 1 to 1,600 characters."},
		form.Field{Name: "callback_url", At: call("callback_url"), Kind: form.URL, MaxLength: 2000, All: true, Label: "URL of the document"},
		form.Field{Name: "call_flow_id", At: call("call_flow_id"), Kind: form.Number, All: true, Label: "Call flow at the provider, a number"},
		form.Field{Name: "twiml", At: call("twiml"), Kind: form.Script, Rows: 4, All: true, Label: "Document, TwiML"},
		form.Field{Name: "priority", Label: "Priority", Labels: []locale.Message{"normal", "high", "reply"}, Required: true},
		form.Field{Name: "purpose", Kind: form.Select, Label: "Purpose", Help: "It decides which rules for the sake of the person hold.", Required: true},
		form.Field{Name: "not_before", Label: "Not before"},
		form.Field{Name: "not_after", Label: "Not after", Help: "A contact that is not dispatched by then ends as expired. Both are optional."},
		form.Field{Name: "time_zone", Folded: true, Kind: form.Zone, Label: "Time zone of the person", Help: "Such as <code>Africa/Nairobi</code>. Empty: that of the number, as far as it is known."},
		form.Field{Name: "labels", Folded: true, Kind: form.Pairs, Rows: 3, All: true, Label: "Labels", Help: "One per line, such as <code>clinic=north</code>."},
		form.Field{Name: "survey", Folded: true, Label: "Survey", Help: "Surveys of a channel share it fairly."},
		form.Field{Name: "key", Folded: true, Label: "Key", Help: "Your own name for the contact: the same key is sent once. Empty: this form is sent once."},
	)
}

// newContactForm is the form that sends one contact, as it was filled in.
type newContactForm struct {
	*form.Form
	Once       string        // random, for the idempotency key
	NoChannels string        // why there are none to choose from; empty: there are some
	Problem    *page.Problem // an error of the API that is about no field
}

// First returns what is asked for before the content.
func (f *newContactForm) First() []*form.Input {
	return []*form.Input{f.Input("channel"), f.Input("to")}
}

// Then returns what is asked for after the content.
func (f *newContactForm) Then() []*form.Input {
	return slices.DeleteFunc(f.Shown(), func(in *form.Input) bool {
		return in.Name == "channel" || in.Name == "to" || in.Name == "messages" || in.At != nil
	})
}

// Texts returns the texts that were typed; an empty one if there are none.
func (f *newContactForm) Texts() []string {
	if texts := f.Input("messages").Chosen; len(texts) > 0 {
		return texts
	}
	return []string{""}
}

// Blank returns the inputs for texts that are empty: at least one more than there are texts.
func (f *newContactForm) Blank() []string {
	n := len(f.Input("messages").Chosen)
	return make([]string, max(0, min(max(1, 3-n), maxTexts-n)))
}

// More reports whether fields are filled in that few contacts need.
func (f *newContactForm) More() bool { return len(f.Input("messages").Chosen) > 1 || f.Unfolded() }

// Calls reports whether a field of a call is filled in.
func (f *newContactForm) Calls() bool {
	return f.Mistakes["call"] != "" || slices.ContainsFunc(f.Parts("call"), func(in *form.Input) bool { return in.Value != "" || f.Mistakes[in.Name] != "" })
}

func priorityChoices(l *locale.Locale) []page.Option {
	return []page.Option{{Value: "", Text: l.T("normal")}, {Value: "high", Text: l.T("high")}, {Value: "reply", Text: l.T("reply")}}
}

// addChoices reads what the form offers.
func (f *newContactForm) addChoices(c *page.Caller) error {
	channel, purpose := f.Input("channel"), f.Input("purpose")
	names, err := choices.ChannelNames(c, channel.Value, operators.ScopeContactsWrite)
	if err != nil {
		return err
	}
	var offered []form.Choice
	for _, name := range names {
		offered = append(offered, form.Choice{Value: name, Text: name})
	}
	switch {
	case names == nil, len(names) == 0: // none can be read, or there is none: one is typed
		channel.Kind = form.Code
	default:
		channel.Choose(offered, false)
	}
	if names != nil && len(names) == 0 {
		f.NoChannels = choices.NoChannels(c, operators.ScopeContactsWrite)
	}
	purposes, err := choices.PurposeOptions(c, purpose.Value)
	offered = nil
	for _, o := range purposes {
		offered = append(offered, form.Choice{Value: o.Value, Text: o.Text})
	}
	purpose.Choose(offered, false)
	return err
}

// loadNewContact fills in what a link may: never an address, which must not appear in a URL.
func loadNewContact(v *page.Visit) (*page.Content, error) {
	asked := v.Request.URL.Query()
	maps.DeleteFunc(asked, func(name string, _ []string) bool {
		return !slices.Contains([]string{"channel", "priority", "messages", "twiml"}, name)
	})
	f := readNewContactForm(asked)
	f.Once = rand.Text()
	return f.content(v.Locale), f.addChoices(v.Caller)
}

// tryChannel leads to the form of a contact, filled in for a test of a channel.
func tryChannel(v *page.Visit, w http.ResponseWriter) error {
	ch, err := choices.Channel(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return err
	}
	k, err := channels.ReadKind(v.Caller, ch.Type, "")
	if err != nil {
		return err
	}
	text := v.T("This is a test.")
	query := url.Values{"channel": {ch.Channel}, "priority": {"high"}} // it does not wait behind a backlog
	if k.Content == "voice" {
		query.Set("twiml", "<Response><Say>"+html.EscapeString(text)+"</Say></Response>")
	} else {
		query.Set("messages", text)
	}
	v.Redirect(w, newContactPath+"?"+query.Encode())
	return nil
}

func (f *newContactForm) content(l *locale.Locale) *page.Content {
	return &page.Content{Title: l.T("Send a contact"), Crumbs: []page.Crumb{{Text: l.T("Contacts"), Link: "/contacts"}, {Text: l.T("Send")}}, Data: f}
}

func readNewContactForm(sent url.Values) *newContactForm {
	f := &newContactForm{Form: contactForm().New(true), Once: sent.Get("once")}
	f.Fill(sent)
	return f
}

// body returns the contact for the API, and finds the mistakes that only the form can have.
func (f *newContactForm) body(l *locale.Locale) map[string]any {
	if f.Input("channel").Value == "" {
		f.Wrong("channel", l.T("Choose a channel."))
	}
	if f.Input("to").Value == "" {
		f.Wrong("to", l.T("Enter a phone number or another address."))
	}
	for _, in := range f.Inputs {
		switch {
		case in.Understood():
		case in.Kind == form.Pairs:
			f.Wrong(in.Name, l.T("Write each label on a line of its own, as name=value."))
		default:
			f.Wrong(in.Name, l.T("Enter a date and a time in UTC, such as 2026-05-04T09:00, or nothing."))
		}
	}
	body := f.Body()
	if body["key"] == nil {
		body["key"] = f.onceKey()
	}
	return body
}

// onceKey returns the idempotency key of a form without one: the same form sent again has the same
// key, so that a second click sends nothing. Its random part is stored nowhere, so that the address
// cannot be found from the key by trial.
func (f *newContactForm) onceKey() string {
	once := f.Once
	if len(once) != len(rand.Text()) {
		once = rand.Text()
	}
	sum := digest.Of(once, f.Input("channel").Value, f.Form.Texts().String())
	return "dashboard:" + hex.EncodeToString(sum[:16])
}

// place says which field an error of the API is about. That of a call as a whole stands above its fields.
func (f *newContactForm) place(p *page.Problem) page.OwnPlace {
	p.Errors = slices.DeleteFunc(slices.Clone(p.Errors), func(e weir.FieldError) bool {
		call := e.Pointer == "/contacts/0/call"
		if call {
			f.Wrong("call", display.Sentence(e.Detail))
		}
		return call
	})
	for i := range p.Errors {
		p.Errors[i].Pointer = strings.TrimPrefix(p.Errors[i].Pointer, "/contacts/0")
	}
	return func(field string, _ *weir.FieldError) string {
		if field == "key" && f.Input(field).Value == "" {
			return "" // its key is not typed
		}
		return field
	}
}

// sendContact queues the contact, or shows the form again with every mistake.
func sendContact(v *page.Visit) (*page.Content, error) {
	f := readNewContactForm(v.Request.PostForm)
	c := f.content(v.Locale)
	body := map[string]any{"contacts": []any{f.body(v.Locale)}}
	var out api.AcceptedList
	err := error(&page.Problem{Status: http.StatusUnprocessableEntity})
	if channel := f.Input("channel").Value; channel != "" {
		err = v.Save(http.MethodPost, page.Path("v1", "channels", channel, "contacts"), body, f.Mistakes, &out)
	}
	if err == nil && len(out.Contacts) == 1 {
		return f.sent(v, c, &out.Contacts[0]), nil
	}
	status, p := page.StatusOf(err)
	if status == http.StatusNotFound || status == http.StatusForbidden {
		f.Wrong("channel", display.Sentence(p.Detail))
		err = &page.Problem{Status: http.StatusUnprocessableEntity}
	} else if p == nil {
		return nil, err
	}
	words := page.RefusedWords{Nothing: "Nothing was sent.", Correct: "Nothing was sent. Correct the marked fields of the form."}
	var wrong error
	if f.Problem, wrong = c.Refused(v.Locale, f.Form, err, f.place(p), words); wrong != nil {
		return nil, wrong
	}
	return c, f.addChoices(v.Caller)
}

// sent returns the page that follows: that of the contact, if the token may read it.
func (f *newContactForm) sent(v *page.Visit, c *page.Content, accepted *api.AcceptedView) *page.Content {
	text, channel := v.T("Contact %s is accepted.", accepted.ID), f.Input("channel").Value
	if accepted.Duplicate {
		text = v.T("Contact %s has this key already, with the same content. Nothing was sent again.", accepted.ID)
	}
	c.Flash, c.To = &page.Flash{Text: text}, newContactPath+"?channel="+url.QueryEscape(channel)
	if v.MayChannel(channel, operators.ScopeContactsRead) {
		c.To = Link(accepted.ID)
	}
	return c
}
