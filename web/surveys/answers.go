package surveys

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// askedQuestion is a question of a survey that has answers.
type askedQuestion struct {
	name string
	kind questions.Kind
	*questions.Question
}

// asked returns the questions of a survey that have answers, in order.
func asked(v surveys.Survey) (list []askedQuestion) {
	if v.Definition.Questions == nil {
		return nil
	}
	for i := range v.Definition.Questions.Questions {
		if q := &v.Definition.Questions.Questions[i]; questions.Recorded(q.Kind) {
			list = append(list, askedQuestion{q.Name, q.Kind, q})
		}
	}
	return list
}

// shownAnswers returns the answers of a respondent as the token may see them, one for each question;
// without a status if there is none yet.
func shownAnswers(c *route.Call, asked []askedQuestion, r *surveys.Respondent) []api.AnswerView {
	list := make([]api.AnswerView, len(asked))
	for i, q := range asked {
		a := r.Answers[q.name]
		values := map[string]string{"value": a.Value, "raw": a.Raw}
		if !c.PII() {
			values = auth.MaskValues(values, r.Phone)
		}
		list[i] = api.AnswerView{Question: q.name, Status: a.Status, Value: values["value"], Raw: values["raw"]}
	}
	return list
}

// answersOf reads the answers of one respondent; those that are yet to come are left out.
func (s respondentFinder) answersOf(c *route.Call, v surveys.Survey, r *surveys.Respondent) ([]api.AnswerView, error) {
	asked := asked(v)
	if len(asked) == 0 {
		return nil, nil
	}
	answers, err := s.store.Answers(c, v.ID, []surveys.RespondentID{r.ID})
	if err != nil {
		return nil, err
	}
	r.Answers = answers[r.ID]
	return slices.DeleteFunc(shownAnswers(c, asked, r), func(a api.AnswerView) bool { return a.Status == "" }), nil
}

// readAnswers reads the answers of a page of respondents.
func (d *csvDownload) readAnswers(ctx context.Context, survey int64, page []surveys.Respondent) error {
	ids := make([]surveys.RespondentID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	answers, err := d.from.respondents.Answers(ctx, survey, ids)
	for i := range page {
		page[i].Answers = answers[page[i].ID]
	}
	return err
}

// answersRoute counts the answers to the questions of a survey.
type answersRoute struct {
	finder
	store respondentStore
}

func (s answersRoute) routes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: Path + "/answers", ID: "get-survey-answers", Tag: "surveys",
		Summary:     "How many respondents gave which answer",
		Description: "Of the questions that Weir itself asks; without them the list is empty. The sums are kept with the answers, so that they always agree with the results. In them, numbers of more than four digits are rounded to four.",
		Query: []httpjson.Parameter{
			{Name: "arm", Kind: "integer", Default: int64(surveys.AllArms), Minimum: surveys.AllArms, Maximum: math.MaxInt32, Description: "only respondents of this arm, from 0; -1: of all"},
			{Name: "by", Kind: "string", Enum: httpjson.Words([]surveys.SumsBy{surveys.ByDay, surveys.ByArm, surveys.ByLanguage}), Single: true, Description: "count the answers of each day, arm or language, too. A day is that of the answer, in the time zone of the survey; the language is that of the conversation"},
			{Name: "attribute", Kind: "string", Description: "in place of by: count the answers of each value of this attribute of the respondents, too. It is one of the survey's breakdowns"},
		},
		Handle:  s.onSurvey(s.answers),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the sums", Body: route.TypeOf[api.AnswersView]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}, {
		Method: "GET", Path: Path + "/answers/{question}/texts", ID: "list-survey-texts", Tag: "surveys",
		Summary:     "List what respondents answered to a question",
		Description: "Of any kind that is asked; meant for texts, which the sums do not have. A page may be short, or empty, and yet not be the last, because it examines a bounded number of answers: the last has no next_cursor.",
		Query:       append([]httpjson.Parameter{{Name: "search", Kind: "string", Description: "only answers that contain it, in any case, with or without accents"}}, route.Paging(100, 1000)...),
		Also:        []operators.Scope{operators.ScopePIIRead}, // people write their names in texts
		Handle:      s.onSurvey(s.texts),
		Answers:     []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.AnswerTextList]()}},
		Codes:       []weir.Code{weir.CodeNotFound},
	}}
}

func (s answersRoute) texts(c *route.Call, v surveys.Survey) (route.Reply, error) {
	f := surveys.TextFilter{Survey: v.ID, Question: c.Request.PathValue("question"), Limit: c.Query.Int("limit")}
	if search := c.Query.Text("search"); search != "" {
		f.Matches = questions.Finder(search)
	}
	var err error
	if cursor := c.Query.Text("cursor"); cursor != "" {
		if f.After, err = surveys.ParseRespondentID(cursor); err != nil {
			c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if !slices.ContainsFunc(asked(v), func(q askedQuestion) bool { return q.name == f.Question }) {
		return route.Reply{}, weir.Errorf(weir.CodeNotFound, "the survey has no such question")
	}
	found, next, err := s.store.AnswerTexts(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page := api.AnswerTextList{Texts: make([]api.AnswerTextView, len(found))}
	for i, a := range found {
		page.Texts[i] = api.AnswerTextView{Respondent: a.Respondent.String(), Text: a.Text, At: a.At}
	}
	if next != 0 {
		page.NextCursor = next.String()
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

func (s answersRoute) answers(c *route.Call, v surveys.Survey) (route.Reply, error) {
	asked := asked(v)
	view := api.AnswersView{Survey: v.Name, Questions: make([]api.AnswerCountsView, len(asked))}
	f := sumFilter(c, &v)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if len(asked) == 0 {
		return route.Reply{Status: http.StatusOK, Body: view}, nil
	}
	people, err := s.store.Counts(c, v.ID)
	if err != nil {
		return route.Reply{}, err
	}
	for _, n := range people.Respondents {
		view.Respondents += n
	}
	sums, err := s.store.AnswerSums(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	view.By, view.Attribute = string(f.By), c.Query.Text("attribute")
	counted := countAnswers(sums, f.By)
	var values []string
	if f.By == surveys.ByAttribute {
		values = v.Definition.Breakdowns[f.Breakdown].Values
	}
	for i, q := range asked {
		view.Questions[i] = counted[q.name].view(q, f.By, values)
	}
	return route.Reply{Status: http.StatusOK, Body: view}, nil
}

// sumFilter reads which sums a request is about, and how they are grouped.
func sumFilter(c *route.Call, v *surveys.Survey) surveys.SumFilter {
	f := surveys.SumFilter{Survey: v.ID, Arm: c.Query.Int("arm"), By: surveys.SumsBy(c.Query.Text("by"))}
	attribute := c.Query.Text("attribute")
	if attribute == "" {
		return f
	}
	breakdowns := surveys.Breakdowns(v.Definition.Breakdowns)
	if f.By != surveys.ByNothing {
		c.Errors.Add("/attribute", "conflict", "cannot be combined with by; leave one of the two out")
	}
	f.By, f.Breakdown = surveys.ByAttribute, breakdowns.Index(attribute)
	switch {
	case f.Breakdown >= 0:
	case len(breakdowns) == 0:
		c.Errors.Add("/attribute", "unknown", "the survey counts answers by no attribute; its field breakdowns lists them before the launch")
	default:
		c.Errors.Add("/attribute", "unknown", "the survey counts answers by these attributes: %s", strings.Join(breakdowns.Attributes(), ", "))
	}
	return f
}

// answerCounts are the sums of a question.
type answerCounts struct {
	all    answerGroup
	groups map[surveys.AnswerSum]*answerGroup // by the columns of [surveys.SumsBy]
}

// answerGroup are sums of a question, of all answers or of those that have something in common.
type answerGroup struct {
	statuses map[questions.Status]int
	values   map[string]int
}

func newAnswerGroup() answerGroup {
	g := answerGroup{map[questions.Status]int{}, map[string]int{}}
	for _, status := range questions.Statuses() {
		g.statuses[status] = 0
	}
	return g
}

func (g *answerGroup) add(k surveys.AnswerSum, n int) {
	if k.Value == "" {
		g.statuses[k.Status] += n
	} else {
		g.values[k.Value] += n
	}
}

// countAnswers returns the sums by question.
func countAnswers(sums map[surveys.AnswerSum]int, by surveys.SumsBy) map[string]*answerCounts {
	counted := map[string]*answerCounts{}
	for k, n := range sums {
		q := counted[k.Question]
		if q == nil {
			q = &answerCounts{newAnswerGroup(), map[surveys.AnswerSum]*answerGroup{}}
			counted[k.Question] = q
		}
		q.all.add(k, n)
		if by == surveys.ByNothing {
			continue
		}
		group := surveys.AnswerSum{Day: k.Day, Arm: k.Arm, Language: k.Language, Place: k.Place}
		if q.groups[group] == nil {
			g := newAnswerGroup()
			q.groups[group] = &g
		}
		q.groups[group].add(k, n)
	}
	return counted
}

// view returns the counts of a question; nil: it has no answers. The values are those of a breakdown.
func (a *answerCounts) view(q askedQuestion, by surveys.SumsBy, values []string) api.AnswerCountsView {
	if a == nil {
		a = &answerCounts{all: newAnswerGroup()}
	}
	bars, summary := questions.Summarize(q.Question, a.all.values)
	view := api.AnswerCountsView{Question: q.name, Kind: q.kind, Statuses: a.all.statuses, Values: valueCounts(bars), Summary: summaryView(summary)}
	groups := slices.SortedFunc(maps.Keys(a.groups), func(a, b surveys.AnswerSum) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Language, b.Language), cmp.Compare(placeOrder(a.Place), placeOrder(b.Place)))
	})
	for _, k := range groups {
		g := a.groups[k]
		_, summary := questions.Summarize(q.Question, g.values)
		view.Groups = append(view.Groups, api.AnswerGroupView{
			Group: groupName(k, by, values), Other: k.Place == surveys.OtherValue, Statuses: g.statuses, Values: valueCounts(questions.CountIn(q.Question, bars, g.values)), Summary: summaryView(summary),
		})
	}
	return view
}

// placeOrder puts the places of other values and of none behind those of the listed values.
func placeOrder(place int) int {
	if place > 0 {
		return place
	}
	return math.MaxInt + place
}

func groupName(k surveys.AnswerSum, by surveys.SumsBy, values []string) string {
	switch {
	case by == surveys.ByAttribute && k.Place > 0 && k.Place <= len(values):
		return values[k.Place-1]
	case by == surveys.ByAttribute:
		return ""
	case by == surveys.ByArm:
		return strconv.Itoa(k.Arm)
	case by == surveys.ByLanguage:
		return k.Language
	case k.Day == 0:
		return ""
	default:
		return weir.DayText(k.Day)
	}
}

func valueCounts(bars []questions.Bar) []api.ValueCountView {
	list := make([]api.ValueCountView, len(bars))
	for i, b := range bars {
		list[i] = api.ValueCountView{Value: b.Value, Below: b.Below, Count: b.Count}
	}
	return list
}

func summaryView(s *questions.Summary) *api.AnswerSummaryView {
	if s == nil {
		return nil
	}
	return &api.AnswerSummaryView{Min: s.Min, Median: s.Median, Max: s.Max, Mean: s.Mean}
}
