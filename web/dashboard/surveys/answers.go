package surveys

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/dashboard/display"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// answersData is the data of the page of results: what was answered to each question.
type answersData struct {
	Survey      string
	Asks        bool // the survey has questions that Weir asks
	Respondents int
	Questions   []answeredQuestion
	Arm         string // of which the answers are; empty: all
	Arms        []string
	By          string // of Offers what the tables of groups are by; empty: there are none
	Offers      []form.Choice
	GroupHead   string // names what the groups are
	Cut         bool   // there are more groups than are shown
}

// maxGroups is how many days the page shows, each a row of the table of every question.
const maxGroups = 31

// byAttribute begins the offers of attributes.
const byAttribute = "attribute."

// MaxGroups is for the text that says so.
func (*answersData) MaxGroups() int { return maxGroups }

// answeredQuestion is a question with its answers.
type answeredQuestion struct {
	Number  int
	Name    string
	Text    string
	Kind    questions.Kind
	Rows    []display.Row
	Summary *api.AnswerSummaryView
	Became  []page.Fact // how many respondents, by what became of the question
	Written bool        // it has texts, which have a page
	Heads   []string    // of the table of groups, behind the group
	Groups  []answeredGroup
}

// answeredGroup is what a day, arm, language or value of an attribute answered to a question.
type answeredGroup struct {
	Name  string
	Cells []answeredCell
}

// answeredCell is a count with its share of those who answered, or a figure.
type answeredCell struct{ Value, Share string }

// HasAnswers reports whether something became of a question.
func (d *answersData) HasAnswers() bool {
	return slices.ContainsFunc(d.Questions, func(q answeredQuestion) bool { return len(q.Became) > 0 })
}

func answersLink(survey string) string { return Link(survey) + "/answers" }

func loadAnswers(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &answersData{Survey: s.Survey, Asks: s.Questions != nil}
	query := url.Values{}
	if len(s.Arms) > 1 {
		for i := range s.Arms {
			d.Arms = append(d.Arms, strconv.Itoa(i))
		}
		d.Arm = page.Choose(v, query, "arm", d.Arms)
	}
	if d.Asks {
		d.offer(v, query, &s)
		var sums api.AnswersView
		if err := v.Get(page.Path("v1", "surveys", s.Survey, "answers"), query, &sums); err != nil {
			return nil, err
		}
		d.Respondents = sums.Respondents
		for i := range sums.Questions {
			one := answered(v, s.Questions, &sums.Questions[i], d.unasked(&sums.Questions[i]))
			d.group(v, s.Questions, &sums.Questions[i], &one)
			d.Questions = append(d.Questions, one)
		}
	}
	return &page.Content{Title: v.T("Results of %s", s.Survey), Crumbs: surveyCrumbs(v.Locale, s.Survey, page.Crumb{Text: v.T("Results")}), Data: d}, nil
}

// offer reads how the answers are grouped, and how they may be.
func (d *answersData) offer(v *page.Visit, query url.Values, s *api.SurveyView) {
	d.Offers = []form.Choice{{Value: string(surveys.ByDay), Text: v.T("Day")}}
	if len(s.Arms) > 1 {
		d.Offers = append(d.Offers, form.Choice{Value: string(surveys.ByArm), Text: v.T("Arm")})
	}
	if len(s.Questions.Languages) > 1 {
		d.Offers = append(d.Offers, form.Choice{Value: string(surveys.ByLanguage), Text: v.T("Language")})
	}
	for _, b := range s.Breakdowns {
		d.Offers = append(d.Offers, form.Choice{Value: byAttribute + b.Attribute, Text: b.Attribute})
	}
	var offered []string
	for _, o := range d.Offers {
		offered = append(offered, o.Value)
	}
	d.By = page.Choose(v, query, "by", offered)
	if attribute, of := strings.CutPrefix(d.By, byAttribute); of {
		query.Del("by")
		query.Set("attribute", attribute)
	}
	if i := slices.Index(offered, d.By); i >= 0 {
		d.GroupHead = d.Offers[i].Text
	}
}

// group fills the table of groups of a question: of choices the count and share of each, of numbers and
// dates what they come to.
func (d *answersData) group(v *page.Visit, asked *questions.Definition, a *api.AnswerCountsView, one *answeredQuestion) {
	if len(a.Groups) == 0 {
		return
	}
	one.Heads = []string{v.T("Answered")}
	choice := a.Kind == questions.Choose || a.Kind == questions.ChooseMany
	switch {
	case choice:
		for _, r := range one.Rows {
			one.Heads = append(one.Heads, r.Name)
		}
	case a.Summary == nil:
	case a.Summary.Mean != "":
		one.Heads = append(one.Heads, v.T("Mean"), v.T("Median"))
	default:
		one.Heads = append(one.Heads, v.T("Median"))
	}
	groups := a.Groups
	if d.By == string(surveys.ByDay) && len(groups) > maxGroups {
		d.Cut, groups = true, groups[len(groups)-maxGroups:]
	}
	for i := range groups {
		g := &groups[i]
		n := g.Statuses[questions.Answered]
		row := answeredGroup{Name: groupName(v, asked, d.By, g), Cells: []answeredCell{{Value: v.Number(n)}}}
		switch {
		case choice:
			for _, b := range g.Values {
				row.Cells = append(row.Cells, answeredCell{v.Number(b.Count), locale.Percent(float64(b.Count), max(1, float64(n)))})
			}
		case a.Summary == nil:
		case g.Summary == nil:
			row.Cells = append(row.Cells, make([]answeredCell, len(one.Heads)-1)...)
		case a.Summary.Mean != "":
			row.Cells = append(row.Cells, answeredCell{Value: v.Rounded(g.Summary.Mean)}, answeredCell{Value: v.Rounded(g.Summary.Median)})
		default:
			row.Cells = append(row.Cells, answeredCell{Value: g.Summary.Median})
		}
		one.Groups = append(one.Groups, row)
	}
}

func groupName(v *page.Visit, asked *questions.Definition, by string, g *api.AnswerGroupView) string {
	group := g.Group
	switch {
	case g.Other:
		return v.T("other")
	case group == "" && strings.HasPrefix(by, byAttribute):
		return v.T("none")
	case group == "":
		return v.T("unknown")
	}
	if by == string(surveys.ByLanguage) {
		for _, l := range asked.Languages {
			if l.Code == group && l.Name != "" {
				return l.Name
			}
		}
	}
	return group
}

// unasked returns how many respondents have not come to a question; of the respondents of one arm it is
// not known, because an arm is drawn with the first contact.
func (d *answersData) unasked(a *api.AnswerCountsView) int {
	if d.Arm != "" {
		return 0
	}
	n := d.Respondents
	for _, of := range a.Statuses {
		n -= of
	}
	return max(0, n)
}

func answered(v *page.Visit, asked *questions.Definition, a *api.AnswerCountsView, unasked int) answeredQuestion {
	i := slices.IndexFunc(asked.Questions, func(q questions.Question) bool { return q.Name == a.Question })
	one := answeredQuestion{Number: i + 1, Name: a.Question, Kind: a.Kind, Summary: a.Summary, Written: a.Kind == questions.FreeText}
	var q questions.Question
	if i >= 0 {
		q = asked.Questions[i]
	}
	language := shownLanguage(v.Locale, asked)
	if one.Text = q.Text[language]; one.Text == "" {
		one.Text = a.Question // of a calculation
	}
	for _, b := range a.Values {
		one.Rows = append(one.Rows, display.Row{Name: barName(v.Locale, &q, language, b), Class: "c1", Value: float64(b.Count)})
	}
	one.Rows = display.Rows(v.Locale, max(1, float64(a.Statuses[questions.Answered])), one.Rows)
	for _, status := range questions.Statuses() {
		if n := a.Statuses[status]; n > 0 {
			one.Became = append(one.Became, page.Fact{Name: becameText(v.Locale, status), Value: v.Number(n)})
		}
	}
	if len(one.Became) > 0 && unasked > 0 {
		one.Became = append(one.Became, page.Fact{Name: v.T("Not asked yet"), Value: v.Number(unasked)})
	}
	return one
}

// shownLanguage returns the language in which the page shows the texts of questions: that of the page if
// they are written in it.
func shownLanguage(l *locale.Locale, asked *questions.Definition) string {
	if slices.ContainsFunc(asked.Languages, func(of questions.Language) bool { return of.Code == l.Code }) {
		return l.Code
	}
	if asked.DefaultLanguage != "" || len(asked.Languages) == 0 {
		return asked.DefaultLanguage
	}
	return asked.Languages[0].Code
}

func barName(l *locale.Locale, q *questions.Question, language string, b api.ValueCountView) string {
	for _, o := range q.Choices {
		if text := o.Text[language]; o.Name == b.Value && text != "" {
			return text
		}
	}
	if q.Kind == questions.Date {
		if below, err := time.Parse(time.DateOnly, b.Below); err == nil {
			return l.T("%[1]s to %[2]s", b.Value, below.AddDate(0, 0, -1).Format(time.DateOnly))
		}
		return b.Value
	}
	if n, err := strconv.Atoi(b.Below); b.Below != "" && err == nil && !q.Decimal && q.Kind == questions.Number && !strings.Contains(b.Value, ".") {
		return l.T("%[1]s to %[2]s", b.Value, strconv.Itoa(n-1))
	}
	if b.Below != "" {
		return l.T("%[1]s to below %[2]s", l.Amount(b.Value), l.Amount(b.Below))
	}
	return l.Amount(b.Value)
}

func becameText(l *locale.Locale, s questions.Status) string {
	switch s {
	case questions.Answered:
		return l.T("Answered")
	case questions.Refused:
		return l.T("Refused")
	case questions.DontKnow:
		return l.T("Did not know")
	case questions.Invalid:
		return l.T("No answer fitted")
	case questions.Skipped:
		return l.T("Skipped by a condition")
	default:
		return l.T("The interview ended before")
	}
}

// textsData is the data of the page of texts that were answered to a question.
type textsData struct {
	Survey string
	Name   string // of the question
	Text   string
	Search string
	Texts  []api.AnswerTextView
	Pager  page.Pager
	Unread bool // the session may not read what people write
}

// maxSearch is the maximum number of bytes of a search.
const maxSearch = 200

func loadTexts(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &textsData{Survey: s.Survey, Name: v.Request.PathValue("question"), Unread: !v.May(operators.ScopePIIRead)}
	i := -1
	if s.Questions != nil {
		i = slices.IndexFunc(s.Questions.Questions, func(q questions.Question) bool { return q.Name == d.Name && questions.Recorded(q.Kind) })
	}
	if i < 0 {
		return nil, &page.Problem{Status: http.StatusNotFound, Detail: v.T("The survey has no such question.")}
	}
	if d.Text = s.Questions.Questions[i].Text[shownLanguage(v.Locale, s.Questions)]; d.Text == "" {
		d.Text = d.Name
	}
	if !d.Unread {
		query := v.ListQuery(page.RowsPerPage)
		if d.Search = strings.TrimSpace(v.Request.URL.Query().Get("search")); d.Search != "" && len(d.Search) <= maxSearch {
			query.Set("search", d.Search)
		}
		var list api.AnswerTextList
		if err := v.Get(page.Path("v1", "surveys", s.Survey, "answers", d.Name, "texts"), query, &list); err != nil {
			return nil, err
		}
		d.Texts, d.Pager = list.Texts, v.More(list.NextCursor)
	}
	crumbs := surveyCrumbs(v.Locale, s.Survey, page.Crumb{Text: v.T("Results"), Link: answersLink(s.Survey)}, page.Crumb{Text: d.Name})
	return &page.Content{Title: v.T("Answers to %[1]s of %[2]s", d.Name, s.Survey), Crumbs: crumbs, Data: d}, nil
}
