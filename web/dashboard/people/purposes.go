package people

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/people"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	peopleapi "weir/web/people"
)

const (
	purposesPath = "/purposes"
	// newPurposePath is the path of no purpose: their names begin with a letter or a digit.
	newPurposePath = purposesPath + "/_new"
)

// purposeView is a purpose as the pages show it.
type purposeView struct {
	peopleapi.PurposeView
	Set bool // false: it is the default purpose, and has no rules
}

// Rules returns the rules in words.
func (p purposeView) Rules(l *locale.Locale) []string {
	if !p.Set {
		return []string{l.T("no rules")}
	}
	return ruleTexts(l, &p.Purpose)
}

// About returns the title. The default purpose is explained if it has none.
func (p purposeView) About(l *locale.Locale) string {
	if p.Title == "" && p.Name == people.DefaultPurpose {
		return l.T("contacts that name no purpose")
	}
	return p.Title
}

// Deletable reports whether the purpose can be deleted. Contacts always have the default
// purpose if they name none, so its rules are changed instead.
func (p purposeView) Deletable() bool { return p.Name != people.DefaultPurpose }

// ruleTexts describes the rules of a purpose, as the command line does.
func ruleTexts(l *locale.Locale, p *people.Purpose) []string {
	list := []string{l.T("people who refused are not contacted")}
	switch {
	case p.Consent == people.IfRecorded:
		list[0] = l.T("only people whose consent is recorded are contacted")
	case len(p.ExemptFrom) > 0:
		list[0] = l.T("people who refused are contacted, too: %s", p.ExemptReason)
	}
	if h := p.QuietHours; h != nil {
		list = append(list, l.T("quiet hours %[1]s to %[2]s", h.From, h.To))
	}
	if n := len(p.Holidays); n > 0 {
		list = append(list, l.T("%d holidays", n))
	}
	if p.TimeZone != "" {
		list = append(list, l.T("people of unknown time zone live in %s", p.TimeZone))
	}
	compiled, _ := p.Compile() // for the days of caps; the API has checked the rules
	for i := range compiled.Caps {
		list = append(list, capText(l, &compiled.Caps[i]))
	}
	if p.RepeatGuard != "" {
		list = append(list, l.T("the same text not again within %s", p.RepeatGuard))
	}
	if p.Help != "" {
		list = append(list, l.T("help is answered: %s", p.Help))
	}
	if p.Confirmation != "" {
		list = append(list, l.T("a stop word is confirmed: %s", p.Confirmation))
	}
	return list
}

// capText describes a cap, as its method Text does.
func capText(l *locale.Locale, k *people.Cap) string {
	days, all := k.Days(), k.Over == people.OverAll
	switch {
	case days == 1 && all:
		return l.T("at most %d a calendar day over all purposes", k.Max)
	case days == 1:
		return l.T("at most %d a calendar day", k.Max)
	case days > 1 && all:
		return l.T("at most %[1]d in %[2]d calendar days over all purposes", k.Max, days)
	case days > 1:
		return l.T("at most %[1]d in %[2]d calendar days", k.Max, days)
	case all:
		return l.T("at most %[1]d in %[2]s over all purposes", k.Max, k.Within)
	}
	return l.T("at most %[1]d in %[2]s", k.Max, k.Within)
}

func purposeLink(name string) string { return purposesPath + "/" + url.PathEscape(name) }

// purposeCrumbs returns the crumbs of a page of a purpose.
func purposeCrumbs(l *locale.Locale, name string, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: l.T("Purposes"), Link: purposesPath}, {Text: name, Link: purposeLink(name)}}, more...)
}

// readPurpose reads a purpose. The default purpose always exists.
func readPurpose(c *page.Caller, name string) (p purposeView, err error) {
	err = c.Get(page.Path("v1", "purposes", name), nil, &p.PurposeView)
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusNotFound && name == people.DefaultPurpose {
		p.Name = name
		return p, nil
	}
	p.Set = err == nil
	return p, err
}

// loadPurposes lists the purposes, the default one first.
func loadPurposes(v *page.Visit) (*page.Content, error) {
	all, err := choices.Purposes(v.Caller)
	if err != nil {
		return nil, err
	}
	list := []purposeView{{PurposeView: peopleapi.PurposeView{Name: people.DefaultPurpose}}}
	for i := range all {
		if all[i].Name == people.DefaultPurpose {
			list[0] = purposeView{all[i], true}
			continue
		}
		list = append(list, purposeView{all[i], true})
	}
	return &page.Content{Title: v.T("Purposes"), Crumbs: []page.Crumb{{Text: v.T("Purposes")}}, Data: list}, nil
}

func loadPurpose(v *page.Visit) (*page.Content, error) {
	p, err := readPurpose(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Purpose %s", p.Name), Crumbs: purposeCrumbs(v.Locale, p.Name), Data: p}, nil
}

// Limits of the form.
const (
	maxCaps   = 8 // of the API
	shownCaps = 3 // rows that are not folded
)

// purposeForm is the form that sets the rules of a purpose, as it was filled in. The names of
// its fields are those of the API, with the parts joined by underscores.
type purposeForm struct {
	New                                       bool // with a name to fill in
	Name, Title, Consent                      string
	QuietFrom, QuietTo, TimeZone, RepeatGuard string
	Holidays                                  string // a line each
	Exempt                                    bool
	ExemptReason                              string
	Help, Confirmation                        string
	Caps                                      []capRow
	Mistakes                                  map[string]string // by field
	Problem                                   *page.Problem     // an error of the API that is about no field

	capRows, holidayLines []int // row or line of what the API got, counted from 1
}

// capRow is a row of the form for a cap.
type capRow struct {
	Form                    *purposeForm
	Row                     int
	Max, Within, Kind, Over string
}

// Field returns the name of a field of the row.
func (r capRow) Field(name string) string { return fmt.Sprintf("cap_%d_%s", r.Row, name) }

// Fields returns the names of all fields of the row.
func (r capRow) Fields() []string {
	return []string{r.Field("max"), r.Field("within"), r.Field("kind"), r.Field("over")}
}

func (r capRow) empty() bool { return r.Max == "" && r.Within == "" }

// FirstCaps and MoreCaps return the rows that are shown, and those that are folded.
func (f *purposeForm) FirstCaps() []capRow { return f.Caps[:shownCaps] }

// MoreCaps returns the rows that are folded.
func (f *purposeForm) MoreCaps() []capRow { return f.Caps[shownCaps:] }

// Unfolded reports whether one of the folded rows is filled in.
func (f *purposeForm) Unfolded() bool {
	return slices.ContainsFunc(f.MoreCaps(), func(r capRow) bool { return !r.empty() })
}

// Policies returns the choices of consent.
func (*purposeForm) Policies(l *locale.Locale) []page.Option {
	return []page.Option{{Value: string(people.UnlessRefused), Text: l.T("people who have not refused")}, {Value: string(people.IfRecorded), Text: l.T("only people whose consent is recorded")}}
}

// Kinds returns how a cap can count time.
func (*purposeForm) Kinds(l *locale.Locale) []page.Option {
	return []page.Option{{Value: string(people.Rolling), Text: l.T("before each contact")}, {Value: string(people.Calendar), Text: l.T("calendar days")}}
}

// Overs returns which contacts a cap can count.
func (*purposeForm) Overs(l *locale.Locale) []page.Option {
	return []page.Option{{Value: string(people.OverPurpose), Text: l.T("of this purpose")}, {Value: string(people.OverAll), Text: l.T("of all purposes")}}
}

// Back returns the page to return to.
func (f *purposeForm) Back() string {
	if f.New {
		return purposesPath
	}
	return purposeLink(f.Name)
}

// addRows adds empty rows for the caps that can still be set.
func (f *purposeForm) addRows() {
	for row := len(f.Caps) + 1; row <= maxCaps; row++ {
		f.Caps = append(f.Caps, capRow{Form: f, Row: row})
	}
}

// formOf returns the form of a purpose with its rules filled in.
func formOf(p *peopleapi.PurposeView) *purposeForm {
	f := &purposeForm{
		Name: p.Name, Title: p.Title, Consent: string(p.Consent), TimeZone: p.TimeZone, RepeatGuard: p.RepeatGuard,
		Exempt: len(p.ExemptFrom) > 0, ExemptReason: p.ExemptReason,
		Help: p.Help, Confirmation: p.Confirmation,
	}
	if h := p.QuietHours; h != nil {
		f.QuietFrom, f.QuietTo = h.From, h.To
	}
	for i, k := range p.Caps {
		f.Caps = append(f.Caps, capRow{f, i + 1, strconv.Itoa(k.Max), k.Within, string(k.Kind), string(k.Over)})
	}
	var lines []string
	for _, h := range p.Holidays {
		lines = append(lines, strings.TrimSpace(h.Date+" "+h.Name))
	}
	f.Holidays = strings.Join(lines, "\n")
	f.addRows()
	return f
}

func readPurposeForm(form url.Values) *purposeForm {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	f := &purposeForm{
		Name: field("name"), Title: field("title"), Consent: field("consent"), QuietFrom: field("quiet_hours_from"), QuietTo: field("quiet_hours_to"),
		TimeZone: field("time_zone"), RepeatGuard: field("repeat_guard"), Exempt: field("exempt_from") != "", ExemptReason: field("exempt_reason"),
		Help: unixLines(field("help")), Confirmation: unixLines(field("confirmation")), Holidays: unixLines(form.Get("holidays")), Mistakes: map[string]string{},
	}
	f.addRows()
	for i := range f.Caps {
		r := &f.Caps[i]
		r.Max, r.Within, r.Kind, r.Over = field(r.Field("max")), field(r.Field("within")), field(r.Field("kind")), field(r.Field("over"))
	}
	return f
}

// unixLines returns a text with line breaks of one character: browsers count one, and send two.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// body returns the rules for the API. Fields that are empty are left out, so that the API
// reports those that are missing.
func (f *purposeForm) body() map[string]any {
	body := page.Filled("title", f.Title, "consent", f.Consent, "time_zone", f.TimeZone, "repeat_guard", f.RepeatGuard, "exempt_reason", f.ExemptReason, "help", f.Help, "confirmation", f.Confirmation)
	if hours := page.Filled("from", f.QuietFrom, "to", f.QuietTo); len(hours) > 0 {
		body["quiet_hours"] = hours
	}
	if f.Exempt {
		body["exempt_from"] = []people.Rule{people.RuleConsent}
	}
	var caps, holidays []map[string]any
	for _, r := range f.Caps {
		if r.empty() {
			continue
		}
		one := page.Filled("max", r.Max, "within", r.Within, "kind", r.Kind, "over", r.Over)
		if n, err := strconv.Atoi(r.Max); err == nil {
			one["max"] = n
		}
		caps, f.capRows = append(caps, one), append(f.capRows, r.Row)
	}
	for i, line := range strings.Split(f.Holidays, "\n") {
		date, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if date == "" {
			continue
		}
		holidays, f.holidayLines = append(holidays, page.Filled("date", date, "name", strings.TrimSpace(name))), append(f.holidayLines, i+1)
	}
	if len(caps) > 0 {
		body["caps"] = caps
	}
	if len(holidays) > 0 {
		body["holidays"] = holidays
	}
	return body
}

// spot returns the field that a mistake of the API is about.
func (f *purposeForm) spot(l *locale.Locale) func(*weir.FieldError) form.Spot {
	return func(e *weir.FieldError) form.Spot {
		if e.Detail == l.Mistake("is missing") { // the other field of a pair is filled in
			e.Detail = l.T("enter this, too")
		}
		if e.Pointer == "/name" && e.Code == "conflict" {
			e.Detail = l.T("There is a purpose of this name already: edit that one.")
		}
		field, where := f.fieldOf(l, strings.Split(strings.TrimPrefix(e.Pointer, "/"), "/"))
		if where != "" {
			e.Detail = l.T("%[1]s: %[2]s", where, e.Detail)
		}
		return form.Spot{Field: field, Add: field == "holidays"}
	}
}

// fieldOf returns the field that a JSON pointer is about, and where a mistake in it is if that
// is not obvious: the line, or which of several fields. Empty: it is about none.
func (f *purposeForm) fieldOf(l *locale.Locale, pointer []string) (field, where string) {
	at := func(list []int) int {
		if len(pointer) < 2 {
			return 0
		}
		if i, err := strconv.Atoi(pointer[1]); err == nil && i >= 0 && i < len(list) {
			return list[i]
		}
		return 0
	}
	switch pointer[0] {
	case "title", "consent", "time_zone", "repeat_guard", "exempt_from", "exempt_reason", "help", "confirmation":
		return pointer[0], ""
	case "name":
		if f.New {
			return "name", ""
		}
	case "quiet_hours":
		if len(pointer) == 2 {
			labels := map[string]locale.Message{"from": "quiet hours from", "to": "quiet hours to"}
			return "quiet_hours_" + pointer[1], l.T(labels[pointer[1]])
		}
	case "caps":
		if row := at(f.capRows); row > 0 && len(pointer) == 3 {
			labels := map[string]locale.Message{"max": "contacts", "within": "within", "kind": "time counts", "over": "contacts count"}
			return f.Caps[row-1].Field(pointer[2]), l.T(labels[pointer[2]])
		}
	case "holidays":
		if n := at(f.holidayLines); n > 0 {
			where = l.T("line %d", n)
		}
		return "holidays", where
	}
	return "", ""
}

func (f *purposeForm) content(l *locale.Locale) *page.Content {
	if f.New {
		return &page.Content{Title: l.T("New purpose"), Crumbs: []page.Crumb{{Text: l.T("Purposes"), Link: purposesPath}, {Text: l.T("New")}}, Data: f}
	}
	return &page.Content{Title: l.T("Edit purpose %s", f.Name), Crumbs: purposeCrumbs(l, f.Name, page.Crumb{Text: l.T("Edit")}), Data: f}
}

func newPurpose(v *page.Visit) (*page.Content, error) {
	f := formOf(&peopleapi.PurposeView{})
	f.New = true
	return f.content(v.Locale), nil
}

func editPurpose(v *page.Visit) (*page.Content, error) {
	p, err := readPurpose(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return formOf(&p.PurposeView).content(v.Locale), nil
}

// createPurpose creates a purpose.
func createPurpose(v *page.Visit) (*page.Content, error) {
	f := readPurposeForm(v.Request.PostForm)
	f.New = true
	name := f.Name
	if !people.ValidPurposeName(name) {
		f.Mistakes["name"] = v.T("1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not %s.", people.AllPurposes)
		name = v.NewName()
	}
	return f.save(v, name, "Purpose %s is created.")
}

func changePurpose(v *page.Visit) (*page.Content, error) {
	f := readPurposeForm(v.Request.PostForm)
	f.Name = v.Request.PathValue("name")
	return f.save(v, f.Name, "Purpose %s is changed.")
}

// save sets the rules, or shows the form again with every mistake.
func (f *purposeForm) save(v *page.Visit, name string, became locale.Message) (*page.Content, error) {
	err := v.Save(http.MethodPut, page.Path("v1", "purposes", name)+page.Creating(f.New), f.body(), f.Mistakes, nil)
	c := f.content(v.Locale)
	if err == nil {
		c.To = purposeLink(name)
		c.Flash = &page.Flash{Text: v.T(became, name) + " " + v.T("Its rules apply to every later claim, also of contacts that wait. A contact that waits for a rule checks them when that time has come.")}
		return c, nil
	}
	status, p := page.StatusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.Problem = page.Place(p, f.Mistakes, f.spot(v.Locale))
	c.Status, c.Flash = status, &page.Flash{Bad: true, Text: v.T("Nothing was saved. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.Flash.Text = v.T("Nothing was saved.")
	}
	return c, nil
}

func askDeletePurpose(v *page.Visit) (*page.Question, error) {
	p, err := readPurpose(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	if !p.Deletable() {
		return nil, &page.Problem{Status: http.StatusConflict, Detail: v.T("contacts that name no purpose have the purpose %s: edit it to remove its rules", p.Name)}
	}
	return &page.Question{
		Title: v.T("Delete purpose %s", p.Name), Button: v.T("Delete"), Danger: true, Back: purposeLink(p.Name), Crumbs: purposeCrumbs(v.Locale, p.Name, page.Crumb{Text: v.T("Delete")}),
		Text:  v.T("New contacts and surveys cannot name it. Its rules still apply to contacts that have it already. It cannot be deleted while a survey that is not done names it."),
		Facts: []page.Fact{{Name: v.T("Title"), Value: cmp.Or(p.Title, v.T("none"))}},
	}, nil
}

func deletePurpose(v *page.Visit) (*page.Done, error) {
	name := v.Request.PathValue("name")
	if _, err := askDeletePurpose(v); err != nil {
		return nil, err
	}
	err := v.Call(http.MethodDelete, page.Path("v1", "purposes", name), nil, nil)
	return &page.Done{Text: v.T("Purpose %s is deleted.", name), To: purposesPath}, err
}
