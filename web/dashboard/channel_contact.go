package dashboard

import (
	"cmp"
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// channelSetup is the data of the page about what is to be done at the provider.
type channelSetup struct {
	Channel, Type, Callback string
	ByHand                  []api.CallbackAddress
	Steps                   []string
}

func loadChannelSetup(v *visit) (*content, error) {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &channelSetup{Channel: ch.Channel, Type: ch.Type}
	var at api.CallbackView
	if err := v.get(apiPath("v1", "channels", ch.Channel, "callback"), nil, &at); err != nil {
		return nil, err
	}
	d.Callback, d.ByHand = at.URL, at.ByHand
	// A channel can be of a type that this program does not have.
	if k, err := readChannelKind(v.caller, ch.Type, ""); err == nil {
		d.Steps = k.Steps()
	}
	return &content{title: v.T("Set-up of channel %s", ch.Channel), crumbs: channelCrumbs(ch.Channel, crumb{Text: v.T("Set-up")}), data: d}, nil
}

// testContact is the form that sends a contact to try a channel, as it was filled in.
type testContact struct {
	*form.Form
	Channel string
	Key     string // makes a form that is sent twice one contact
	Problem *problem

	texts bool // it may have a text; otherwise it is a call
}

// testContactFields declares the form of a contact that has a text, or is a call.
func testContactFields(texts bool) *form.Declaration {
	fields := []form.Field{{
		Name: "to", Kind: form.Code, MaxLength: 255, Required: true, Label: "Address",
		Help: "A phone number of yours such as <code>+15550001</code>, or an address in the form of the channel's type.",
	}}
	if texts {
		fields = append(fields, form.Field{Name: "text", At: []string{"messages"}, Kind: form.Area, Rows: 3, MaxLength: 1600, Label: "Text"})
		return &form.Declaration{Fields: fields}
	}
	return &form.Declaration{Fields: append(fields,
		form.Field{Name: "call_flow_id", At: []string{"call", "call_flow_id"}, Kind: form.Number, Min: 1, Label: "Call flow", Help: "The number of a call flow that is stored at the provider. This or TwiML."},
		form.Field{Name: "twiml", At: []string{"call", "twiml"}, Kind: form.Script, Rows: 4, Label: "TwiML", Help: "Such as %s."},
	)}
}

// readTestContact returns the form of a channel, with a text to start from.
func readTestContact(v *visit) (*testContact, error) {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	k, err := readChannelKind(v.caller, ch.Type, "")
	if err != nil {
		return nil, err
	}
	f := &testContact{Channel: ch.Channel, Key: "test-" + rand.Text(), texts: k.Content != "voice"}
	f.Form = testContactFields(f.texts).New(true)
	if f.texts {
		f.Input("text").Value = v.T("This is a test.")
	} else {
		f.Input("twiml").Advice = []any{exampleCall()}
	}
	return f, nil
}

// exampleCall is a document for a call.
func exampleCall() template.HTML {
	return `<code>&lt;Response&gt;&lt;Say&gt;This is a test.&lt;/Say&gt;&lt;/Response&gt;</code>`
}

func (f *testContact) content(l *locale.Locale) *content {
	return &content{title: l.T("Send a test contact on channel %s", f.Channel), crumbs: channelCrumbs(f.Channel, crumb{Text: l.T("Test contact")}), data: f}
}

func newTestContact(v *visit) (*content, error) {
	f, err := readTestContact(v)
	if err != nil {
		return nil, err
	}
	return f.content(v.Locale), nil
}

// contact returns the contact for the API.
func (f *testContact) contact() map[string]any {
	one := f.Body()
	one["key"], one["to"], one["priority"] = f.Key, f.Input("to").Value, "high" // it does not wait behind a backlog
	if f.texts {
		one["messages"] = []string{f.Input("text").Value}
	} else if one["call"] == nil {
		one["call"] = map[string]any{} // the API says what it needs
	}
	return one
}

// place says which field a mistake of the contact is about.
func (f *testContact) place(field string, e *weir.FieldError) string {
	at := strings.Split(strings.TrimPrefix(e.Pointer, "/contacts/0/"), "/")
	switch {
	case at[0] == "to":
		return "to"
	case at[0] == "messages":
		return "text"
	case at[0] == "call" && len(at) > 1 && at[1] == "twiml":
		return "twiml"
	case at[0] == "call":
		return "call_flow_id"
	}
	return field
}

// sendTestContact queues the contact, and leads to its page.
func sendTestContact(v *visit) (*content, error) {
	f, err := readTestContact(v)
	if err != nil {
		return nil, err
	}
	f.Fill(v.r.PostForm)
	f.Key = cmp.Or(strings.TrimSpace(v.r.PostForm.Get("key")), f.Key)
	var sent api.AcceptedList
	err = v.call(http.MethodPost, apiPath("v1", "channels", f.Channel, "contacts"), map[string]any{"contacts": []any{f.contact()}}, &sent)
	c := f.content(v.Locale)
	if err != nil {
		f.Problem, err = c.refused(v.Locale, f.Form, err, f.place, refusedWords{"Nothing was sent.", "Nothing was sent."})
		return c, err
	}
	id := sent.Contacts[0].ID
	c.to, c.flash = "/contacts/"+url.PathEscape(id), &flash{Text: v.T("The contact is accepted. This page shows what becomes of it.")}
	if !v.MayChannel(f.Channel, operators.ScopeContactsRead) {
		c.to, c.flash.Text = channelLink(f.Channel), v.T("The contact %s is accepted.", id)
	}
	return c, nil
}
