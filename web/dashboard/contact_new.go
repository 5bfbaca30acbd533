package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
	"weir/operators"
	"weir/people"
	webapi "weir/web/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// newContactPath is the path of no contact: their ids begin with a digit.
const newContactPath = "/contacts/_new"

// maxTexts is the API's limit of the texts of a contact.
const maxTexts = 50

// newContactForm is the form that sends one contact, as it was filled in. The names of its fields
// are those of the API.
type newContactForm struct {
	*locale.Locale
	Channel, To, Key, Priority, Survey, Purpose, TimeZone string
	NotBefore, NotAfter                                   string
	Texts                                                 []string
	CallbackURL, CallFlowID, TwiML                        string
	Labels                                                string   // one per line, as name=value
	Once                                                  string   // random, for the idempotency key
	Channels                                              []string // to choose from; nil: they cannot be read, and one is typed
	NoChannels                                            string   // why there are none to choose from; empty: there are some
	Purposes                                              []option
	Mistakes                                              map[string]string // by field
	Problem                                               *problem          // an error of the API that is about no field
}

// Priorities returns the choices of the priority.
func (f *newContactForm) Priorities() []option { return priorityChoices(f.Locale) }

func priorityChoices(l *locale.Locale) []option {
	return []option{{"", l.T("normal")}, {"high", l.T("high")}, {"reply", l.T("reply")}}
}

// Blank returns the inputs for texts that are empty: at least one more than there are texts.
func (f *newContactForm) Blank() (list []string) {
	for range min(max(1, 3-len(f.Texts)), maxTexts-len(f.Texts)) {
		list = append(list, "")
	}
	return list
}

// More reports whether fields are filled in that few contacts need.
func (f *newContactForm) More() bool {
	if f.Key+f.Survey+f.TimeZone+f.Labels != "" || len(f.Texts) > 1 {
		return true
	}
	return slices.ContainsFunc([]string{"key", "survey", "time_zone", "labels"}, func(name string) bool { return f.Mistakes[name] != "" })
}

// Calls reports whether a field of a call is filled in.
func (f *newContactForm) Calls() bool {
	return f.CallbackURL+f.CallFlowID+f.TwiML+f.Mistakes["call"]+f.Mistakes["callback_url"]+f.Mistakes["call_flow_id"]+f.Mistakes["twiml"] != ""
}

// addChoices reads what the form offers.
func (f *newContactForm) addChoices(c *caller) error {
	var err error
	if f.Channels, err = channelNames(c, f.Channel, operators.ScopeContactsWrite); err == nil {
		f.Purposes, err = purposeChoices(c, f.Purpose)
	}
	if f.Channels != nil && len(f.Channels) == 0 {
		f.NoChannels = c.noChannels(operators.ScopeContactsWrite)
	}
	return err
}

// channelNames returns the channels to choose from, with the chosen one among them: those for which the token has one of the
// scopes; nil: the token may not read them.
func channelNames(c *caller, chosen string, oneOf ...operators.Scope) ([]string, error) {
	if !c.May(readers()...) {
		return nil, nil
	}
	var list webapi.ChannelList
	err := c.get("/v1/channels", url.Values{"limit": {strconv.Itoa(maxChannelNames)}}, &list)
	names := make([]string, 0, len(list.Channels))
	for i := range list.Channels {
		if name := list.Channels[i].Channel; c.MayChannel(name, oneOf...) {
			names = append(names, name)
		}
	}
	names = append(names, unreadable(c, names, oneOf...)...)
	if chosen != "" && !slices.Contains(names, chosen) {
		names = append(names, chosen)
	}
	return names, err
}

// noChannels explains why a form has no channel to choose from.
func (c *caller) noChannels(oneOf ...operators.Scope) string {
	if limit := c.Limit(oneOf...); limit != "" {
		return c.T("There is no channel whose name begins with %s: your scopes are limited to such names.", limit)
	}
	return c.T("There are no channels yet.")
}

// unreadable returns channels that the token may use without seeing them: the limit of a scope may be the whole name of a channel.
func unreadable(c *caller, known []string, oneOf ...operators.Scope) (list []string) {
	for _, prefix := range c.held.Prefixes(oneOf) {
		if whole := !strings.ContainsAny(prefix[len(prefix)-1:], "-._"); whole && !slices.Contains(known, prefix) && !c.MayChannel(prefix, readers()...) {
			list = append(list, prefix)
		}
	}
	return list
}

// purposeChoices returns the purposes to choose from, with the chosen one among them.
func purposeChoices(c *caller, chosen string) ([]option, error) {
	known, err := readPurposes(c)
	list := []option{{"", people.DefaultPurpose}}
	for i := range known {
		if known[i].Name == people.DefaultPurpose {
			continue
		}
		text := known[i].Name
		if title := known[i].Title; title != "" {
			text += " – " + display.Truncate(maxPurposeTitle, title)
		}
		list = append(list, option{known[i].Name, text})
	}
	if !slices.ContainsFunc(list, func(o option) bool { return o.Value == chosen }) {
		list = append(list, option{chosen, chosen}) // it was deleted meanwhile: the API reports it
	}
	return list, err
}

// loadNewContact fills in what a link may: never an address, which must not appear in a URL.
func loadNewContact(v *visit) (*content, error) {
	asked := v.r.URL.Query()
	maps.DeleteFunc(asked, func(name string, _ []string) bool {
		return !slices.Contains([]string{"channel", "priority", "messages", "twiml"}, name)
	})
	f := readNewContactForm(v.Locale, asked)
	f.Once = rand.Text()
	return f.content(), f.addChoices(v.caller)
}

// tryChannel leads to the form of a contact, filled in for a test of a channel.
func tryChannel(v *visit, w http.ResponseWriter) error {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return err
	}
	k, err := readChannelKind(v.caller, ch.Type, "")
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
	v.d.redirect(w, newContactPath+"?"+query.Encode())
	return nil
}

func (f *newContactForm) content() *content {
	return &content{title: f.T("Send a contact"), crumbs: []crumb{{Text: f.T("Contacts"), Link: "/contacts"}, {Text: f.T("Send")}}, data: f}
}

func readNewContactForm(l *locale.Locale, form url.Values) *newContactForm {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	f := &newContactForm{
		Locale: l, Channel: field("channel"), To: field("to"), Key: field("key"), Priority: field("priority"), Survey: field("survey"), Purpose: field("purpose"), TimeZone: field("time_zone"),
		NotBefore: field("not_before"), NotAfter: field("not_after"), CallbackURL: field("callback_url"), CallFlowID: field("call_flow_id"), TwiML: field("twiml"),
		Labels: strings.ReplaceAll(field("labels"), "\r\n", "\n"), Once: form.Get("once"), Mistakes: map[string]string{},
	}
	for _, text := range form["messages"] {
		// Browsers count a line break as one character, and send two.
		if text = strings.ReplaceAll(text, "\r\n", "\n"); strings.TrimSpace(text) != "" {
			f.Texts = append(f.Texts, text)
		}
	}
	return f
}

// body returns the contact for the API, and finds the mistakes that only the form can have.
func (f *newContactForm) body() map[string]any {
	if f.Channel == "" {
		f.Mistakes["channel"] = f.T("Choose a channel.")
	}
	if f.To == "" {
		f.Mistakes["to"] = f.T("Enter a phone number or another address.")
	}
	body := filled("to", f.To, "priority", f.Priority, "survey", f.Survey, "purpose", f.Purpose, "time_zone", f.TimeZone)
	for name, text := range map[string]string{"not_before": f.NotBefore, "not_after": f.NotAfter} {
		if at, err := readMoment(name, text); err != nil {
			f.Mistakes[name] = f.T("Enter a date and a time in UTC, such as 2026-05-04T09:00, or nothing.")
		} else if !at.IsZero() {
			body[name] = at.Format(time.RFC3339)
		}
	}
	if len(f.Texts) > 0 {
		body["messages"] = f.Texts
	}
	call := filled("callback_url", f.CallbackURL, "twiml", f.TwiML)
	if f.CallFlowID != "" {
		if call["call_flow_id"] = f.CallFlowID; isDigits(f.CallFlowID) {
			call["call_flow_id"], _ = strconv.Atoi(f.CallFlowID)
		}
	}
	if len(call) > 0 {
		body["call"] = call
	}
	labels := map[string]string{}
	for line := range strings.Lines(f.Labels) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name = strings.TrimSpace(name); ok {
			labels[name] = strings.TrimSpace(value)
		} else if name != "" {
			f.Mistakes["labels"] = f.T("Write each label on a line of its own, as name=value.")
		}
	}
	if len(labels) > 0 {
		body["labels"] = labels
	}
	if body["key"] = f.Key; f.Key == "" {
		body["key"] = f.onceKey()
	}
	return body
}

func isDigits(text string) bool {
	_, err := strconv.ParseUint(text, 10, 53)
	return err == nil
}

// onceKey returns the idempotency key of a form without one: the same form sent again has the same
// key, so that a second click sends nothing. Its random part is stored nowhere, so that the address
// cannot be found from the key by trial.
func (f *newContactForm) onceKey() string {
	once := f.Once
	if len(once) != len(rand.Text()) {
		once = rand.Text()
	}
	parts := append([]string{once, f.Channel, f.To, f.Priority, f.Survey, f.Purpose, f.TimeZone, f.NotBefore, f.NotAfter, f.CallbackURL, f.CallFlowID, f.TwiML, f.Labels}, f.Texts...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "dashboard:" + hex.EncodeToString(sum[:16])
}

// place shows the errors of the API beside the fields that they are about.
func (f *newContactForm) place(p *problem) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		field := contactFieldOf(e.Pointer)
		switch {
		case field == "to" && f.To == "": // see body
		case field == "" || field == "key" && f.Key == "": // its key is not typed
			rest.Errors = append(rest.Errors, e)
		case f.Mistakes[field] == "":
			f.Mistakes[field] = asSentence(e.Detail)
		default:
			f.Mistakes[field] += " " + asSentence(e.Detail)
		}
	}
	if len(f.Mistakes) == 0 || len(rest.Errors) > 0 {
		f.Problem = &rest
	}
}

// contactFieldOf returns the field of a contact that an error of the API is about; empty: it is
// about none.
func contactFieldOf(pointer string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/contacts/"), "/")
	if len(parts) < 2 {
		return ""
	}
	field := parts[1]
	if field == "call" && len(parts) > 2 {
		field = parts[2]
	}
	if slices.Contains([]string{"key", "to", "priority", "not_before", "not_after", "survey", "purpose", "time_zone", "labels", "messages", "call", "callback_url", "call_flow_id", "twiml"}, field) {
		return field
	}
	return ""
}

// sendContact queues the contact, or shows the form again with every mistake.
func sendContact(v *visit) (*content, error) {
	f := readNewContactForm(v.Locale, v.r.PostForm)
	c := f.content()
	body := map[string]any{"contacts": []any{f.body()}}
	var out api.AcceptedList
	err := error(&problem{Status: http.StatusUnprocessableEntity})
	if f.Channel != "" {
		err = v.save(http.MethodPost, apiPath("v1", "channels", f.Channel, "contacts"), body, f.Mistakes, &out)
	}
	if err == nil && len(out.Contacts) == 1 {
		return f.sent(v, c, &out.Contacts[0]), nil
	}
	var p *problem
	switch c.status, p = statusOf(err); c.status {
	case http.StatusNotFound, http.StatusForbidden:
		f.Mistakes["channel"], c.status = asSentence(p.Detail), http.StatusUnprocessableEntity
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict:
		f.place(p)
	default:
		return nil, err
	}
	c.flash = &flash{Bad: true, Text: f.T("Nothing was sent. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.flash.Text = f.T("Nothing was sent.")
	}
	return c, f.addChoices(v.caller)
}

// sent returns the page that follows: that of the contact, if the token may read it.
func (f *newContactForm) sent(v *visit, c *content, accepted *api.AcceptedView) *content {
	text := f.T("Contact %s is accepted.", accepted.ID)
	if accepted.Duplicate {
		text = f.T("Contact %s has this key already, with the same content. Nothing was sent again.", accepted.ID)
	}
	c.flash, c.to = &flash{Text: text}, newContactPath+"?channel="+url.QueryEscape(f.Channel)
	if v.MayChannel(f.Channel, operators.ScopeContactsRead) {
		c.to = contactLink(accepted.ID)
	}
	return c
}
