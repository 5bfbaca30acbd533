package contacts

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/people"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// ContactList is the data of the contact search.
type ContactList struct {
	Text, Channel, State, Outcome, Survey string // search terms; empty: any
	ByFinished                            bool   // the interval bounds when they finished
	ByID                                  bool   // the text is the id of the only contact
	Interval                              page.Interval
	Channels, States                      []string
	Outcomes                              []weir.Outcome
	List                                  []api.ContactView
	Pager                                 page.Pager
	Number, Cursor                        string // of a search by number: the number, and the cursor of the next page
}

// Filtered reports whether the list may omit contacts.
func (l *ContactList) Filtered() bool {
	return l.Text != "" || l.Channel != "" || l.State != "" || l.Outcome != "" || l.Survey != "" || l.Interval.Given() || l.Pager.First != "" || l.Number != ""
}

func loadContacts(v *page.Visit) (*page.Content, error) {
	l, err := newContactList(v.Caller, v.Request.URL.Query())
	if err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Contacts"), Crumbs: []page.Crumb{{Text: v.T("Contacts")}}, Data: l}, l.Search(v, v.Request.URL.Query().Get("cursor"))
}

// newContactList reads the search terms from a query or a form.
func newContactList(c *page.Caller, asked url.Values) (*ContactList, error) {
	l := &ContactList{
		Text: strings.TrimSpace(asked.Get("q")), Channel: asked.Get("channel"), Survey: strings.TrimSpace(asked.Get("survey")),
		ByFinished: asked.Get("time") == "finished",
		States:     []string{"queued", "sending", "active", "unknown", "done"},
		Outcomes:   weir.Outcomes(),
	}
	if outcome := asked.Get("outcome"); slices.Contains(l.Outcomes, weir.Outcome(outcome)) {
		l.Outcome = outcome
	}
	if state := asked.Get("state"); slices.Contains(l.States, state) {
		l.State = state
	}
	var err error
	if l.Interval, err = page.ReadInterval(asked); err != nil {
		return nil, err
	}
	// A deleted channel, or one beyond the names that were read, stays selected.
	l.Channels, err = choices.ChannelNames(c, l.Channel)
	return l, err
}

// Search finds a contact by its id, or contacts by their key and the other terms,
// newest first.
func (l *ContactList) Search(v *page.Visit, cursor string) error {
	// A key may look like an id: if there is no such contact, the text is searched as a key.
	if _, err := weir.ParseRef(l.Text); err == nil {
		var found api.ContactView
		err := v.Get(page.Path("v1", "contacts", l.Text), nil, &found)
		if status, _ := page.StatusOf(err); err == nil {
			l.List, l.ByID = []api.ContactView{found}, true
			return nil
		} else if status != http.StatusNotFound {
			return err
		}
	}
	query := l.query()
	query.Set("limit", strconv.Itoa(page.RowsPerPage))
	var list api.ContactList
	for range page.MaxEmptyPages {
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		list = api.ContactList{}
		if err := v.Get("/v1/contacts", query, &list); err != nil {
			return err
		}
		if cursor = list.NextCursor; cursor == "" || len(list.Contacts) > 0 {
			break
		}
	}
	l.List, l.Pager = list.Contacts, v.More(list.NextCursor)
	return nil
}

// searchNumber lists the contacts of a phone number, which is posted in a form so
// that it never appears in a URL.
func searchNumber(v *page.Visit) (*page.Content, error) {
	asked := v.Request.PostForm
	l, err := newContactList(v.Caller, asked)
	if err != nil {
		return nil, err
	}
	l.Number, l.Cursor = strings.TrimSpace(asked.Get("number")), asked.Get("cursor")
	body := map[string]any{"to": l.Number, "limit": page.RowsPerPage}
	query := url.Values{}
	l.Interval.Put(query, "since", "until")
	if l.Channel != "" {
		query.Set("channel", l.Channel)
	}
	for name := range query {
		body[name] = query.Get(name)
	}
	for range page.MaxEmptyPages {
		if l.Cursor != "" {
			body["cursor"] = l.Cursor
		}
		var list api.ContactList
		if err := v.Call(http.MethodPost, "/v1/contacts:search", body, &list); err != nil {
			return nil, err
		}
		l.List, l.Cursor = append(l.List, list.Contacts...), list.NextCursor
		if l.Cursor == "" || len(l.List) >= page.RowsPerPage {
			break
		}
	}
	return &page.Content{Title: v.T("Contacts by phone number"), Crumbs: []page.Crumb{{Text: v.T("Contacts"), Link: "/contacts"}, {Text: v.T("Number")}}, Data: l}, nil
}

// contactData is the data of a contact's page.
type contactData struct {
	api.ContactView
	Fields     []contactField
	Open       bool
	Dead       bool // it is currently a dead letter
	DeadFilter deadFilter
	Timeline   api.TimelineView
	Courses    []attemptCourse
	Waits      *why.View // nil: it does not wait
}

// PurposeName returns the purpose, also that of a contact that names none.
func (d *contactData) PurposeName() string { return cmp.Or(d.Purpose, people.DefaultPurpose) }

// After returns the time from the event before.
func (d *contactData) After(i int, l *locale.Locale) string {
	if i == 0 {
		return ""
	}
	gap := d.Timeline.Events[i].At.Sub(d.Timeline.Events[i-1].At)
	if gap < time.Millisecond {
		return ""
	}
	return "+" + l.Elapsed(gap)
}

// attemptCourse is an attempt with its times from the claim on.
type attemptCourse struct {
	api.AttemptView
	Sent, Heard, Finished string
	Bar                   template.HTML // where it is in the life of the contact
}

// courseStep is how often the course of an attempt that is under way grows: the page of its
// contact changes no more often.
const courseStep = 10 * time.Second

// attemptCourses draws the attempts over the life of a contact, until now if it is not done.
func attemptCourses(l *locale.Locale, c *api.ContactView, now time.Time) []attemptCourse {
	end := now.Truncate(courseStep)
	if !c.FinishedAt.IsZero() {
		end = c.FinishedAt
	}
	place := func(at time.Time) float64 { return float64(at.Sub(c.QueuedAt).Microseconds()) }
	rows := make([]attemptCourse, len(c.Attempts))
	for i, a := range c.Attempts {
		row := attemptCourse{AttemptView: a}
		if a.ClaimedAt.IsZero() {
			rows[i] = row
			continue
		}
		after := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return "+" + l.Elapsed(max(0, at.Sub(a.ClaimedAt)))
		}
		row.Sent, row.Heard, row.Finished = after(a.SentAt), after(a.LastHeardAt), after(a.FinishedAt)
		until := cmp.Or(a.FinishedAt, end)
		sent := cmp.Or(a.SentAt, until)
		parts := []display.Span{{Class: "c5", From: place(a.ClaimedAt), To: place(sent)}}
		if !a.SentAt.IsZero() {
			parts = append(parts, display.Span{Class: "c1", From: place(sent), To: place(until)})
		}
		title := l.T("Attempt %[1]v: begins %[2]s after the contact was accepted, lasts %[3]s", a.Number, l.Elapsed(max(0, a.ClaimedAt.Sub(c.QueuedAt))), l.Elapsed(max(0, until.Sub(a.ClaimedAt))))
		row.Bar = display.Spans(title, place(end), parts)
		rows[i] = row
	}
	return rows
}

// RuleTitle describes what the rule did to the contact.
func (d *contactData) RuleTitle() locale.Message {
	switch {
	case d.Open:
		return "Waits for rule"
	case d.Outcome == string(weir.Suppressed):
		return "Suppressed by rule"
	default: // it expired or was canceled meanwhile
		return "Waited for rule"
	}
}

// RuleText describes the rule; empty: there is none.
func (d *contactData) RuleText(l *locale.Locale) string {
	if d.Rule == "" {
		return ""
	}
	return why.RuleText(l, people.Rule(d.Rule))
}

// Receipts returns the attempts that have a receipt.
func (d *contactData) Receipts() []api.AttemptView {
	return slices.DeleteFunc(slices.Clone(d.Attempts), func(a api.AttemptView) bool { return a.Receipt == nil })
}

// timelineText describes an event of a contact's timeline, as the command line does.
func timelineText(l *locale.Locale, what string) string {
	texts := map[string]locale.Message{
		"made_of": "requeued from", "waits_until": "delayed until here", "handed_over": "accepted by the provider", "last_heard": "last report of the provider",
		"back_in_queue": "queued again", "ended": "done", "requeued": "requeued as",
	}
	if text, ok := texts[what]; ok {
		return l.T(text)
	}
	return l.Word(what)
}

// contactField is a field of a contact, as the page's list of facts shows it.
type contactField struct {
	Name  string
	Value any // a text, a number or a time
}

// contactFields lists the fields of a contact that the page does not show elsewhere,
// in the API's order. A new field of the API appears without a change here. Each
// entry of a map is a field of its own.
func contactFields(l *locale.Locale, c *api.ContactView) (list []contactField) {
	elsewhere := []string{
		"id", "channel", "messages", "call", "state", "canceling", "outcome", "reason", "queued_at", "finished_at", "attempts",
		"purpose", "time_zone", "rule",
	}
	for field, value := range reflect.ValueOf(c).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || slices.Contains(elsewhere, name) || value.IsZero() { // embedded is why it waits
			continue
		}
		title := contactFieldTitle(l, name)
		entries, isMap := value.Interface().(map[string]string)
		switch {
		case name == "priority":
			list = append(list, contactField{title, l.Word(c.Priority)})
		case !isMap:
			list = append(list, contactField{title, value.Interface()})
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			list = append(list, contactField{l.T("Label %s", key), entries[key]})
		}
	}
	return list
}

// contactFieldTitle names a field of a contact.
func contactFieldTitle(l *locale.Locale, name string) string {
	titles := map[string]locale.Message{
		"key": "Key", "to": "Recipient", "priority": "Priority", "survey": "Survey", "not_before": "Not before", "not_after": "Not after", "size": "Slots", "segments": "Segments",
	}
	if title, ok := titles[name]; ok {
		return l.T(title)
	}
	if in := contactForm().New(true).Input(name); in != nil {
		return in.Title(l)
	}
	return strings.ToUpper(name[:1]) + l.Word(name[1:])
}

func readContact(c *page.Caller, id string) (contact api.ContactView, err error) {
	err = c.Get(page.Path("v1", "contacts", id), nil, &contact)
	return contact, err
}

func loadContact(v *page.Visit) (*page.Content, error) {
	c, err := readContact(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &contactData{ContactView: c, Waits: why.Of(v.Locale, &c.WhyView, "", time.Time{}, v.Now()), Fields: contactFields(v.Locale, &c), Courses: attemptCourses(v.Locale, &c, v.Now()), Open: c.State != weir.Done.String(), DeadFilter: deadFilter{url.Values{"contact": {c.ID}}}}
	if err := v.Get(page.Path("v1", "contacts", c.ID, "timeline"), nil, &d.Timeline); err != nil {
		return nil, err
	}
	d.Dead = slices.ContainsFunc(d.Timeline.Events, func(e api.TimelineEvent) bool { return e.What == "dead_letter" })
	return &page.Content{Title: v.T("Contact %s", c.ID), Crumbs: contactCrumbs(v.Locale, c.ID), Data: d}, nil
}

func askCancel(v *page.Visit) (*page.Question, error) {
	c, err := readContact(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	text := v.T("The contact is queued. It ends as canceled at once.")
	if c.State != weir.Queued.String() {
		text = v.T("The contact is in flight. The provider is asked to cancel it, and it ends with the outcome that the provider reports. It may still reach the person.")
	}
	return &page.Question{
		Title: v.T("Cancel contact %s", c.ID), Text: text, Button: v.T("Cancel contact"), Danger: true, Back: Link(c.ID),
		Facts:  []page.Fact{{Name: v.T("Channel"), Value: c.Channel}, {Name: v.T("State"), Value: v.Word(c.State)}, {Name: v.T("Attempts"), Value: v.Number(len(c.Attempts))}},
		Crumbs: contactCrumbs(v.Locale, c.ID, page.Crumb{Text: v.T("Cancel")}),
	}, nil
}

func cancelContact(v *page.Visit) (*page.Done, error) {
	id := v.Request.PathValue("id")
	var out api.CanceledView
	if err := v.Call(http.MethodDelete, page.Path("v1", "contacts", id), nil, &out); err != nil {
		return nil, err
	}
	if out.State != weir.Done.String() {
		return &page.Done{Text: v.T("The provider is asked to cancel contact %s.", id), To: Link(id)}, nil
	}
	return &page.Done{Text: v.T("Contact %s is canceled.", id), To: Link(id)}, nil
}

// Link returns the path of a contact's page.
func Link(id string) string { return "/contacts/" + url.PathEscape(id) }

func contactCrumbs(l *locale.Locale, id string, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: l.T("Contacts"), Link: "/contacts"}, {Text: id, Link: Link(id)}}, more...)
}
