package people

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
	peopleapi "weir/web/people"
)

const (
	cancelPath = Path + "/cancel"
	removePath = Path + "/remove"
	erasePath  = Path + "/erase"
	exportPath = Path + "/export"

	personPage  = 100  // contacts and messages of a page
	personBatch = 1000 // the same where all are read
	maxBatches  = 100  // of one export
	maxCancel   = 500  // contacts that one request cancels
)

// Query says which person a form is about: by the address, or by the id of a contact or
// of a respondent.
type Query struct {
	To, Contact, Respondent string
	Cursor                  string
	Above                   time.Time // the page before ended there; zero: it is the first
}

func readPersonQuery(form url.Values) Query {
	q := Query{To: strings.TrimSpace(form.Get("to")), Contact: form.Get("contact"), Respondent: form.Get("respondent"), Cursor: form.Get("cursor")}
	q.Above, _ = time.Parse(time.RFC3339Nano, form.Get("above"))
	return q
}

// id returns what names the person other than an address.
func (q *Query) id() string { return q.Contact + q.Respondent }

// Find asks the API for the person, and one page of contacts and messages.
func (q *Query) Find(c *page.Caller, limit int) (found api.PersonView, err error) {
	body := map[string]any{"limit": limit}
	for name, value := range map[string]string{"to": q.To, "contact": q.Contact, "respondent": q.Respondent, "cursor": q.Cursor} {
		if value != "" {
			body[name] = value
		}
	}
	return found, c.Call(http.MethodPost, "/v1/people:find", body, &found)
}

// all reads every page; one of very many keeps the cursor of the rest.
func (q Query) all(c *page.Caller) (api.PersonView, error) {
	whole, err := q.Find(c, personBatch)
	for range maxBatches {
		if err != nil || whole.NextCursor == "" {
			break
		}
		q.Cursor = whole.NextCursor
		var next api.PersonView
		next, err = q.Find(c, personBatch)
		whole.Contacts, whole.Messages = append(whole.Contacts, next.Contacts...), append(whole.Messages, next.Messages...)
		whole.NextCursor = next.NextCursor
	}
	return whole, err
}

// talkView is an entry of what went to a person and came from one.
type talkView struct {
	At      time.Time
	Contact *api.ContactView  // or
	Message *api.ReceivedView // or
	Said    *saidView
}

// Texts returns what a contact says.
func (t *talkView) Texts(l *locale.Locale) string {
	if t.Contact.Call != nil {
		return l.T("a call")
	}
	return strings.Join(t.Contact.Messages, " / ")
}

// Purpose returns the purpose of a contact; empty: that of most contacts.
func (t *talkView) Purpose() string {
	if t.Contact.Purpose == people.DefaultPurpose {
		return ""
	}
	return t.Contact.Purpose
}

// RuleText describes the rule that stopped a contact; empty: none did.
func (t *talkView) RuleText(l *locale.Locale) string {
	if t.Contact.Rule == "" {
		return ""
	}
	return why.RuleText(l, people.Rule(t.Contact.Rule))
}

// Result returns the state or outcome of a contact.
func (t *talkView) Result() string {
	if t.Contact.Outcome != "" {
		return t.Contact.Outcome
	}
	return t.Contact.State
}

// olderForm asks for the next page.
type olderForm struct{ To, Cursor, Above string }

// talk puts contacts, messages and consents of a page into one list, newest first. A consent
// belongs to the page that has what was sent and received at its time.
func (p *personView) talk(l *locale.Locale, found api.PersonView, q Query) {
	oldest := q.Above
	for i := range found.Contacts {
		c := &found.Contacts[i]
		p.Talk, oldest = append(p.Talk, &talkView{At: c.QueuedAt, Contact: c}), earlier(oldest, c.QueuedAt)
		if c.State == weir.Queued.String() {
			p.Waiting++
		}
	}
	for i := range found.Messages {
		m := &found.Messages[i]
		p.Talk, oldest = append(p.Talk, &talkView{At: m.ReceivedAt, Message: m}), earlier(oldest, m.ReceivedAt)
	}
	last := found.NextCursor == ""
	for _, one := range found.Consents {
		if !q.Above.IsZero() && !one.At.Before(q.Above) || !last && one.At.Before(oldest) {
			continue
		}
		line := said(l, people.Status(one.Status), people.Source(one.Source), one.Purpose, one.At)
		line.Words, line.By = one.Words, one.By
		p.Talk = append(p.Talk, &talkView{At: one.At, Said: &line})
	}
	slices.SortStableFunc(p.Talk, func(a, b *talkView) int { return b.At.Compare(a.At) })
	p.Clipped = p.Clipped && last
	if !last {
		p.Older = &olderForm{p.To, found.NextCursor, oldest.Format(time.RFC3339Nano)}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// confirmForm asks for confirmation of something about a person. It is a part of the page,
// because a question of its own would need the address in its URL.
type confirmForm struct {
	To, Text, Button string
	Action           string // last segment of the path
	Facts            []page.Fact
}

// confirmed shows a person with a question, unless it was answered; then it does what was asked
// and shows the person after it.
func confirmed(ask func(*page.Visit, *personView) (*confirmForm, error), run func(*page.Visit, string) (*page.Flash, error)) func(*page.Visit) (*page.Content, error) {
	return func(v *page.Visit) (*page.Content, error) {
		to := strings.TrimSpace(v.Request.PostForm.Get("to"))
		if wrong := wrongAddress(v.Locale, to); wrong != "" {
			c, d := peopleContent(v, to, nil)
			c.Status, d.Wrong = http.StatusUnprocessableEntity, wrong
			return c, nil
		}
		var done *page.Flash
		var err error
		if v.Request.PostForm.Get("confirmed") != "" {
			if done, err = run(v, to); err != nil {
				return nil, err
			}
		}
		found, err := findPerson(v.Caller, Query{To: to})
		if err != nil {
			return nil, err
		}
		c, d := peopleContent(v, to, found)
		if c.Flash = done; done == nil {
			d.Confirm, err = ask(v, found)
		}
		return c, err
	}
}

// waitingOf lists the contacts of a person that are not dispatched yet.
func waitingOf(c *page.Caller, to string) (ids []string, err error) {
	whole, err := Query{To: to}.all(c)
	for i := range whole.Contacts {
		if whole.Contacts[i].State == weir.Queued.String() {
			ids = append(ids, whole.Contacts[i].ID)
		}
	}
	return ids, err
}

func askCancelWaiting(v *page.Visit, p *personView) (*confirmForm, error) {
	ids, err := waitingOf(v.Caller, p.To)
	return &confirmForm{
		To: p.To, Action: "cancel", Button: v.T("Cancel waiting contacts"),
		Text:  v.T("The contacts that wait end as canceled at once. Contacts in flight continue. A survey may contact the person again: to prevent that, record that the person does not want to be contacted."),
		Facts: []page.Fact{{Name: v.T("Contacts that wait"), Value: v.Number(len(ids))}},
	}, err
}

func cancelWaiting(v *page.Visit, to string) (*page.Flash, error) {
	ids, err := waitingOf(v.Caller, to)
	if err != nil {
		return nil, err
	}
	done, left := 0, max(0, len(ids)-maxCancel)
	for _, id := range ids[:len(ids)-left] {
		var out api.CanceledView
		err := v.Call(http.MethodDelete, page.Path("v1", "contacts", id), nil, &out)
		switch status, _ := page.StatusOf(err); {
		case err == nil && out.State == weir.Done.String():
			done++
		case err != nil && status != http.StatusConflict && status != http.StatusNotFound:
			return nil, err // what is canceled stays so
		}
	}
	f := &page.Flash{Text: v.T("%d of %d waiting contacts are canceled.", done, len(ids))}
	if done < len(ids) {
		f.Text += " " + v.T("The others were dispatched meanwhile, or are still to be canceled.")
	}
	f.Bad = left > 0
	return f, nil
}

// removableOf lists the respondents of the surveys that the token may change.
func removableOf(c *page.Caller, list []api.PersonRespondentView) (may []api.PersonRespondentView) {
	for _, r := range list {
		if c.MaySurvey(r.Survey, operators.ScopeSurveysAdmin) {
			may = append(may, r)
		}
	}
	return may
}

func askRemove(v *page.Visit, p *personView) (*confirmForm, error) {
	f := &confirmForm{
		To: p.To, Action: "remove", Button: v.T("Remove from surveys"),
		Text: v.T("This cannot be undone. The number and the attributes are deleted, and a contact that waits is canceled; attempts stay in the figures and, under the id, in the log. " +
			"The person can be imported again: to prevent contacts, record that the person does not want to be contacted."),
	}
	for _, r := range removableOf(v.Caller, p.Respondents) {
		f.Facts = append(f.Facts, page.Fact{Name: r.Survey, Value: r.ID})
	}
	return f, nil
}

// removeFromSurveys removes the person as a respondent. What is removed before an error stays so.
func removeFromSurveys(v *page.Visit, to string) (*page.Flash, error) {
	found, err := (&Query{To: to}).Find(v.Caller, 1)
	if err != nil {
		return nil, err
	}
	list := removableOf(v.Caller, found.Respondents)
	for _, r := range list {
		if err := v.Call(http.MethodDelete, page.Path("v1", "surveys", r.Survey, "respondents", r.ID), nil, nil); err != nil {
			if status, _ := page.StatusOf(err); status != http.StatusNotFound { // somebody else did
				return nil, err
			}
		}
	}
	f := &page.Flash{Text: v.T("The person is removed from %d surveys.", len(list))}
	if len(list) < len(found.Respondents) || found.MoreRespondents {
		f.Text += " " + v.T("The person is in more surveys.")
	}
	return f, nil
}

// erasureView is the receipt of an erasure.
type erasureView struct {
	Went     []page.Fact
	Remains  []string
	Complete bool
}

func askErase(v *page.Visit, p *personView) (*confirmForm, error) {
	return &confirmForm{
		To: p.To, Action: "erase", Button: v.T("Erase person"),
		Text: v.T("This cannot be undone. Whatever waits for the person is canceled; contacts and messages are deleted, the person is removed from surveys, and the address and the words from the history of consents. " +
			"Whether the person may be contacted stays as it is, by a keyed hash."),
	}, nil
}

// erasePerson erases a person, and shows the receipt.
func erasePerson(v *page.Visit) (*page.Content, error) {
	var receipt *erasureView
	c, err := confirmed(askErase, func(v *page.Visit, to string) (*page.Flash, error) {
		var out api.ErasureView
		if err := v.Call(http.MethodPost, "/v1/people:erase", map[string]any{"to": to}, &out); err != nil {
			return nil, err
		}
		receipt = erasureOf(v.Locale, &out)
		if !out.Complete {
			return &page.Flash{Text: v.T("The person is not erased completely yet."), Bad: true}, nil
		}
		return &page.Flash{Text: v.T("The person is erased.")}, nil
	})(v)
	if c != nil {
		c.Data.(*peopleData).Receipt = receipt
	}
	return c, err
}

func erasureOf(l *locale.Locale, out *api.ErasureView) *erasureView {
	e := &erasureView{Complete: out.Complete, Went: []page.Fact{
		{Name: l.T("Contacts"), Value: l.Number(out.Contacts)}, {Name: l.T("Messages"), Value: l.Number(out.Messages)}, {Name: l.T("Surveys"), Value: l.Number(out.Respondents)}, {Name: l.T("Refusals and consents"), Value: l.Number(out.Consents)},
	}}
	for _, rest := range out.Remains {
		e.Remains = append(e.Remains, remainderText(l, rest))
	}
	return e
}

// remainderText describes what an erasure leaves, and why.
func remainderText(l *locale.Locale, rest api.RemainderView) string {
	switch peopleapi.Remainder(rest.What) {
	case peopleapi.RemainsState:
		return l.T("Whether the person may be contacted, by a keyed hash of the address: so a list cannot bring the person back, and the address cannot be read from it without the key.")
	case peopleapi.RemainsContacts:
		return l.T("Contacts that are being canceled, or are still to be found: they can be deleted when they have ended.")
	case peopleapi.RemainsRespondents:
		return l.T("The person in surveys whose contact is in flight: it can be removed when the contact has ended.")
	case peopleapi.RemainsEvents:
		return l.T("Events of the past, with the address and messages, until their retention is over; what webhooks and applications received is theirs to erase.")
	case peopleapi.RemainsAudit:
		return l.T("The audit log, with the address masked, as the proof of this erasure.")
	case peopleapi.RemainsBackups:
		return l.T("Backups of the database, as long as you keep them.")
	default:
		return rest.Why
	}
}

// exportPerson sends everything about a person as a file.
func exportPerson(v *page.Visit, w http.ResponseWriter) error {
	if err := v.ReadForm(w, page.MaxForm); err != nil {
		return err
	}
	q := readPersonQuery(v.Request.PostForm)
	if wrong := wrongAddress(v.Locale, q.To); wrong != "" && q.id() == "" {
		return &page.Problem{Status: http.StatusUnprocessableEntity, Detail: wrong}
	}
	whole, err := q.all(v.Caller)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="person.json"`)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n')) // the browser may have disconnected
	return nil
}

// personPages are the pages of what can be done about a person: each shows the person after it.
func personPages() []*page.Page {
	finders := []operators.Scope{operators.ScopePeopleAdmin, operators.ScopeContactsRead}
	return []*page.Page{
		{Name: "people", Path: cancelPath, Scopes: []operators.Scope{operators.ScopeContactsWrite}, Load: loadPeople, Posted: confirmed(askCancelWaiting, cancelWaiting)},
		{Name: "people", Path: removePath, Scopes: []operators.Scope{operators.ScopeSurveysAdmin}, Load: loadPeople, Posted: confirmed(askRemove, removeFromSurveys)},
		{Name: "people", Path: erasePath, Scopes: []operators.Scope{operators.ScopePeopleAdmin}, Load: loadPeople, Posted: erasePerson},
		{Name: "people", Path: exportPath, Scopes: finders, Load: loadPeople, Sent: exportPerson},
	}
}
