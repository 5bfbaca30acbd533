package limits

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/people"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	limitsPath = "/limits"
	// newLimitPath cannot collide with a limit: names begin with a letter or a digit.
	newLimitPath = limitsPath + "/_new"
)

// View is a limit that channels share, as the pages show it.
type View struct{ api.LimitView }

// limitNumber is one of the numbers of a limit: what its form calls it, and how much of it is used.
type limitNumber struct{ Label, Text string }

// Numbers returns the numbers that the limit can set.
func (x View) Numbers(l *locale.Locale) (list []limitNumber) {
	f := limitFields().New(false)
	for _, b := range x.Bounds() {
		n := limitNumber{Label: f.Input(b.Member).Title(l), Text: noLimit}
		switch {
		case b.Most > 0 && b.Counted:
			n.Text = l.T("%d of %d", b.Used, b.Most)
		case b.Most > 0:
			n.Text = l.Number(b.Most)
		}
		list = append(list, n)
	}
	return list
}

// Set returns the numbers that are set.
func (x View) Set(l *locale.Locale) []limitNumber {
	return slices.DeleteFunc(x.Numbers(l), func(n limitNumber) bool { return n.Text == noLimit })
}

// Money returns the limits of money, with how much of them is used.
func (x View) Money(l *locale.Locale) (list []string) {
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
func (x View) Use(l *locale.Locale) (list []string) {
	for _, n := range x.Set(l) {
		list = append(list, n.Label+": "+n.Text)
	}
	return append(list, x.Money(l)...)
}

// OfSurveys returns the surveys whose budget the limit is; empty: it is none.
func (x View) OfSurveys() string { return strings.Join(x.Surveys, ", ") }

// noLimit is shown for a bound that is not set.
const noLimit = "–"

func limitLink(name string) string { return limitsPath + "/" + url.PathEscape(name) }

// limitCrumbs returns the crumbs of a page of a limit.
func limitCrumbs(l *locale.Locale, name string, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: l.T("Shared limits"), Link: limitsPath}, {Text: name, Link: limitLink(name)}}, more...)
}

func readLimits(c *page.Caller) ([]View, error) {
	var all api.LimitList
	err := c.Get("/v1/limits", nil, &all)
	list := make([]View, 0, len(all.Limits))
	for i := range all.Limits {
		list = append(list, View{all.Limits[i]})
	}
	return list, err
}

// OfChannel reads the limits that a channel shares; none for a token with a limit.
func OfChannel(c *page.Caller, channel string) ([]View, error) {
	if !c.MayAll(page.Readers()...) {
		return nil, nil
	}
	all, err := readLimits(c)
	return slices.DeleteFunc(all, func(l View) bool { return !slices.Contains(l.Channels, channel) }), err
}

func readLimit(c *page.Caller, name string) (l View, err error) {
	err = c.Get(page.Path("v1", "limits", name), nil, &l.LimitView)
	return l, err
}

func loadLimits(v *page.Visit) (*page.Content, error) {
	list, err := readLimits(v.Caller)
	if err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Shared limits"), Crumbs: []page.Crumb{{Text: v.T("Shared limits")}}, Data: list}, nil
}

func loadLimit(v *page.Visit) (*page.Content, error) {
	l, err := readLimit(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Limit %s", l.Name), Crumbs: limitCrumbs(v.Locale, l.Name), Data: l}, nil
}

// limitFields declares the form that sets a limit.
func limitFields() *form.Declaration {
	return form.Of(api.Limit{}, nil,
		form.Field{Name: "name", Create: true, Kind: form.Code, MaxLength: 63, Required: true, Label: "Name", Help: "Such as <code>portfolio</code>. It cannot be changed later."},
		form.Field{Name: "title", Label: "Title", Help: "For people. Optional."},
		form.Field{Name: "channels", Kind: form.Checks, Item: "channel", Label: "Channels", Help: "The channels that share the limit, up to 100."},
		form.Field{Name: "in_flight", Label: "Contacts in flight", Head: "At most", Note: "What is left empty is not limited. At least one is required."},
		form.Field{Name: "per_second", Label: "Dispatches a second", Help: "Of texts, segments."},
		form.Field{Name: "new_people_per_day", Label: "New people in 24 hours", Help: "People whom none of the channels contacted in the 24 hours before."},
		form.Field{Name: "currency", Upper: true, MaxLength: 3, Label: "Currency", Help: "Three letters, such as USD.", Head: "Money", Note: `Each channel needs a <a id="to-prices" href="%s">price</a> in the currency. Days and months are those of UTC.`},
		form.Field{Name: "money", Label: "In all", Help: "Such as 2500."},
		form.Field{Name: "money_per_day", Label: "A day"},
		form.Field{Name: "money_per_month", Label: "A month"},
		form.Field{Name: "surveys", Label: "Of these surveys only", Help: "Names of surveys, a line each: then the limit is their budget, and only money can be limited. Their other contacts do not wait for it."},
	)
}

// placeLimit says which field a mistake about the whole limit is about, and in which words.
func placeLimit(l *locale.Locale, f *form.Form) page.OwnPlace {
	return func(field string, e *weir.FieldError) string {
		switch {
		case field == "name" && e.Code == "conflict":
			e.Detail = l.T("There is a limit of this name already: edit that one.")
		case e.Pointer == "" && e.Code == "required":
			e.Detail = l.T("enter at least one limit, of these three or of money")
			return "in_flight"
		case field == "channels" && len(f.Input(field).Chosen) == 0:
			e.Detail = l.T("choose at least one channel, or name a survey below")
		}
		return field
	}
}

// limitForm returns the page of the form of a limit; its name is empty: of a new one.
func limitForm(v *page.Visit, f *form.Form, name string) (*page.Content, *page.FormData, error) {
	d := &page.FormData{Form: f, Action: newLimitPath, Back: limitsPath}
	c := &page.Content{Title: v.T("New limit"), Crumbs: []page.Crumb{{Text: v.T("Shared limits"), Link: limitsPath}, {Text: v.T("New")}}, Data: d}
	if !f.New {
		d.Action, d.Back = limitLink(name)+"/edit", limitLink(name)
		c.Title, c.Crumbs = v.T("Edit limit %s", name), limitCrumbs(v.Locale, name, page.Crumb{Text: v.T("Edit")})
	}
	f.Input("currency").Args = []any{v.Link(spendingPath)}
	return c, d, chooseChannels(v, f.Input("channels"), "More channels exist than are shown: use <code>weir limit put</code> for the others.")
}

// chooseChannels lets the reader choose channels. more says what to do if there are more than are shown.
func chooseChannels(v *page.Visit, in *form.Input, more locale.Message) error {
	list, others, err := choices.Channels(v.Caller)
	if err != nil {
		return err
	}
	choices := make([]form.Choice, len(list))
	for i := range list {
		choices[i] = form.Choice{Value: list[i].Channel, Text: list[i].Name}
	}
	in.Choose(choices, !others)
	in.None = form.Offer{Text: v.T("There are no channels yet."), Link: v.Link("/channels", "_new"), Label: v.T("Create a channel")}
	if others {
		in.More = v.HTML(more)
	}
	return nil
}

func newLimit(v *page.Visit) (*page.Content, error) {
	c, _, err := limitForm(v, limitFields().New(true), "")
	return c, err
}

func editLimit(v *page.Visit) (*page.Content, error) {
	l, err := readLimit(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := limitFields().New(false)
	if err := f.Show(l.LimitView); err != nil {
		return nil, err
	}
	c, _, err := limitForm(v, f, l.Name)
	return c, err
}

// createLimit creates a limit.
func createLimit(v *page.Visit) (*page.Content, error) {
	f := limitFields().New(true)
	f.Fill(v.Request.PostForm)
	name := f.Input("name").Value
	if !people.ValidPurposeName(name) {
		f.Wrong("name", v.T("1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not %s.", people.AllPurposes))
		name = v.NewName()
	}
	return saveLimit(v, f, name, "Limit %s is created. It applies to every later claim.")
}

func changeLimit(v *page.Visit) (*page.Content, error) {
	f := limitFields().New(false)
	f.Fill(v.Request.PostForm)
	return saveLimit(v, f, v.Request.PathValue("name"), "Limit %s is changed. It applies to every later claim.")
}

// saveLimit sets the limit, or shows the form again with every mistake.
func saveLimit(v *page.Visit, f *form.Form, name string, became locale.Message) (*page.Content, error) {
	failed := v.Save(http.MethodPut, page.Path("v1", "limits", name)+page.Creating(f.New), f.Body(), f.Mistakes, nil)
	if failed == nil {
		return &page.Content{To: limitLink(name), Flash: &page.Flash{Text: v.T(became, name)}}, nil
	}
	c, d, err := limitForm(v, f, name)
	if err == nil {
		d.Problem, err = c.Refused(v.Locale, f, failed, placeLimit(v.Locale, f), page.NotSaved())
	}
	return c, err
}

func askDeleteLimit(v *page.Visit) (*page.Question, error) {
	l, err := readLimit(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &page.Question{
		Title: v.T("Delete limit %s", l.Name), Button: v.T("Delete"), Danger: true, Back: limitLink(l.Name), Crumbs: limitCrumbs(v.Locale, l.Name, page.Crumb{Text: v.T("Delete")}),
		Text:  v.T("Its channels are then limited by their own settings and their other limits alone."),
		Facts: []page.Fact{{Name: v.T("Title"), Value: cmp.Or(l.Title, v.T("none"))}, {Name: v.T("Channels"), Value: strings.Join(l.Channels, ", ")}, {Name: v.T("Limit"), Value: strings.Join(l.Use(v.Locale), "; ")}},
	}, nil
}

func deleteLimit(v *page.Visit) (*page.Done, error) {
	name := v.Request.PathValue("name")
	err := v.Call(http.MethodDelete, page.Path("v1", "limits", name), nil, nil)
	return &page.Done{Text: v.T("Limit %s is deleted.", name), To: limitsPath}, err
}
