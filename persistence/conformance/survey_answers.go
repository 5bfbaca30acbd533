package conformance

import (
	"fmt"
	"strings"
	"testing"

	"weir"
	"weir/internal/document"
	"weir/surveys"
	"weir/surveys/questions"
)

// testSurveyAnswers writes answers of conversations, with the contacts that say the next turns, and counts them.
func testSurveyAnswers(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	v.Definition.Questions = &questions.Definition{Questions: []questions.Question{{Name: "q", Kind: questions.ChooseMany}, {Name: "t", Kind: questions.FreeText}, {Name: "n", Kind: questions.Number}}}
	v, _, err := d.PutSurvey(d.ctx(), v, document.Condition{})
	d.ok(err)
	channel := d.Channel(t, "texts")
	list, at := d.people(v.ID, 1, 3), now()
	answered := func(turn int, name string, kind questions.Kind, was, value string) surveys.Recorded { // on day 20,000 after the second turn
		a := surveys.Recorded{Kind: kind, Turn: turn, At: at}
		a.Answer = questions.Answer{Question: name, Status: questions.Answered, Value: value, Raw: "«" + value + "\x00»", Day: 19_998 + turn, Language: "pt-BR"}
		if was != "" {
			a.Was = questions.Answer{Question: name, Status: questions.Answered, Value: was, Day: 20_000, Language: "pt-BR"}
		}
		return a
	}
	said := func(m surveys.Move, r surveys.Respondent, key string, turn int) surveys.Move {
		m.Channel, m.Is.Talk = channel, questions.State{Turn: turn, Question: "t", Tries: 1, Language: "pt-BR", Seed: 1<<64 - 1, Since: 1, Asked: 5, Before: "q", Missed: 2, Last: 1<<32 - 1, LastAt: 6, Partial: true, Ended: questions.Completed, Told: true}
		m.Reply = &weir.Spec{
			Key: key, To: "+1", Priority: weir.Reply, Messages: []string{"next"}, Labels: map[string]string{"turn": "2"},
			Owner: weir.Owner{Group: v.ID, ID: int64(r.ID)},
		}
		return m
	}
	first := said(activate(list[0], at), list[0], "r-q2", 2)
	first.Answers = []surveys.Recorded{answered(2, "q", questions.ChooseMany, "", "a b"), answered(2, "t", questions.FreeText, "", "long"), answered(2, "n", questions.Number, "", "123456")}
	second := said(activate(list[1], at), list[1], "r-q2", 2) // whose key is another's: made without the reply
	second.Is.Arm = 1
	second.Answers = []surveys.Recorded{answered(2, "q", questions.ChooseMany, "", "b"), {Answer: questions.Answer{Question: "t", Status: questions.Skipped}, Kind: questions.FreeText, At: at}}
	got, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{first, second}})
	d.ok(err)
	if len(got.Contacts) != 1 || len(got.Stale)+len(got.Refused) != 0 || got.Contacts[0].Owner.ID != int64(list[0].ID) {
		t.Fatalf("written: %+v", got)
	}
	is := d.read(list[0].ID, list[1].ID)
	first.Is.Said = got.Contacts[0].Ref
	same(t, "the respondents", is, []surveys.Respondent{first.Is, second.Is})

	stale := said(activate(list[0], at), list[0], "r-q3", 3)
	stale.Answers = first.Answers
	longer := turn(is[0], func(r *surveys.Respondent) { r.Talk.Turn = 3 })
	longer.Answers = []surveys.Recorded{answered(3, "t", questions.FreeText, "long", "longer"), answered(3, "q", questions.ChooseMany, "a b", "a")}
	got, err = d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{longer, stale}})
	d.ok(err)
	if len(got.Contacts) != 0 || len(got.Stale) != 1 {
		t.Errorf("a stale move: %+v", got)
	}
	d.Close(t, channel)
	third := said(activate(list[2], at), list[2], "r-q9", 2) // its answer counts, although nothing can be sent
	third.Answers = []surveys.Recorded{answered(2, "q", questions.ChooseMany, "", "a")}
	got, err = d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{third}})
	d.ok(err)
	if len(got.Contacts)+len(got.Stale)+len(got.Refused) != 0 {
		t.Errorf("over a closed channel: %+v", got)
	}
	answers, err := d.Answers(d.ctx(), v.ID, []surveys.RespondentID{list[0].ID, list[1].ID, list[2].ID})
	d.ok(err)
	same(t, "the answers", answers, map[surveys.RespondentID]map[string]questions.Answer{
		list[0].ID: {"q": longer.Answers[1].Answer, "t": longer.Answers[0].Answer, "n": first.Answers[2].Answer},
		list[1].ID: {"q": second.Answers[0].Answer, "t": second.Answers[1].Answer},
		list[2].ID: {"q": third.Answers[0].Answer},
	})
	testAnswerTexts(t, d, v.ID, list[0].ID)
	want := map[surveys.AnswerSum]int{
		{Question: "t", Status: questions.Skipped, Arm: 1}: 1, // of whom neither day nor language is known
	}
	count := func(n int, question, value string, day, arm int) {
		k := surveys.AnswerSum{Question: question, Status: questions.Answered, Day: day, Arm: arm, Language: "pt-BR"}
		want[k] += n
		if k.Value = value; value != "" {
			want[k] += n
		}
	}
	count(1, "q", "a", 20_001, 0) // of the first
	count(1, "t", "", 20_001, 0)
	count(1, "n", "123500", 20_000, 0)
	count(1, "q", "b", 20_000, 1)
	count(1, "q", "a", 20_000, 0)
	testAnswerSums(t, d, v.ID, want)
	d.ok(d.RemoveRespondent(d.ctx(), v.ID, list[0].ID))
	count(-1, "q", "a", 20_001, 0)
	count(-1, "t", "", 20_001, 0)
	count(-1, "n", "123500", 20_000, 0)
	testAnswerSums(t, d, v.ID, want)
	testAnswersGo(t, d, v.ID, list[1].ID)
}

// testAnswerSums reads sums in every way in which they can be told apart, of all arms and of each.
func testAnswerSums(t *testing.T, d *surveyBench, survey int64, all map[surveys.AnswerSum]int) {
	t.Helper()
	for _, by := range []surveys.SumsBy{surveys.ByNothing, surveys.ByDay, surveys.ByArm, surveys.ByLanguage} {
		for arm := surveys.AllArms; arm < 3; arm++ {
			f := surveys.SumFilter{Survey: survey, Arm: arm, By: by}
			want := map[surveys.AnswerSum]int{}
			for k, n := range all {
				if n != 0 && (arm == surveys.AllArms || arm == k.Arm) {
					want[by.Of(k)] += n
				}
			}
			got, err := d.AnswerSums(d.ctx(), f)
			d.ok(err)
			same(t, fmt.Sprintf("sums of %+v", f), got, want)
		}
	}
}

// testAnswersGo removes a survey, and what its respondents answered.
func testAnswersGo(t *testing.T, d *surveyBench, survey int64, respondent surveys.RespondentID) {
	d.ok(d.RemoveSurvey(d.ctx(), survey))
	var err error
	for more := true; more; {
		more, err = d.Sweep(d.ctx(), 1000)
		d.ok(err)
	}
	sums, err := d.AnswerSums(d.ctx(), surveys.SumFilter{Survey: survey, Arm: surveys.AllArms})
	d.ok(err)
	answers, err := d.Answers(d.ctx(), survey, []surveys.RespondentID{respondent})
	d.ok(err)
	if len(sums) != 0 || len(answers) != 0 {
		t.Errorf("%d sums and the answers of %d respondents are left", len(sums), len(answers))
	}
}

// testAnswerTexts lists the answers to a question, page by page. Only the first respondent has answered t, by "longer".
func testAnswerTexts(t *testing.T, d *surveyBench, survey int64, first surveys.RespondentID) {
	t.Helper()
	for _, c := range []struct {
		question, matches string
		limit             int
		want              []string // of each page
	}{
		{"t", "", 10, []string{"longer"}},
		{"q", "", 10, []string{"a,b,a"}},
		{"q", "", 2, []string{"a,b", "a"}},
		{"q", "", 3, []string{"a,b,a"}},
		{"q", "a", 1, []string{"a", "a"}},
		{"q", "c", 1, []string{""}},
		{"n", "", 1, []string{"123456"}},
		{"x", "", 1, []string{""}},
	} {
		f := surveys.TextFilter{Survey: survey, Question: c.question, Limit: c.limit}
		if c.matches != "" {
			f.Matches = func(text string) bool { return text == c.matches }
		}
		var got []string
		for more := true; more && len(got) < 5; {
			list, next, err := d.AnswerTexts(d.ctx(), f)
			d.ok(err)
			var page []string
			for _, a := range list {
				if page = append(page, a.Text); a.At.IsZero() || a.Respondent < first {
					t.Errorf("%+v", a)
				}
			}
			got, f.After, more = append(got, strings.Join(page, ",")), next, next != 0
		}
		same(t, fmt.Sprint(c), got, c.want)
	}
}
