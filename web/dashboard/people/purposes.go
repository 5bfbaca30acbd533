package people

import (
	"cmp"
	"net/http"
	"net/url"

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

// purposeFields are the fields of the form that sets the rules of a purpose. Their names are those of the API, with the
// parts joined by underscores.
func purposeFields() *form.Declaration {
	hours := form.Of(people.Hours{}, nil,
		form.Field{Name: "from", Kind: form.Clock, Label: "Quiet hours from", Called: "quiet hours from", Help: "In the time zone of the person."},
		form.Field{Name: "to", Kind: form.Clock, Label: "to", Called: "quiet hours to", Help: "They may pass midnight."})
	caps := form.Of(people.Cap{}, nil,
		form.Field{Name: "max", Label: "Contacts", Called: "contacts"},
		form.Field{Name: "within", Kind: form.Code, Size: 6, Label: "Within", Called: "within"},
		form.Field{Name: "kind", Required: true, Labels: []locale.Message{"before each contact", "calendar days"}, Label: "Time counts", Called: "time counts"},
		form.Field{Name: "over", Required: true, Labels: []locale.Message{"of this purpose", "of all purposes"}, Label: "Contacts count", Called: "contacts count"})
	return form.Of(people.Purpose{}, nil,
		form.Field{Name: "name", Create: true, Kind: form.Code, MaxLength: 63, Required: true, Label: "Name", Help: "As contacts and surveys name it, such as <code>research</code>. It cannot be changed later."},
		form.Field{Name: "title", Label: "Title", Help: "For people. Optional, like all that follows."},
		form.Field{Name: "consent", Required: true, Head: "Consent", Labels: []locale.Message{"people who have not refused", "only people whose consent is recorded"}, Label: "Contact"},
		form.Field{Name: "exempt_from", Kind: form.Only, Label: "Exempt from refusals: people who refused are contacted, too"},
		form.Field{Name: "exempt_reason", Label: "Reason of the exemption", Help: "Required with an exemption, such as “flood warnings”. It is in the audit log."},
		form.Field{Name: "quiet_hours", Kind: form.Group, Each: hours, Names: "quiet_hours_%[2]s", Head: "Hours and days", Label: "Quiet hours"},
		form.Field{Name: "time_zone", Kind: form.Zone, Label: "Time zone", Help: "Such as <code>Africa/Nairobi</code>, for people whose zone neither the contact nor the number determines. Empty: UTC."},
		form.Field{Name: "holidays", Kind: form.Dates, Rows: 4, All: true, Label: "Holidays", Help: "One per line: a date and, if you like, a name, such as <code>2026-12-25 Christmas Day</code>."},
		form.Field{
			Name: "caps", Kind: form.Rows, Each: caps, Names: "cap_%[1]d_%[2]s", Count: maxCaps, First: shownCaps, MoreRows: "More caps", Label: "Cap %d", Head: "Caps",
			Note: "How many contacts a person gets at most, such as 2 within <code>7d</code>. A contact beyond waits. To remove a cap, empty its first two fields.",
		},
		form.Field{Name: "repeat_guard", Kind: form.Code, Label: "Repeat guard", Help: "The same text to one address is suppressed within this time, such as <code>24h</code>."},
		form.Field{Name: "help", Kind: form.Area, Rows: 3, Head: "Answers", Label: "Help", Help: "Answers a message such as <code>help</code> or <code>info</code>: who is writing, and how to stop it. At most once in 24 hours. Empty: no answer."},
		form.Field{Name: "confirmation", Kind: form.Area, Rows: 3, Label: "Confirmation of a refusal", Help: "The one answer to a stop word, within five minutes and also in quiet hours. It only confirms. Empty: no answer."},
	)
}

// purposeForm returns the page of the form of a purpose; its name is empty: of a new one.
func purposeForm(l *locale.Locale, f *form.Form, name string) (*page.Content, *page.FormData) {
	if f.New {
		d := &page.FormData{Form: f, Action: newPurposePath, Back: purposesPath}
		return &page.Content{Title: l.T("New purpose"), Crumbs: []page.Crumb{{Text: l.T("Purposes"), Link: purposesPath}, {Text: l.T("New")}}, Data: d}, d
	}
	d := &page.FormData{Form: f, Action: purposeLink(name) + "/edit", Back: purposeLink(name)}
	return &page.Content{Title: l.T("Edit purpose %s", name), Crumbs: purposeCrumbs(l, name, page.Crumb{Text: l.T("Edit")}), Data: d}, d
}

func newPurpose(v *page.Visit) (*page.Content, error) {
	c, _ := purposeForm(v.Locale, purposeFields().New(true), "")
	return c, nil
}

func editPurpose(v *page.Visit) (*page.Content, error) {
	p, err := readPurpose(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := purposeFields().New(false)
	c, _ := purposeForm(v.Locale, f, p.Name)
	return c, f.Show(p.PurposeView)
}

// createPurpose creates a purpose.
func createPurpose(v *page.Visit) (*page.Content, error) {
	f := purposeFields().New(true)
	f.Fill(v.Request.PostForm)
	name := f.Input("name").Value
	if !people.ValidPurposeName(name) {
		f.Wrong("name", v.T("1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not %s.", people.AllPurposes))
		name = v.NewName()
	}
	return savePurpose(v, f, name, "Purpose %s is created.")
}

func changePurpose(v *page.Visit) (*page.Content, error) {
	f := purposeFields().New(false)
	f.Fill(v.Request.PostForm)
	return savePurpose(v, f, v.Request.PathValue("name"), "Purpose %s is changed.")
}

// savePurpose sets the rules, or shows the form again with every mistake.
func savePurpose(v *page.Visit, f *form.Form, name string, became locale.Message) (*page.Content, error) {
	err := v.Save(http.MethodPut, page.Path("v1", "purposes", name)+page.Creating(f.New), f.Body(), f.Mistakes, nil)
	if err == nil {
		text := v.T(became, name) + " " + v.T("Its rules apply to every later claim, also of contacts that wait. A contact that waits for a rule checks them when that time has come.")
		return &page.Content{To: purposeLink(name), Flash: &page.Flash{Text: text}}, nil
	}
	c, d := purposeForm(v.Locale, f, name)
	d.Problem, err = c.Refused(v.Locale, f, err, func(field string, e *weir.FieldError) string {
		if field == "name" && e.Code == "conflict" {
			e.Detail = v.T("There is a purpose of this name already: edit that one.")
		}
		return field
	}, page.NotSaved())
	return c, err
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
