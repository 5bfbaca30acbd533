package questions_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/surveys/questions"
)

func TestQuestion_Summarize(t *testing.T) {
	years := map[string]int{}
	for y := range 60 {
		years[fmt.Sprint(1950+y, "-03-0", 1+y%9)] = 1
	}
	ages := map[string]int{}
	for a := range 90 {
		ages[fmt.Sprint(a)] = 2
	}
	halves := map[string]int{}
	for i := range 30 {
		halves[strconv.FormatFloat(float64(i)/10, 'g', -1, 64)] = 1
	}
	choices := []questions.Choice{{Name: "yes"}, {Name: "no"}}
	for name, c := range map[string]struct {
		question questions.Question
		counts   map[string]int
		bars     string
		summary  string
	}{
		"no answers":       {questions.Question{Kind: questions.Number}, map[string]int{"3": 0}, "[]", "none"},
		"choices in order": {questions.Question{Kind: questions.Choose, Choices: choices}, map[string]int{"no": 2, "gone": 1}, "[{yes  0} {no  2} {gone  1}]", "none"},
		"few numbers":      {questions.Question{Kind: questions.Number}, map[string]int{"10": 1, "9": 2, "-1.5": 1}, "[{-1.5  1} {9  2} {10  1}]", "{-1.5 9 10 6.625}"},
		"even median":      {questions.Question{Kind: questions.Calculation}, map[string]int{"1": 1, "2": 1}, "[{1  1} {2  1}]", "{1 1.5 2 1.5}"},
		"few dates":        {questions.Question{Kind: questions.Date}, map[string]int{"2026-02-01": 1, "2026-01-31": 1}, "[{2026-01-31  1} {2026-02-01  1}]", "{2026-01-31 2026-01-31 2026-02-01 }"},
		"many numbers": {
			questions.Question{Kind: questions.Number}, ages, "[{0 5 10} {5 10 10} {10 15 10} {15 20 10} {20 25 10} {25 30 10} {30 35 10} {35 40 10} {40 45 10} {45 50 10} {50 55 10} {55 60 10} {60 65 10} {65 70 10} {70 75 10} {75 80 10} {80 85 10} {85 90 10}]", "{0 44.5 89 44.5}",
		},
		"many fractions": {
			questions.Question{Kind: questions.Number}, halves, "[{0 0.2 2} {0.2 0.4 2} {0.4 0.6 2} {0.6 0.8 2} {0.8 1 2} {1 1.2 2} {1.2 1.4 2} {1.4 1.6 2} {1.6 1.8 2} {1.8 2 2} {2 2.2 2} {2.2 2.4 2} {2.4 2.6 2} {2.6 2.8 2} {2.8 3 2}]", "{0 1.45 2.9 1.45}",
		},
		"many dates": {
			questions.Question{Kind: questions.Date}, years, "[{1950-01-01 1955-01-01 5} {1955-01-01 1960-01-01 5} {1960-01-01 1965-01-01 5} {1965-01-01 1970-01-01 5} {1970-01-01 1975-01-01 5} {1975-01-01 1980-01-01 5} {1980-01-01 1985-01-01 5} {1985-01-01 1990-01-01 5} {1990-01-01 1995-01-01 5} {1995-01-01 2000-01-01 5} {2000-01-01 2005-01-01 5} {2005-01-01 2010-01-01 5}]", "{1950-03-01 1979-03-03 2009-03-06 }",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bars, s := questions.Summarize(&c.question, c.counts)
			summary := "none"
			if s != nil {
				summary = fmt.Sprint(*s)
			}
			if got := fmt.Sprint(bars); got != c.bars || summary != c.summary {
				t.Errorf("%s %s, want %s %s", got, summary, c.bars, c.summary)
			}
		})
	}
}

// Whatever was answered, every answer is in one bar, in whose range it is; and mean and median are
// those of the answers.
func TestQuestion_SummarizeCountsEveryAnswerOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := questions.Question{Kind: rapid.SampledFrom([]questions.Kind{questions.Number, questions.Date, questions.Calculation}).Draw(t, "kind")}
		number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-100, 100), rapid.Map(rapid.IntRange(-3000, 3000), func(n int) float64 { return float64(n) }))
		day := rapid.Custom(func(t *rapid.T) string {
			return time.Date(rapid.IntRange(0, 9999).Draw(t, "year"), 1, rapid.IntRange(1, 365).Draw(t, "day"), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		})
		counts, all := map[string]int{}, []string{}
		groups := []map[string]int{{}, {}, {}}
		for range rapid.IntRange(0, 100).Draw(t, "answers") {
			a := questions.Answer{Status: questions.Answered}
			if q.Kind == questions.Date {
				a.Value = day.Draw(t, "value")
			} else {
				a.Value = strconv.FormatFloat(number.Draw(t, "value"), 'f', -1, 64)
			}
			for _, value := range a.Counted(q.Kind) {
				counts[value]++
				groups[rapid.IntRange(0, 2).Draw(t, "group")][value]++
				all = append(all, value)
			}
		}
		at := func(s string) float64 {
			if q.Kind == questions.Date {
				d, _ := time.Parse(time.DateOnly, s)
				return float64(d.Unix())
			}
			n, _ := strconv.ParseFloat(s, 64)
			return n
		}
		slices.SortFunc(all, func(a, b string) int {
			if at(a) < at(b) {
				return -1
			}
			return 1
		})
		bars, s := questions.Summarize(&q, counts)
		if len(bars) > questions.MaxBars || (s == nil) != (len(all) == 0) {
			t.Fatalf("%d bars, summary %v of %d answers", len(bars), s, len(all))
		}
		grouped := slices.Clone(bars)
		for _, group := range groups {
			for i, b := range questions.CountIn(&q, bars, group) {
				grouped[i].Count -= b.Count
			}
		}
		if slices.ContainsFunc(grouped, func(b questions.Bar) bool { return b.Count != 0 }) {
			t.Fatalf("of %v the groups %v leave %v", bars, groups, grouped)
		}
		rest := all
		for _, b := range bars {
			n := 0
			for len(rest) > 0 && (b.Below == "" && rest[0] == b.Value || b.Below != "" && at(rest[0]) >= at(b.Value) && (at(rest[0]) < at(b.Below) || len(b.Below) > 10)) {
				n, rest = n+1, rest[1:]
			}
			if n != b.Count {
				t.Fatalf("%v counts %d, of %v", b, n, all)
			}
		}
		if len(rest) > 0 {
			t.Fatalf("no bar of %v has %v", bars, rest)
		}
		if s == nil {
			return
		}
		median := all[(len(all)-1)/2]
		mean := 0.0
		for _, v := range all {
			mean += at(v) / float64(len(all))
		}
		spread := math.Abs(at(all[len(all)-1])) + math.Abs(at(all[0]))
		switch {
		case s.Min != all[0] || s.Max != all[len(all)-1]:
			t.Fatalf("%+v of %v", s, all)
		case q.Kind == questions.Date:
			if s.Median != median || s.Mean != "" {
				t.Fatalf("%+v of %v", s, all)
			}
		case at(s.Median) < at(median)-1e-9*spread, math.Abs(at(s.Mean)-mean) > 1e-9*spread:
			t.Fatalf("%+v, mean %v, of %v", s, mean, all)
		}
	})
}
