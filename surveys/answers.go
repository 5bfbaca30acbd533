package surveys

import (
	"time"

	"weir"
	"weir/surveys/questions"
)

// Recorded is an answer that a move records.
type Recorded struct {
	questions.Answer
	Kind questions.Kind
	Was  questions.Answer // that it replaces; zero: none
	Turn int
	At   time.Time
}

// Dated returns an answer with what it is counted under: the day of the survey, and the language of the
// conversation.
func (pl *Plan) Dated(a questions.Answer, talk questions.State, now time.Time) questions.Answer {
	year, month, day := now.In(pl.Schedule.Zone()).Date()
	a.Day, a.Language = weir.DayOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC)), talk.Language
	return a
}

// AnswerSum is the key by which answers are counted. Each answer counts under its status, with the
// empty value, and once more under each value of [questions.Answer.Counted].
type AnswerSum struct {
	Question string
	Status   questions.Status
	Value    string
	Day      int // since 1970; 0: not known
	Arm      int
	Language string // empty: not known
	Place    int    // in a breakdown; only of sums that are grouped by one
}

// Count adds what an answer changes of the sums of an arm. What it replaces is taken from the day and
// the language under which that was counted.
func (r *Recorded) Count(sums map[AnswerSum]int, arm int) {
	r.each(func(a *questions.Answer, value string, n int) {
		sums[AnswerSum{Question: r.Question, Status: a.Status, Value: value, Day: a.Day, Arm: arm, Language: a.Language}] += n
	})
}

// each calls count for everything under which the answers are counted: with -1 of the one that is
// replaced, with 1 of the new one.
func (r *Recorded) each(count func(a *questions.Answer, value string, n int)) {
	for _, one := range []struct {
		answer *questions.Answer
		n      int
	}{{&r.Was, -1}, {&r.Answer, 1}} {
		if one.answer.Status == "" {
			continue
		}
		count(one.answer, "", one.n)
		for _, value := range one.answer.Counted(r.Kind) {
			count(one.answer, value, one.n)
		}
	}
}

// SumsBy is the column by which sums of answers are grouped, beside question, status and value.
type SumsBy string

// The columns.
const (
	ByNothing  SumsBy = ""
	ByDay      SumsBy = "day"
	ByArm      SumsBy = "arm"
	ByLanguage SumsBy = "language"
	// ByAttribute groups by the place in a breakdown. These sums are of no day and no language.
	ByAttribute SumsBy = "attribute"
)

// AllArms selects the sums of every arm.
const AllArms = -1

// SumFilter selects sums of answers.
type SumFilter struct {
	Survey int64
	Arm    int // or AllArms
	By     SumsBy
	// Breakdown is the place of an attribute in the definition, with [ByAttribute].
	Breakdown int
}

// Of returns the key of the sum to which another adds, without the columns by which sums are not grouped.
func (by SumsBy) Of(k AnswerSum) AnswerSum {
	of := AnswerSum{Question: k.Question, Status: k.Status, Value: k.Value}
	switch by {
	case ByDay:
		of.Day = k.Day
	case ByArm:
		of.Arm = k.Arm
	case ByLanguage:
		of.Language = k.Language
	case ByAttribute:
		of.Place = k.Place
	case ByNothing:
	}
	return of
}
