package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/surveys"
	"weir/surveys/questions"
)

// testSurveyBreakdowns lets respondents answer, answer again, get other attributes and be removed, at random. After
// each step the sums by attribute are a recount of the answers and attributes that are stored.
func testSurveyBreakdowns(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	v.Definition.Questions = &questions.Definition{Questions: []questions.Question{{Name: "q", Kind: questions.ChooseMany}, {Name: "n", Kind: questions.Number}}}
	v.Definition.Breakdowns = []surveys.Breakdown{{Attribute: "region", Values: []string{"north", "South"}}, {Attribute: "team", Values: []string{"a"}}}
	v, _, err := d.PutSurvey(d.ctx(), v, document.Condition{})
	d.ok(err)
	random, values := rand.New(rand.NewPCG(1, 2)), map[string][]string{"q": {"a", "b", "a b"}, "n": {"7", "123456"}}
	ids := []surveys.RespondentID{}
	for _, r := range d.people(v.ID, 1, 6) {
		ids = append(ids, r.ID)
	}
	for step := range 40 {
		i := random.IntN(len(ids))
		if step%15 == 14 && len(ids) > 1 {
			d.ok(d.RemoveRespondent(d.ctx(), v.ID, ids[i]))
			ids = slices.Delete(ids, i, i+1)
			testBreakdownSums(t, d, v, ids, step)
			continue
		}
		had, err := d.Answers(d.ctx(), v.ID, ids[i:i+1])
		d.ok(err)
		m := turn(d.read(ids[i])[0], func(r *surveys.Respondent) {
			if random.IntN(2) == 0 {
				r.Attributes = maps.Clone(r.Attributes)
				if r.Attributes == nil {
					r.Attributes = map[string]string{}
				}
				r.Attributes["region"] = []string{"north", " NORTH", "south", "east", ""}[random.IntN(5)]
				r.Attributes["team"] = []string{"a", "b"}[random.IntN(2)]
			}
		})
		for _, q := range v.Definition.Questions.Questions {
			if random.IntN(2) == 0 {
				continue
			}
			a := questions.Answer{Question: q.Name, Status: questions.Refused, Day: 20_000}
			if random.IntN(4) > 0 {
				a.Status, a.Value = questions.Answered, values[q.Name][random.IntN(len(values[q.Name]))]
			}
			m.Answers = append(m.Answers, surveys.Recorded{Answer: a, Kind: q.Kind, Was: had[ids[i]][q.Name], At: now()})
		}
		stale := m // of the same revision: must count nothing
		got, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Definition: &v.Definition, Moves: []surveys.Move{m, stale}})
		d.ok(err)
		if len(got.Stale) != 1 {
			t.Fatalf("step %d: %+v", step, got)
		}
		testBreakdownSums(t, d, v, ids, step)
	}
	d.ok(d.RemoveSurvey(d.ctx(), v.ID))
	for more := true; more; {
		more, err = d.Sweep(d.ctx(), 1000)
		d.ok(err)
	}
	testBreakdownSums(t, d, v, nil, -1)
}

// testBreakdownSums compares the sums by each attribute with the answers of respondents.
func testBreakdownSums(t *testing.T, d *surveyBench, v surveys.Survey, ids []surveys.RespondentID, step int) {
	t.Helper()
	answers, err := d.Answers(d.ctx(), v.ID, ids)
	d.ok(err)
	people := d.read(ids...)
	for i, b := range v.Definition.Breakdowns {
		want := map[surveys.AnswerSum]int{}
		for _, r := range people {
			place := surveys.NoValue
			if value := strings.TrimSpace(r.Attributes[b.Attribute]); value != "" {
				place = surveys.OtherValue
				for j := range b.Values {
					if strings.EqualFold(b.Values[j], value) {
						place = j + 1
					}
				}
			}
			for name, a := range answers[r.ID] {
				k := surveys.AnswerSum{Question: name, Status: a.Status, Place: place}
				want[k]++
				for _, k.Value = range a.Counted(questions.KindOf(v.Definition.Questions, name)) {
					want[k]++
				}
			}
		}
		got, err := d.AnswerSums(d.ctx(), surveys.SumFilter{Survey: v.ID, Arm: surveys.AllArms, By: surveys.ByAttribute, Breakdown: i})
		d.ok(err)
		same(t, fmt.Sprintf("sums by %s after step %d", b.Attribute, step), got, want)
	}
}
