package surveys

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"weir"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/auth"
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
		if q := &v.Definition.Questions.Questions[i]; q.Kind.Recorded() {
			list = append(list, askedQuestion{q.Name, q.Kind, q})
		}
	}
	return list
}

// shownAnswers returns the answers of a respondent as the token may see them, one for each question;
// without a status if there is none yet.
func shownAnswers(c *route.Call, asked []askedQuestion, r *surveys.Respondent) []AnswerView {
	list := make([]AnswerView, len(asked))
	for i, q := range asked {
		a := r.Answers[q.name]
		values := map[string]string{"value": a.Value, "raw": a.Raw}
		if !c.PII() {
			values = auth.MaskValues(values, r.Phone)
		}
		list[i] = AnswerView{Question: q.name, Status: a.Status, Value: values["value"], Raw: values["raw"]}
	}
	return list
}

// answersOf reads the answers of one respondent; those that are yet to come are left out.
func (s respondentFinder) answersOf(c *route.Call, v surveys.Survey, r *surveys.Respondent) ([]AnswerView, error) {
	asked := asked(v)
	if len(asked) == 0 {
		return nil, nil
	}
	answers, err := s.store.Answers(c, v.ID, []surveys.RespondentID{r.ID})
	if err != nil {
		return nil, err
	}
	r.Answers = answers[r.ID]
	return slices.DeleteFunc(shownAnswers(c, asked, r), func(a AnswerView) bool { return a.Status == "" }), nil
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
		Description: "Of the questions that Weir itself asks; without them the list is empty. The sums are kept with the answers, so that they always agree with the results.",
		Handle:      s.onSurvey(s.answers),
		Answers:     []route.Answer{{Status: http.StatusOK, Description: "the sums", Body: route.TypeOf[AnswersView]()}},
		Codes:       []weir.Code{weir.CodeNotFound},
	}}
}

func (s answersRoute) answers(c *route.Call, v surveys.Survey) (route.Reply, error) {
	asked := asked(v)
	view := AnswersView{Survey: v.Name, Questions: make([]AnswerCountsView, len(asked))}
	if len(asked) == 0 {
		return route.Reply{Status: http.StatusOK, Body: view}, nil
	}
	sums, err := s.store.AnswerSums(c, v.ID)
	if err != nil {
		return route.Reply{}, err
	}
	counts := map[string]map[string]int{} // by question and value
	for i, q := range asked {
		one := AnswerCountsView{Question: q.name, Kind: q.kind, Statuses: map[questions.Status]int{}, Values: []ValueCountView{}}
		for _, status := range questions.Statuses() {
			one.Statuses[status] = 0
		}
		counts[q.name], view.Questions[i] = map[string]int{}, one
		for _, o := range q.Choices {
			counts[q.name][o.Name] = 0
		}
	}
	for key, n := range sums {
		i := slices.IndexFunc(asked, func(q askedQuestion) bool { return q.name == key.Question })
		switch {
		case i < 0:
		case key.Value == "":
			view.Questions[i].Statuses[key.Status] += n
		default:
			counts[key.Question][key.Value] += n
		}
	}
	for i, q := range asked {
		view.Questions[i].Values = sortedCounts(q, counts[q.name])
	}
	return route.Reply{Status: http.StatusOK, Body: view}, nil
}

// sortedCounts returns the counts of values in the order of the choices, or from the smallest.
func sortedCounts(q askedQuestion, counts map[string]int) []ValueCountView {
	list := make([]ValueCountView, 0, len(counts))
	for value, n := range counts {
		list = append(list, ValueCountView{value, n})
	}
	place := func(value string) int {
		return slices.IndexFunc(q.Choices, func(o questions.Choice) bool { return o.Name == value })
	}
	number := func(value string) float64 {
		n, _ := strconv.ParseFloat(value, 64) // 0 for a date
		return n
	}
	slices.SortFunc(list, func(a, b ValueCountView) int {
		return cmp.Or(cmp.Compare(place(a.Value), place(b.Value)), cmp.Compare(number(a.Value), number(b.Value)), cmp.Compare(a.Value, b.Value))
	})
	return list
}
