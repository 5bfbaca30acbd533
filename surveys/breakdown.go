package surveys

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/api"
	"weir/internal/validation"
	"weir/surveys/questions"
	"weir/surveys/respondents"
)

// Breakdown is an attribute by whose values answers are counted.
type Breakdown = api.Breakdown

// Breakdowns are those of a survey. They do not change after its launch, so that the place of an attribute
// and of a value identifies it in the sums.
type Breakdowns []Breakdown

// Bounds of breakdowns: each answer is counted once more for each of them, and each value makes sums.
const (
	maxBreakdowns      = 5
	maxBreakdownValues = 50
	maxBreakdownValue  = 100 // characters
)

// Places of respondents whose value is not listed; a listed one has its place from 1.
const (
	NoValue    = 0 // the attribute is absent or blank
	OtherValue = -1
)

// Places returns the place of a respondent with these attributes in each breakdown.
func (b Breakdowns) Places(attributes map[string]string) []int {
	places := make([]int, len(b))
	for i := range b {
		places[i] = placeOf(b[i].Values, strings.TrimSpace(attributes[b[i].Attribute]))
	}
	return places
}

func placeOf(values []string, value string) int {
	if value == "" {
		return NoValue
	}
	if i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), value) }); i >= 0 {
		return i + 1
	}
	return OtherValue
}

// Index returns the place of an attribute in the breakdowns; -1: answers are not counted by it.
func (b Breakdowns) Index(attribute string) int {
	return slices.IndexFunc(b, func(one Breakdown) bool { return one.Attribute == attribute })
}

// Attributes returns the attributes by which answers are counted.
func (b Breakdowns) Attributes() []string {
	names := make([]string, len(b))
	for i := range b {
		names[i] = b[i].Attribute
	}
	return names
}

// check returns the validation failures of the breakdowns themselves.
func (b Breakdowns) check() []weir.FieldError {
	var m validation.Errors
	if len(b) > maxBreakdowns {
		m.Add("", "length", "must have at most %d attributes", maxBreakdowns)
		return m
	}
	for i := range b {
		at := "/" + strconv.Itoa(i)
		switch name := b[i].Attribute; {
		case !respondents.ValidName(name):
			m.Add(at+"/attribute", "format", respondents.NameRule)
		case ofWeir(name) || name == respondents.FieldPhone:
			m.Add(at+"/attribute", "reserved", "is a reserved name: it means something else already")
		case b[:i].Index(name) >= 0:
			m.Add(at+"/attribute", "duplicate", "is listed already")
		}
		if n := len(b[i].Values); n == 0 || n > maxBreakdownValues {
			m.Add(at+"/values", "length", "must have 1 to %d values", maxBreakdownValues)
			continue
		}
		for j, value := range b[i].Values {
			of, value := at+"/values/"+strconv.Itoa(j), strings.TrimSpace(value)
			switch n := utf8.RuneCountInString(value); {
			case n == 0 || n > maxBreakdownValue:
				m.Add(of, "length", "must have 1 to %d characters", maxBreakdownValue)
			case placeOf(b[i].Values[:j], value) > 0:
				m.Add(of, "duplicate", "is listed already")
			}
		}
	}
	return m
}

// BreakdownSum is the key by which answers are counted by attribute, in the manner of [AnswerSum].
type BreakdownSum struct {
	Breakdown int // its place in the definition
	Place     int // of the value
	Question  string
	Status    questions.Status
	Value     string
	Arm       int
}

// CountBy adds what an answer changes of the sums by attribute. What it replaces is taken from the places
// that the respondent had.
func (r *Recorded) CountBy(sums map[BreakdownSum]int, arm int, had, has []int) {
	r.each(func(a *questions.Answer, value string, n int) {
		places := has
		if n < 0 {
			places = had
		}
		for i, place := range places {
			sums[BreakdownSum{Breakdown: i, Place: place, Question: r.Question, Status: a.Status, Value: value, Arm: arm}] += n
		}
	})
}
