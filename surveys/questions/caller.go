package questions

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/surveys/questions/expression"
)

// Attributes returns the attributes that the texts insert, and those that conditions and
// calculations look at, each sorted. Answers are not among them.
func (qs *Questionnaire) Attributes() (inserted, compared []string) {
	add := func(list *[]string, name string) {
		if _, question := qs.index[name]; !question && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	var texts []Text
	var conditions []*expression.Expression
	for _, t := range qs.messages {
		texts = append(texts, t)
	}
	for i := range qs.questions {
		q := &qs.questions[i]
		texts, conditions = append(texts, q.Text, q.Message), append(conditions, q.relevant, q.constraint, q.calculation)
		for _, t := range q.TextIn {
			texts = append(texts, t)
		}
		for j := range q.choices {
			texts, conditions = append(texts, q.choices[j].Text), append(conditions, q.choices[j].relevant)
		}
	}
	for _, e := range conditions {
		if e != nil {
			for _, ref := range e.Refs() {
				add(&compared, ref.Name)
			}
		}
	}
	for _, t := range texts {
		for _, s := range t {
			names, _ := fieldsOf(s) // checked when it was compiled
			for _, name := range names {
				add(&inserted, name)
			}
		}
	}
	slices.Sort(inserted)
	slices.Sort(compared)
	return inserted, compared
}

// Names returns the questions that have answers, in order.
func (qs *Questionnaire) Names() (names []string) {
	for i := range qs.questions {
		if q := &qs.questions[i]; Recorded(q.Kind) {
			names = append(names, q.Name)
		}
	}
	return names
}

// Has reports whether a name is that of a question with answers.
func (qs *Questionnaire) Has(name string) bool {
	i, ok := qs.index[name]
	return ok && Recorded(qs.questions[i].Kind)
}

// sumDigits is how many digits numbers keep in the sums, so that these are few.
const sumDigits = 4

// maxCounted is the greatest number that is counted, far from what float64 ends at.
const maxCounted = 1e300

// Counted returns the values under which an answer to a question of a kind is counted: each of the
// choices, a number rounded to four digits, a date. Texts are counted without their values, and so
// is what has no value.
func (a *Answer) Counted(kind Kind) []string {
	if a.Status != Answered || a.Value == "" {
		return nil
	}
	switch kind {
	case Choose, Date:
		return []string{a.Value}
	case ChooseMany:
		return strings.Fields(a.Value)
	case Number, Calculation:
		n, err := strconv.ParseFloat(a.Value, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > maxCounted {
			return nil
		}
		n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'e', sumDigits-1, 64), 64) // what it wrote
		return []string{strconv.FormatFloat(n+0, 'g', -1, 64)}                      // + 0: no -0
	default:
		return nil
	}
}

// Recorded returns the names of the questions whose answers are recorded, in order.
func (qs *Questionnaire) Recorded() (names []string) {
	for i := range qs.questions {
		if q := &qs.questions[i]; q.Kind != Statement && q.Kind != End {
			names = append(names, q.Name)
		}
	}
	return names
}

// KindOf returns the kind of a question of a definition; empty: there is no such question.
func KindOf(d *Definition, name string) Kind {
	if i := slices.IndexFunc(d.Questions, func(q Question) bool { return q.Name == name }); i >= 0 {
		return d.Questions[i].Kind
	}
	return ""
}
