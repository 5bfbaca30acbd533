package surveys_test

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/surveys"
	"weir/surveys/questions"
)

// Scenario 484: after any sequence of answers, corrected ones and those of respondents who are removed,
// the sums are a recount of the answers, in every way in which they are told apart.
func TestRecorded_SumsAreARecountOfTheAnswers(t *testing.T) {
	t.Parallel()
	kinds := map[string]questions.Kind{"one": questions.Choose, "many": questions.ChooseMany, "age": questions.Number, "born": questions.Date, "why": questions.FreeText}
	texts := map[questions.Kind][]string{
		questions.Choose: {"a", "b"}, questions.ChooseMany: {"a", "b", "a b", "c a b"}, questions.Number: {"7", "7.0", "123456", "123499"},
		questions.Date: {"2026-01-31", "2026-02-01"}, questions.FreeText: {"long", "longer"},
	}
	names := []string{"one", "many", "age", "born", "why"}
	rapid.Check(t, func(t *rapid.T) {
		const persons = 4
		var answers [persons]map[string]questions.Answer
		sums := map[surveys.AnswerSum]int{}
		record := func(person int, a questions.Answer) {
			one := surveys.Recorded{Answer: a, Kind: kinds[a.Question], Was: answers[person][a.Question]}
			one.Count(sums, person%2)
		}
		for range rapid.IntRange(0, 60).Draw(t, "answers") {
			person := rapid.IntRange(0, persons-1).Draw(t, "person")
			if answers[person] == nil {
				answers[person] = map[string]questions.Answer{}
			}
			name := rapid.SampledFrom(names).Draw(t, "question")
			if rapid.IntRange(0, 9).Draw(t, "removed") == 0 {
				for name := range answers[person] {
					record(person, questions.Answer{Question: name})
				}
				answers[person] = nil
				continue
			}
			a := questions.Answer{
				Question: name, Status: rapid.SampledFrom(questions.Statuses()).Draw(t, "status"),
				Day: rapid.IntRange(0, 3).Draw(t, "day"), Language: rapid.SampledFrom([]string{"", "en", "es"}).Draw(t, "language"),
			}
			if a.Status == questions.Answered {
				a.Value = rapid.SampledFrom(texts[kinds[name]]).Draw(t, "value")
			}
			record(person, a)
			answers[person][name] = a
		}
		for _, by := range []surveys.SumsBy{surveys.ByNothing, surveys.ByDay, surveys.ByArm, surveys.ByLanguage} {
			got, want := map[surveys.AnswerSum]int{}, map[surveys.AnswerSum]int{}
			for k, n := range sums {
				got[by.Of(k)] += n
			}
			maps.DeleteFunc(got, func(_ surveys.AnswerSum, n int) bool { return n == 0 })
			for person, of := range answers {
				for name, a := range of {
					k := by.Of(surveys.AnswerSum{Question: name, Status: a.Status, Day: a.Day, Arm: person % 2, Language: a.Language})
					want[k]++
					for _, k.Value = range a.Counted(kinds[name]) {
						want[k]++
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("by %q: sums %v, want %v", by, got, want)
			}
		}
		for k, n := range sums { // where a group is told apart, nothing is taken from another
			if n < 0 {
				t.Fatalf("%+v: %d", k, n)
			}
		}
	})
}

// An answer counts on the day of the survey's zone, whatever the zone of the process.
func TestPlan_DatedIsOfTheZoneOfTheSurvey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, at, day string }{
		{"UTC", "2026-01-31T23:59:59Z", "2026-01-31"},
		{"Pacific/Auckland", "2026-01-31T10:59:59Z", "2026-01-31"},
		{"Pacific/Auckland", "2026-01-31T11:00:00Z", "2026-02-01"},
		{"America/Lima", "2026-02-01T04:59:59Z", "2026-01-31"},
		{"America/Lima", "2026-02-01T05:00:00Z", "2026-02-01"},
		{"Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-30"}, // clocks were changed
		{"Europe/Berlin", "2026-03-29T21:59:00Z", "2026-03-29"},
	} {
		pl := forecastPlan(t, func(d *surveys.Definition) { d.Schedule.TimeZone = c.zone })
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		a := pl.Dated(questions.Answer{Question: "q"}, questions.State{Language: "es"}, at.In(time.FixedZone("", -11*60*60)))
		if a.Language != "es" || weir.DayText(a.Day) != c.day || a.Question != "q" {
			t.Errorf("%s in %s: %+v on %s, want %s", c.at, c.zone, a, weir.DayText(a.Day), c.day)
		}
	}
}
