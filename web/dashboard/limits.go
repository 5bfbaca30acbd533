package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/people"
	"weir/web/dashboard/locale"
	peopleapi "weir/web/people"
)

const (
	limitsPath = "/limits"
	// newLimitPath cannot collide with a limit: names begin with a letter or a digit.
	newLimitPath = limitsPath + "/_new"
)

// limitView is a limit that channels share, as the pages show it.
type limitView struct{ peopleapi.LimitView }

// Flight returns how many of the contacts in flight are used.
func (x limitView) Flight(l *locale.Locale) string { return ofMax(l, x.InFlightNow, x.InFlight) }

// Rate returns the dispatches a second.
func (x limitView) Rate(l *locale.Locale) string {
	if x.PerSecond == 0 {
		return noLimit
	}
	return l.Number(x.PerSecond)
}

// People returns how many of the new people a day are used.
func (x limitView) People(l *locale.Locale) string { return ofMax(l, x.NewPeople, x.NewPeoplePerDay) }

// Money returns the limits of money, with how much of them is used.
func (x limitView) Money(l *locale.Locale) (list []string) {
	for _, m := range []struct {
		spent, most string
		text        locale.Message
	}{
		{x.MoneyToday, x.MoneyPerDay, "%[1]s of %[2]s %[3]s today"}, {x.MoneyMonth, x.MoneyPerMonth, "%[1]s of %[2]s %[3]s this month"}, {x.MoneySpent, x.LimitView.Money, "%[1]s of %[2]s %[3]s in all"},
	} {
		if m.most != "" {
			list = append(list, l.T(m.text, l.Amount(m.spent), l.Amount(m.most), x.Currency))
		}
	}
	return list
}

// Use returns what is limited, and how much of it is used, in words.
func (x limitView) Use(l *locale.Locale) (list []string) {
	if x.InFlight > 0 {
		list = append(list, l.T("%[1]d of %[2]d in flight", x.InFlightNow, x.InFlight))
	}
	if x.PerSecond > 0 {
		list = append(list, l.T("%d a second", x.PerSecond))
	}
	if x.NewPeoplePerDay > 0 {
		list = append(list, l.T("%[1]d of %[2]d new people in 24 hours", x.NewPeople, x.NewPeoplePerDay))
	}
	return append(list, x.Money(l)...)
}

// OfSurveys returns the surveys whose budget the limit is; empty: it is none.
func (x limitView) OfSurveys() string { return strings.Join(x.Surveys, ", ") }

// noLimit is shown for a bound that is not set.
const noLimit = "–"

func ofMax(l *locale.Locale, n, limit int) string {
	if limit == 0 {
		return noLimit
	}
	return l.T("%d of %d", n, limit)
}

func limitLink(name string) string { return limitsPath + "/" + url.PathEscape(name) }

// limitCrumbs returns the crumbs of a page of a limit.
func limitCrumbs(l *locale.Locale, name string, more ...crumb) []crumb {
	return append([]crumb{{Text: l.T("Shared limits"), Link: limitsPath}, {Text: name, Link: limitLink(name)}}, more...)
}

func readLimits(c *caller) ([]limitView, error) {
	var all peopleapi.LimitList
	err := c.get("/v1/limits", nil, &all)
	list := make([]limitView, 0, len(all.Limits))
	for i := range all.Limits {
		list = append(list, limitView{all.Limits[i]})
	}
	return list, err
}

// readLimitsOf reads the limits that a channel shares; none for a token with a limit.
func readLimitsOf(c *caller, channel string) ([]limitView, error) {
	if !c.MayAll(readers()...) {
		return nil, nil
	}
	all, err := readLimits(c)
	return slices.DeleteFunc(all, func(l limitView) bool { return !slices.Contains(l.Channels, channel) }), err
}

func readLimit(c *caller, name string) (l limitView, err error) {
	err = c.get(apiPath("v1", "limits", name), nil, &l.LimitView)
	return l, err
}

func loadLimits(v *visit) (*content, error) {
	list, err := readLimits(v.caller)
	if err != nil {
		return nil, err
	}
	return &content{title: v.T("Shared limits"), crumbs: []crumb{{Text: v.T("Shared limits")}}, data: list}, nil
}

func loadLimit(v *visit) (*content, error) {
	l, err := readLimit(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &content{title: v.T("Limit %s", l.Name), crumbs: limitCrumbs(v.Locale, l.Name), data: l}, nil
}

// limitForm is the form that sets a limit, as it was filled in. The names of its fields are those
// of the API.
type limitForm struct {
	New                                  bool // with a name to fill in
	Name, Title                          string
	InFlight, PerSecond, NewPeoplePerDay string
	Currency                             string
	Money, MoneyPerDay, MoneyPerMonth    string
	Surveys                              string   // a line each
	Channels                             []string // that are checked
	Choices                              []limitChannel
	More                                 bool              // there are more channels than choices
	Mistakes                             map[string]string // by field
	Problem                              *problem          // an error of the API that is about no field
}

// limitChannel is a channel that can be checked.
type limitChannel struct {
	Name, Title   string
	Checked, Gone bool // Gone: it was deleted
}

// Back returns the page to return to.
func (f *limitForm) Back() string {
	if f.New {
		return limitsPath
	}
	return limitLink(f.Name)
}

// addChoices reads the channels to choose from. Those that are checked are always among them.
func (f *limitForm) addChoices(c *caller) error {
	list, more, err := readChannels(c)
	if err != nil {
		return err
	}
	rest := slices.Clone(f.Channels)
	for i := range list {
		name := list[i].Channel
		f.Choices = append(f.Choices, limitChannel{Name: name, Title: list[i].Name, Checked: slices.Contains(f.Channels, name)})
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == name })
	}
	for _, name := range slices.Compact(rest) {
		f.Choices = append(f.Choices, limitChannel{Name: name, Checked: true, Gone: !more})
	}
	f.More = more
	return nil
}

func limitFormOf(l *peopleapi.LimitView) *limitForm {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return &limitForm{
		Name: l.Name, Title: l.Title, Channels: l.Channels, InFlight: number(l.InFlight), PerSecond: number(l.PerSecond), NewPeoplePerDay: number(l.NewPeoplePerDay),
		Currency: l.Currency, Money: l.Money, MoneyPerDay: l.MoneyPerDay, MoneyPerMonth: l.MoneyPerMonth, Surveys: strings.Join(l.Surveys, "\n"),
	}
}

func readLimitForm(form url.Values) *limitForm {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &limitForm{
		Name: field("name"), Title: field("title"), Channels: form["channels"],
		InFlight: field("in_flight"), PerSecond: field("per_second"), NewPeoplePerDay: field("new_people_per_day"), Currency: strings.ToUpper(field("currency")),
		Money: field("money"), MoneyPerDay: field("money_per_day"), MoneyPerMonth: field("money_per_month"), Surveys: field("surveys"), Mistakes: map[string]string{},
	}
}

// body returns the limit for the API, which reports what is missing.
func (f *limitForm) body() map[string]any {
	body := filled("title", f.Title, "in_flight", f.InFlight, "per_second", f.PerSecond, "new_people_per_day", f.NewPeoplePerDay,
		"currency", f.Currency, "money", f.Money, "money_per_day", f.MoneyPerDay, "money_per_month", f.MoneyPerMonth)
	for _, name := range []string{"in_flight", "per_second", "new_people_per_day"} {
		text, _ := body[name].(string)
		if n, err := strconv.Atoi(text); err == nil {
			body[name] = n
		}
	}
	if len(f.Channels) > 0 {
		body["channels"] = f.Channels
	}
	if names := strings.Fields(f.Surveys); len(names) > 0 {
		body["surveys"] = names
	}
	return body
}

// place shows the errors of the API beside the fields that they are about.
func (f *limitForm) place(l *locale.Locale, p *problem) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		field, _, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/"), "/")
		switch field {
		case "":
			if e.Code == "required" {
				field, e.Detail = "in_flight", l.T("enter at least one limit, of these three or of money")
			}
		case "name":
			if !f.New {
				field = ""
			}
		case "channels":
			if len(f.Channels) == 0 {
				e.Detail = l.T("choose at least one channel, or name a survey below")
			}
		case "title", "in_flight", "per_second", "new_people_per_day", "currency", "money", "money_per_day", "money_per_month", "surveys":
		default:
			field = ""
		}
		switch {
		case field == "":
			rest.Errors = append(rest.Errors, e)
		case f.Mistakes[field] == "":
			f.Mistakes[field] = asSentence(e.Detail)
		case field == "channels":
			f.Mistakes[field] += " " + asSentence(e.Detail)
		}
	}
	if len(f.Mistakes) == 0 || len(rest.Errors) > 0 {
		f.Problem = &rest
	}
}

func (f *limitForm) content(l *locale.Locale) *content {
	if f.New {
		return &content{title: l.T("New limit"), crumbs: []crumb{{Text: l.T("Shared limits"), Link: limitsPath}, {Text: l.T("New")}}, data: f}
	}
	return &content{title: l.T("Edit limit %s", f.Name), crumbs: limitCrumbs(l, f.Name, crumb{Text: l.T("Edit")}), data: f}
}

func newLimit(v *visit) (*content, error) {
	f := &limitForm{New: true}
	return f.content(v.Locale), f.addChoices(v.caller)
}

func editLimit(v *visit) (*content, error) {
	l, err := readLimit(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := limitFormOf(&l.LimitView)
	return f.content(v.Locale), f.addChoices(v.caller)
}

// createLimit creates a limit. The API would replace one that exists.
func createLimit(v *visit) (*content, error) {
	f := readLimitForm(v.r.PostForm)
	f.New = true
	name := f.Name
	if !people.ValidPurposeName(name) {
		f.Mistakes["name"] = v.T("1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not %s.", people.AllPurposes)
	} else {
		_, err := readLimit(v.caller, name)
		if status, _ := statusOf(err); err != nil && status != http.StatusNotFound {
			return nil, err
		}
		if err == nil {
			f.Mistakes["name"] = v.T("There is a limit of this name already: edit that one.")
		}
	}
	if len(f.Mistakes) > 0 {
		name = people.AllPurposes // no limit can have this name, so the API changes nothing and reports the other mistakes
	}
	return f.save(v, name, "Limit %s is created. It applies to every later claim.")
}

func changeLimit(v *visit) (*content, error) {
	f := readLimitForm(v.r.PostForm)
	f.Name = v.r.PathValue("name")
	return f.save(v, f.Name, "Limit %s is changed. It applies to every later claim.")
}

// save sets the limit, or shows the form again with every mistake.
func (f *limitForm) save(v *visit, name string, became locale.Message) (*content, error) {
	err := v.call(http.MethodPut, apiPath("v1", "limits", name), f.body(), nil)
	c := f.content(v.Locale)
	if err == nil {
		c.to = limitLink(name)
		c.flash = &flash{Text: v.T(became, name)}
		return c, nil
	}
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.place(v.Locale, p)
	c.status, c.flash = status, &flash{Bad: true, Text: v.T("Nothing was saved. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.flash.Text = v.T("Nothing was saved.")
	}
	return c, f.addChoices(v.caller)
}

func askDeleteLimit(v *visit) (*question, error) {
	l, err := readLimit(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &question{
		title: v.T("Delete limit %s", l.Name), Button: v.T("Delete"), Danger: true, back: limitLink(l.Name), crumbs: limitCrumbs(v.Locale, l.Name, crumb{Text: v.T("Delete")}),
		Text:  v.T("Its channels are then limited by their own settings and their other limits alone."),
		Facts: []fact{{v.T("Title"), cmp.Or(l.Title, v.T("none"))}, {v.T("Channels"), strings.Join(l.Channels, ", ")}, {v.T("Limit"), strings.Join(l.Use(v.Locale), "; ")}},
	}, nil
}

func deleteLimit(v *visit) (*done, error) {
	name := v.r.PathValue("name")
	err := v.call(http.MethodDelete, apiPath("v1", "limits", name), nil, nil)
	return &done{text: v.T("Limit %s is deleted.", name), to: limitsPath}, err
}
