package people

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
	"weir/api"
	"weir/internal/digest"
	"weir/operators"
	"weir/people"
	"weir/web/auth"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	peopleapi "weir/web/people"
)

const (
	Path       = "/people"
	recordPath = Path + "/record"
)

// Limits of the API.
const (
	maxAddress = 255 // characters
	maxProof   = 500 // characters of what was said
)

// peopleData is the data of the page about people.
type peopleData struct {
	MaySearch bool
	MayDecide bool
	Undecided int    // messages that may be opt-outs
	To        string // the address as it was typed; it must not get into a URL
	Wrong     string // what is wrong with it; empty: nothing
	Person    *personView
	Form      *consentForm // nil: nothing can be recorded here
	Confirm   *confirmForm // nil: there is nothing to confirm
	Receipt   *erasureView // nil: nothing was erased
}

// personView is what is known of an address.
type personView struct {
	Masked   string
	Refused  bool
	Counts   []saidView // what counts, for each purpose
	Partly   bool       // it is refused for some purposes, or over some channels
	ByPerson bool       // the person refused, so that no operator can take it back
	Number   string     // for a search of contacts; empty: the address is not a phone number
	Verdicts []api.VerdictView
	Talk     []*talkView // what went to the person and came from one, newest first
	Clipped  bool        // there are older consents, which Talk does not have
	Waiting  int         // contacts of Talk that can be canceled before they are dispatched
	Older    *olderForm  // nil: Talk has everything

	Respondents     []api.PersonRespondentView
	MoreRespondents bool
	UnsearchedSince time.Time // until UnsearchedUntil: contacts that were not looked at
	UnsearchedUntil time.Time

	To     string // in forms
	states []people.State
}

// MayErase reports whether to offer the erasure of a person: the token may, and something is kept.
func (p *personView) MayErase(c *page.View) bool {
	return (len(p.Counts) > 0 || len(p.Talk) > 0 || len(p.Respondents) > 0) &&
		c.MayAll(operators.ScopePeopleAdmin) && c.MayAll(operators.ScopeContactsWrite) && c.MayAll(operators.ScopeSurveysAdmin) && c.May(operators.ScopePIIRead)
}

// refuses reports whether contacts of a purpose are suppressed.
func (p *personView) refuses(purpose string) bool {
	refused, _ := people.Decide(p.states, purpose)
	return refused
}

// saidView is what a person said, or what counts of it.
type saidView struct {
	At                         time.Time
	Refused                    bool
	Overruled                  bool // what counts for all purposes decides otherwise
	Source, Purpose, Words, By string
}

// consentForm is the form that records what a person said, as it was filled in.
type consentForm struct {
	To, Status, At, Words string
	Purpose               string            // or people.AllPurposes
	Purposes              []page.Option     // choices of it
	Hidden                bool              // the address is that of the person shown
	Once                  string            // random, for the idempotency key
	Mistakes              map[string]string // by field
	Problem               *page.Problem     // an error of the API that is about no field
}

// Statuses returns the choices of the form. The first one is the default: a refusal by
// mistake can be taken back, a contact to a person who refused cannot.
func (*consentForm) Statuses(l *locale.Locale) []page.Option {
	return []page.Option{{Value: string(people.Refused), Text: l.T("does not want to be contacted")}, {Value: string(people.Given), Text: l.T("agrees, or takes a refusal back")}}
}

// addPurposes adds the choices of the purpose. There are none until the rules of a purpose are
// set, or if the purposes cannot be read: what is recorded then counts for all.
func (f *consentForm) addPurposes(c *page.Caller) {
	known, _ := choices.Purposes(c)
	if len(known) == 0 {
		return
	}
	f.Purposes = []page.Option{{Value: people.AllPurposes, Text: c.T("all purposes")}}
	if !slices.ContainsFunc(known, func(p peopleapi.PurposeView) bool { return p.Name == people.DefaultPurpose }) {
		f.Purposes = append(f.Purposes, page.Option{Value: people.DefaultPurpose, Text: people.DefaultPurpose})
	}
	for i := range known {
		text := known[i].Name
		if title := known[i].Title; title != "" {
			text += " – " + display.Truncate(choices.MaxPurposeTitle, title)
		}
		f.Purposes = append(f.Purposes, page.Option{Value: known[i].Name, Text: text})
	}
	if !slices.ContainsFunc(f.Purposes, func(o page.Option) bool { return o.Value == f.Purpose }) {
		f.Purposes = append(f.Purposes, page.Option{Value: f.Purpose, Text: f.Purpose}) // it was deleted meanwhile: the API reports it
	}
}

// peopleContent returns the page with what was found, which is nil before a search. A form
// is shown if the token may record; whoever may search does so first, and sees what counts.
func peopleContent(v *page.Visit, to string, found *personView) (*page.Content, *peopleData) {
	d := &peopleData{MaySearch: v.MaySearch(), To: to, Person: found}
	if v.May(operators.ScopePeopleAdmin) && (found != nil || !d.MaySearch) {
		d.Form = &consentForm{Purpose: people.AllPurposes, Hidden: found != nil, Once: rand.Text()}
		d.Form.addPurposes(v.Caller)
		if d.Form.Hidden {
			d.Form.To = to
		}
	}
	d.MayDecide = found == nil && v.May(operators.ScopePeopleAdmin)
	if d.MayDecide {
		d.Undecided, _ = CountUndecided(v.Caller) // without it the link has no number
	}
	c := &page.Content{Title: v.T("People"), Crumbs: []page.Crumb{{Text: v.T("People")}}, Data: d}
	if found != nil {
		c.Title, c.Crumbs = v.T("Person"), []page.Crumb{{Text: v.T("People"), Link: Path}, {Text: v.T("Person")}}
	}
	return c, d
}

func loadPeople(v *page.Visit) (*page.Content, error) {
	c, _ := peopleContent(v, "", nil)
	return c, nil
}

// searchPerson shows what is known of an address, which is posted in a form so that it
// never appears in a URL. Pages of contacts and respondents post an id instead.
func searchPerson(v *page.Visit) (*page.Content, error) {
	q := readPersonQuery(v.Request.PostForm)
	if wrong := wrongAddress(v.Locale, q.To); wrong != "" && q.id() == "" && v.MaySearch() {
		c, d := peopleContent(v, q.To, nil)
		c.Status, d.Wrong = http.StatusUnprocessableEntity, wrong
		return c, nil
	}
	found, err := findPerson(v.Caller, q)
	if err != nil {
		return nil, err
	}
	c, _ := peopleContent(v, found.To, found)
	return c, nil
}

// wrongAddress returns what is wrong with an address; empty: nothing. A sign that nobody sees is named.
func wrongAddress(l *locale.Locale, to string) string {
	switch {
	case to == "":
		return l.T("Enter a phone number or another address.")
	case utf8.RuneCountInString(to) > maxAddress:
		return l.T("An address has at most 255 characters.")
	}
	if err := people.CheckAddress(to); err != nil {
		return display.Sentence(l.Mistake(err.Error()))
	}
	return ""
}

func findPerson(c *page.Caller, q Query) (*personView, error) {
	found, err := q.Find(c, personPage)
	if err != nil {
		return nil, err
	}
	p := &personView{
		Masked: auth.MaskNumber(found.To), Refused: found.Refused, Clipped: found.MoreConsents, Verdicts: found.Verdicts, Respondents: found.Respondents, MoreRespondents: found.MoreRespondents,
		UnsearchedSince: found.UnsearchedSince, UnsearchedUntil: found.UnsearchedUntil, To: found.To,
	}
	if people.IsNumber(people.Canonical(p.To)) && !strings.Contains(p.To, ":") {
		p.Number = p.To
	}
	p.states = counting(found.States)
	for _, s := range p.states {
		line := said(c.Locale, s.Status, s.Source, s.Purpose, s.At)
		line.Overruled = p.refuses(s.Purpose) != line.Refused
		p.Partly = p.Partly || p.refuses(s.Purpose)
		p.Counts = append(p.Counts, line)
		p.ByPerson = p.ByPerson || s.Purpose == people.AllPurposes && s.Status == people.Refused && s.Source.ByPerson()
	}
	p.talk(c.Locale, found, q)
	return p, nil
}

// counting returns the state of each purpose that counts. An address has several of one
// purpose after the key of addresses was replaced.
func counting(states []api.StateView) []people.State {
	byPurpose := map[string][]people.State{}
	var purposes []string
	for _, s := range states {
		if byPurpose[s.Purpose] == nil {
			purposes = append(purposes, s.Purpose)
		}
		byPurpose[s.Purpose] = append(byPurpose[s.Purpose], people.State{Purpose: s.Purpose, Status: people.Status(s.Status), Source: people.Source(s.Source), At: s.At})
	}
	slices.Sort(purposes)
	list := make([]people.State, len(purposes))
	for i, p := range purposes {
		if _, list[i] = people.Decide(byPurpose[p], p); list[i].Status == "" { // its provider has taken it back
			list[i] = byPurpose[p][0]
		}
	}
	return list
}

func said(l *locale.Locale, status people.Status, source people.Source, purpose string, at time.Time) saidView {
	view := saidView{At: at, Refused: status == people.Refused, Purpose: purpose, Source: sourceText(l, source, status == people.Refused)}
	if purpose == people.AllPurposes {
		view.Purpose = l.T("all purposes")
	} else if channel, ok := strings.CutPrefix(purpose, people.OverChannel("")); ok {
		view.Purpose = l.T("all purposes, over the channel %s", channel)
	}
	return view
}

// sourceText describes where a refusal or a consent comes from.
func sourceText(l *locale.Locale, source people.Source, refused bool) string {
	switch source {
	case people.FromWord:
		if refused {
			return l.T("the person sent a stop word")
		}
		return l.T("the person sent a word that takes a refusal back")
	case people.FromProvider:
		if refused {
			return l.T("the provider reports an opt-out")
		}
		return l.T("the provider reports that an opt-out is lifted")
	case people.FromApplication:
		return l.T("the person said so in a conversation")
	case people.FromOperator:
		return l.T("an operator read it in a message of the person")
	case people.FromImport:
		return l.T("imported in a list")
	case people.FromAPI:
		return l.T("recorded by an operator or a program")
	default:
		return l.Word(string(source))
	}
}

// recordConsent records what a person said. Its answer is the page itself and no redirect,
// which would need the address in its URL; so loading the page again sends the form again,
// and the idempotency key makes that harmless.
func recordConsent(v *page.Visit) (*page.Content, error) {
	f := readConsentForm(v.Request.PostForm)
	if body := f.check(v.Locale, v.Now()); len(f.Mistakes) == 0 {
		var out api.StateList
		err := v.Call(http.MethodPost, "/v1/consents", map[string]any{"consents": []any{body}}, &out)
		if err == nil {
			return recorded(v, f, &out), nil
		}
		status, p := page.StatusOf(err)
		if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			return nil, err
		}
		f.Problem = page.Place(p, f.Mistakes, f.spot)
	}
	var found *personView
	if f.Mistakes["to"] == "" {
		found = readBack(v, f.To)
	}
	c, d := peopleContent(v, f.To, found)
	f.Hidden = found != nil
	f.addPurposes(v.Caller)
	c.Status, d.Form = http.StatusUnprocessableEntity, f
	c.Flash = &page.Flash{Bad: true, Text: v.T("Nothing was recorded. Correct the marked fields of the form.")}
	return c, nil
}

// readBack returns what is known of an address beside what was done for it; nil if the
// token may not search, or if it cannot be read: what was done stays done.
func readBack(v *page.Visit, to string) *personView {
	if !v.MaySearch() {
		return nil
	}
	found, _ := findPerson(v.Caller, Query{To: to})
	return found
}

func readConsentForm(form url.Values) *consentForm {
	return &consentForm{
		Purpose: cmp.Or(form.Get("purpose"), people.AllPurposes),
		To:      strings.TrimSpace(form.Get("to")), Status: form.Get("status"), At: strings.TrimSpace(form.Get("at")), Once: form.Get("once"), Mistakes: map[string]string{},
		Words: strings.TrimSpace(strings.ReplaceAll(form.Get("words"), "\r\n", "\n")),
	}
}

// check finds every mistake at once, and returns the consent for the API.
func (f *consentForm) check(l *locale.Locale, now time.Time) map[string]any {
	body := map[string]any{"to": f.To, "status": f.Status, "purpose": f.Purpose, "words": f.Words}
	if wrong := wrongAddress(l, f.To); wrong != "" {
		f.Mistakes["to"] = wrong
	}
	if !slices.Contains(people.Statuses(), people.Status(f.Status)) {
		f.Mistakes["status"] = l.T("Choose what the person said.")
	}
	if f.Words == "" {
		f.Mistakes["words"] = l.T("Write down what was said: it is the proof.")
	} else if utf8.RuneCountInString(f.Words) > maxProof {
		f.Mistakes["words"] = l.T("At most 500 characters are kept.")
	}
	at, err := page.ReadMoment("at", f.At)
	switch {
	case err != nil:
		f.Mistakes["at"] = l.T("Enter a date and a time in UTC, such as 2026-05-04T09:00, or nothing.")
	case at.After(now):
		f.Mistakes["at"] = l.T("This is in the future.")
	case !at.IsZero():
		body["at"] = at.Format(time.RFC3339)
	}
	if key := f.key(); key != "" {
		body["key"] = key
	}
	return body
}

// key returns the idempotency key of the form: the same form sent again has the same, one
// that was changed has another. Its random part is stored nowhere, so that the address
// cannot be found from the key by trial.
func (f *consentForm) key() string {
	if len(f.Once) != len(rand.Text()) {
		return ""
	}
	sum := digest.Of(f.Once, f.To, f.Status, f.Purpose, f.At, f.Words)
	return "dashboard:" + hex.EncodeToString(sum[:16])
}

// spot returns the field that a mistake of the API is about.
func (*consentForm) spot(e *weir.FieldError) form.Spot {
	if field := path.Base(e.Pointer); slices.Contains([]string{"to", "status", "purpose", "at", "words"}, field) {
		return form.Spot{Field: field}
	}
	return form.Spot{}
}

// recorded returns the page after a consent was recorded, with the state of its address.
func recorded(v *page.Visit, f *consentForm, out *api.StateList) *page.Content {
	found := readBack(v, f.To)
	c, d := peopleContent(v, f.To, found)
	if found == nil {
		d.To = ""
	}
	c.Flash = f.unseen(v.Locale)
	for _, now := range out.States {
		c.Flash = f.outcome(v.Locale, now, found)
	}
	if out.OtherAddresses > 0 {
		c.Flash.Text += " " + v.T("No country has such a phone number: it counts for contacts to exactly this address.")
	}
	return c
}

// unseen describes what was recorded to somebody who may not see what people said, and so is not told
// what it has changed.
func (f *consentForm) unseen(l *locale.Locale) *page.Flash {
	if f.Status == string(people.Refused) {
		return &page.Flash{Text: l.T("The refusal of %s is recorded. If something else was said later, that counts.", auth.MaskNumber(f.To))}
	}
	return &page.Flash{Text: l.T("It is recorded that %s agreed. A refusal by the person, and what was said later, counts.", auth.MaskNumber(f.To))}
}

// outcome describes what a recorded consent changed: see [people.Next]. found is nil if the
// token may not search: then what counts for all purposes is not known.
func (f *consentForm) outcome(l *locale.Locale, now api.StateView, found *personView) *page.Flash {
	who, refused, ofOne := auth.MaskNumber(f.To), now.Status == string(people.Refused), f.Purpose != people.AllPurposes
	at, _ := page.ReadMoment("at", f.At) // it was checked
	overruled := f.Status == now.Status && found != nil && found.refuses(f.Purpose) != refused
	switch {
	case overruled && refused:
		return &page.Flash{Bad: true, Text: l.T("The refusal is recorded, but %s may still be contacted: what was said later for all purposes counts.", who)}
	case overruled:
		return &page.Flash{Bad: true, Text: l.T("The consent is recorded, but %s stays refused for all purposes: by the person, or by what was said later.", who)}
	case f.Status == now.Status && refused && ofOne:
		return &page.Flash{Text: l.T("The refusal of %[1]s is recorded. From now on contacts of the purpose %[2]s to this address end as suppressed, also those that wait. Contacts in flight are not canceled.", who, f.Purpose)}
	case f.Status == now.Status && refused:
		return &page.Flash{Text: l.T("The refusal of %s is recorded. From now on contacts to this address end as suppressed, also those that wait. Contacts in flight are not canceled.", who)}
	case f.Status == now.Status && ofOne:
		return &page.Flash{Text: l.T("It is recorded that %[1]s agreed to contacts of the purpose %[2]s.", who, f.Purpose)}
	case f.Status == now.Status:
		return &page.Flash{Text: l.T("It is recorded that %s may be contacted.", who)}
	case !at.IsZero() && at.Before(now.At):
		return &page.Flash{Bad: true, Text: l.T("This is kept in the history and changes nothing: what was said later, on %s UTC, counts.", now.At.UTC().Format("2006-01-02 15:04:05"))}
	case refused && people.Source(now.Source).ByPerson():
		return &page.Flash{Bad: true, Text: l.T("This is kept in the history and changes nothing: %s stays refused. Only the person can take back what the person refused, with a word such as START in a message.", who)}
	default: // the form was sent again
		return &page.Flash{Bad: true, Text: l.T("This is kept in the history and changes nothing: what was recorded later counts.")}
	}
}
