package dashboard

import (
	"cmp"
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"weir/operators"
	"weir/web/api"
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
	*locale.Locale
	Channel         string
	Key             string // makes a form that is sent twice one contact
	To, Text        string
	Call            bool // it is a call
	Texts           bool // it may have a text
	CallFlow, TwiML string
	Mistakes        map[string]string // by field
	Problem         *problem
}

// readTestContact returns the empty form of a channel.
func readTestContact(v *visit) (*testContact, error) {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	k, err := readChannelKind(v.caller, ch.Type, "")
	if err != nil {
		return nil, err
	}
	return &testContact{
		Locale: v.Locale, Channel: ch.Channel, Key: "test-" + rand.Text(), Text: v.T("This is a test."),
		Texts: k.Content != "voice", Call: k.Content == "voice", Mistakes: map[string]string{},
	}, nil
}

func (f *testContact) content() *content {
	return &content{title: f.T("Send a test contact on channel %s", f.Channel), crumbs: channelCrumbs(f.Channel, crumb{Text: f.T("Test contact")}), data: f}
}

func newTestContact(v *visit) (*content, error) {
	f, err := readTestContact(v)
	if err != nil {
		return nil, err
	}
	return f.content(), nil
}

// Example is a document for a call.
func (*testContact) Example() template.HTML {
	return `<code>&lt;Response&gt;&lt;Say&gt;This is a test.&lt;/Say&gt;&lt;/Response&gt;</code>`
}

// fill fills in what a browser sent.
func (f *testContact) fill(form url.Values) {
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	f.To, f.Text, f.CallFlow, f.TwiML = text("to"), text("text"), text("call_flow_id"), text("twiml")
	f.Key = cmp.Or(text("key"), f.Key)
}

// body returns the contact for the API.
func (f *testContact) body() map[string]any {
	one := map[string]any{"key": f.Key, "to": f.To, "priority": "high"} // it does not wait behind a backlog
	if f.Texts {
		one["messages"] = []string{f.Text}
		return one
	}
	call := filled("twiml", f.TwiML)
	if f.CallFlow != "" {
		call["call_flow_id"] = number(f.CallFlow)
	}
	one["call"] = call
	return one
}

// place shows the errors of the API beside the fields that they are about.
func (f *testContact) place(p *problem) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		at, below, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/contacts/0/"), "/")
		field := map[string]string{"to": "to", "messages": "text", "call": "call_flow_id", "key": ""}[at]
		if below == "twiml" {
			field = below
		}
		if field == "" {
			rest.Errors = append(rest.Errors, e)
		} else if f.Mistakes[field] == "" {
			f.Mistakes[field] = asSentence(e.Detail)
		}
	}
	if len(f.Mistakes) == 0 || len(rest.Errors) > 0 {
		f.Problem = &rest
	}
}

// sendTestContact queues the contact, and leads to its page.
func sendTestContact(v *visit) (*content, error) {
	f, err := readTestContact(v)
	if err != nil {
		return nil, err
	}
	f.fill(v.r.PostForm)
	var sent api.AcceptedList
	err = v.call(http.MethodPost, apiPath("v1", "channels", f.Channel, "contacts"), map[string]any{"contacts": []any{f.body()}}, &sent)
	c := f.content()
	if err == nil {
		id := sent.Contacts[0].ID
		c.to, c.flash = "/contacts/"+url.PathEscape(id), &flash{Text: v.T("The contact is accepted. This page shows what becomes of it.")}
		if !v.MayChannel(f.Channel, operators.ScopeContactsRead) {
			c.to, c.flash.Text = channelLink(f.Channel), v.T("The contact %s is accepted.", id)
		}
		return c, nil
	}
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.place(p)
	c.status, c.flash = status, &flash{Bad: true, Text: v.T("Nothing was sent.")}
	return c, nil
}
