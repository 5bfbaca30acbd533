package contacts

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// cancelContactsPath is the path of no contact: their ids begin with a digit.
const cancelContactsPath = "/contacts/_cancel"

// bulkFilter selects contacts for an action: those that are listed, or those that match the
// filter of the list.
type bulkFilter struct{ query url.Values }

// Bulk returns the filter of the list, for its actions.
func (l *ContactList) Bulk() bulkFilter {
	if l.ByID {
		return bulkFilter{url.Values{"contact": {l.List[0].ID}}}
	}
	return l.filter()
}

// Back returns the page of the list.
func (l *ContactList) Back() string { return l.filter().Back() }

// filter returns the filter of the list.
func (l *ContactList) filter() bulkFilter {
	query := url.Values{}
	for name, value := range map[string]string{"q": l.Text, "channel": l.Channel, "state": l.State, "outcome": l.Outcome, "survey": l.Survey, "from": l.Interval.From, "until": l.Interval.Until} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if l.ByFinished && l.Interval.Given() {
		query.Set("time", "finished")
	}
	return bulkFilter{query}
}

// Back returns the page of the list.
func (b bulkFilter) Back() string {
	if len(b.query) == 0 {
		return "/contacts"
	}
	return "/contacts?" + b.query.Encode()
}

// Cancel returns the path of the question before the matching contacts are canceled. All contacts
// have to be asked for: a filter that was lost on the way must not select them.
func (b bulkFilter) Cancel(v *page.View) string {
	query := b.query
	if len(query) == 0 {
		query = url.Values{"all": {"true"}}
	}
	return page.WithQuery(v.Link("/contacts", "_cancel"), query)
}

// Export returns the path of the matching contacts as a file.
func (b bulkFilter) Export(v *page.View) string {
	return page.WithQuery(v.Link("/contacts", "_export.csv"), b.query)
}

// MatchesUnfinished reports whether the filter can match contacts that are not done.
func (b bulkFilter) MatchesUnfinished() bool {
	return b.query.Get("outcome") == "" && b.query.Get("state") != weir.Done.String() && b.query.Get("time") != "finished"
}

// HasDead reports whether a contact of the page may be a dead letter.
func (l *ContactList) HasDead() bool {
	return slices.ContainsFunc(l.List, func(c api.ContactView) bool { return slices.Contains(weir.DeadOutcomes(), weir.Outcome(c.Outcome)) })
}

// HasOpen reports whether a contact of the page is not done.
func (l *ContactList) HasOpen() bool {
	return slices.ContainsFunc(l.List, func(c api.ContactView) bool { return c.State != weir.Done.String() })
}

// bulkFilterOf reads a filter from the query of an action.
func bulkFilterOf(asked url.Values) (bulkFilter, error) {
	out := url.Values{}
	for _, name := range []string{"q", "channel", "state", "outcome", "survey", "time", "from", "until"} {
		if value := strings.TrimSpace(asked.Get(name)); value != "" {
			out.Set(name, value)
		}
	}
	if ids := asked["contact"]; len(ids) > 0 {
		out = url.Values{"contact": ids}
	}
	_, err := page.ReadInterval(out)
	return bulkFilter{out}, err
}

// body returns the request for the API. counted is the instant at which they were counted, which
// excludes later ones; empty: there was no count.
func (b bulkFilter) body(counted string) map[string]any {
	if ids := b.query["contact"]; ids != nil {
		return map[string]any{"contacts": ids}
	}
	body := page.Filled("key", b.query.Get("q"), "channel", b.query.Get("channel"), "survey", b.query.Get("survey"))
	if state := b.query.Get("state"); state != "" {
		body["states"] = []string{state}
	}
	span, _ := page.ReadInterval(b.query) // it was checked
	bounds := url.Values{}
	span.Put(bounds, "since", "until")
	for name := range bounds {
		body[name] = bounds.Get(name)
	}
	if len(body) == 0 {
		body["all"] = true
	}
	// The earlier end holds: that of the filter, or the instant of the count that was confirmed.
	if at, err := time.Parse(time.RFC3339, counted); err == nil && (span.End.IsZero() || at.Before(span.End)) {
		body["until"] = counted
	}
	return body
}

// facts describes the filter in words.
func (b bulkFilter) facts(l *locale.Locale) []page.Fact {
	if ids := b.query["contact"]; ids != nil {
		return []page.Fact{{Name: l.T("Selected"), Value: l.Number(len(ids))}}
	}
	var list []page.Fact
	for _, part := range []struct {
		name string
		text locale.Message
	}{{"q", "key"}, {"channel", "channel"}, {"state", "state"}, {"survey", "survey"}, {"from", "queued from"}, {"until", "queued until"}} {
		value := b.query.Get(part.name)
		if part.name == "state" {
			value = l.Word(value)
		}
		if value != "" {
			list = append(list, page.Fact{Name: l.T(part.text), Value: value})
		}
	}
	if len(list) == 0 {
		return []page.Fact{{Name: l.T("Filter"), Value: l.T("all contacts that are not done")}}
	}
	return list
}

// back returns the page that the action was chosen on.
func (b bulkFilter) back(asked url.Values) string {
	if b.query.Has("contact") {
		return page.LocalPath(cmp.Or(asked.Get("back"), "/contacts"))
	}
	return b.Back()
}

// countInstant returns the end of an interval that has all that was counted now: the next whole
// millisecond, because an interval excludes its end.
func countInstant(v *page.Visit) page.Field {
	return page.Field{Name: "until", Type: "hidden", Value: v.Now().Truncate(time.Millisecond).Add(time.Millisecond).UTC().Format(time.RFC3339Nano)}
}

// askCancelContacts counts the contacts before it asks for confirmation.
func askCancelContacts(v *page.Visit) (*page.Question, error) {
	asked := v.Request.URL.Query()
	which, err := bulkFilterOf(asked)
	if err != nil {
		return nil, err
	}
	if !which.MatchesUnfinished() {
		return nil, &page.Problem{Status: http.StatusUnprocessableEntity, Detail: v.T("contacts that are done cannot be canceled; remove the outcome, the state or the time of the end from the filter")}
	}
	if !which.selects(asked) {
		return nil, errNoneSelected()
	}
	until := countInstant(v)
	body := which.body(until.Value)
	body["dry_run"] = true
	var count api.CancelDone
	if err := v.Call(http.MethodPost, "/v1/contacts:cancel", body, &count); err != nil {
		return nil, err
	}
	title := locale.Message("Cancel %d contacts")
	if count.More {
		title = "Cancel at least %d contacts"
	}
	return &page.Question{
		Title: v.T(title, count.Matching), Button: v.T(title, count.Matching), Danger: true, Back: which.back(asked), Facts: append([]page.Fact{{Name: v.T("Count"), Value: v.Number(count.Matching)}}, which.facts(v.Locale)...),
		Crumbs: []page.Crumb{{Text: v.T("Contacts"), Link: "/contacts"}, {Text: v.T("Cancel")}}, Fields: []page.Field{until}, Text: cancelText(v.Locale, count),
	}, nil
}

// selects reports whether a query selects contacts: by their ids, by a filter, or all of them.
func (b bulkFilter) selects(asked url.Values) bool {
	return asked.Has("contact") || !asked.Has("back") && (len(b.query) > 0 || asked.Get("all") == "true")
}

// errNoneSelected refuses an action on a selection that is empty: it must not become one on all.
func errNoneSelected() error {
	return &page.Problem{Status: http.StatusUnprocessableEntity, Words: "no contact is selected; select contacts in the list first"}
}

// cancelText describes what will happen to the contacts that were counted.
func cancelText(l *locale.Locale, count api.CancelDone) string {
	flying := count.Matching - count.Waiting
	var parts []string
	if count.Waiting > 0 {
		parts = append(parts, l.T("%d contacts wait, and end as canceled at once.", count.Waiting))
	}
	if flying > 0 {
		parts = append(parts, l.T("%d contacts are in flight: the provider is asked to cancel, and each ends with the outcome that the provider reports. They may still reach people.", flying))
	}
	if len(parts) == 0 {
		return l.T("No contact that is not done, and not being canceled already, matches.")
	}
	return strings.Join(append(parts, l.T("This cannot be undone. Contacts that are queued from now on are not affected.")), " ")
}

func cancelContacts(v *page.Visit) (*page.Done, error) {
	asked := v.Request.URL.Query()
	which, err := bulkFilterOf(asked)
	if err != nil {
		return nil, err
	}
	if !which.MatchesUnfinished() || !which.selects(asked) {
		return nil, errNoneSelected()
	}
	var out api.CancelDone
	if err := v.Call(http.MethodPost, "/v1/contacts:cancel", which.body(v.Request.PostForm.Get("until")), &out); err != nil {
		return nil, err
	}
	text := v.T("%d contacts are canceled.", out.Canceled)
	if out.Asked > 0 {
		text += " " + v.T("For %s in flight, the provider is asked to cancel.", v.Number(out.Asked))
	}
	if out.Ended > 0 {
		text += " " + v.T("%s had ended before.", v.Number(out.Ended))
	}
	if out.More {
		text += " " + v.T("More may match: repeat the action.")
	}
	return &page.Done{Text: text, To: which.back(asked)}, nil
}

// exportContacts sends the contacts that match the filter of the list as a file.
func exportContacts(v *page.Visit, w http.ResponseWriter) error {
	l, err := newContactList(v.Caller, v.Request.URL.Query())
	if err != nil {
		return err
	}
	return v.Export(w, "/v1/contacts.csv", l.query())
}

func exportDeadLetters(v *page.Visit, w http.ResponseWriter) error {
	which, err := deadFilterOf(v.Request.URL.Query())
	if err != nil {
		return err
	}
	return v.Export(w, "/v1/dead-letters.csv", which.apiQuery())
}

// query returns the filter under the API's names.
func (l *ContactList) query() url.Values {
	query := url.Values{"order": {"newest"}}
	for name, value := range map[string]string{"key": l.Text, "channel": l.Channel, "state": l.State, "outcome": l.Outcome, "survey": l.Survey} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if l.ByFinished {
		l.Interval.Put(query, "finished_since", "finished_until")
	} else {
		l.Interval.Put(query, "since", "until")
	}
	return query
}
