package surveys

import (
	"testing"

	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
)

// Labels stand in place of codes; what is no code stays.
func TestLabel_ReplacesCodes(t *testing.T) {
	t.Parallel()
	choices := []questions.Choice{{Name: "a", Text: questions.Text{"en": "Bus", "es": "Autobús"}}, {Name: "b", Text: questions.Text{"en": "Car; own", "es": "Carro"}}}
	v := surveys.Survey{}
	v.Definition.Questions = &questions.Definition{
		Languages: []questions.Language{{Code: "en"}, {Code: "es"}},
		Questions: []questions.Question{{Name: "by", Kind: questions.Choose, Choices: choices}, {Name: "all", Kind: questions.ChooseMany, Choices: choices}, {Name: "age", Kind: questions.Number}},
	}
	for _, tt := range [][2][3]string{
		{{"a", "b a", "7"}, {"Bus", "Car; own; Bus", "7"}},
		{{"", "", ""}, {"", "", ""}},
		{{"***", "refused b", "a"}, {"***", "refused; Car; own", "a"}},
	} {
		answers := make([]api.AnswerView, 3)
		for i := range answers {
			answers[i].Value = tt[0][i]
		}
		label(v, asked(v), answers)
		for i := range answers {
			if answers[i].Value != tt[1][i] {
				t.Errorf("%q is %q", tt[0][i], answers[i].Value)
			}
		}
	}
	columns := numberColumns(v)
	if n := len(resultColumns()); columns(0) || columns(1) || !columns(7) || columns(n) || columns(n+1) || !columns(n+2) || columns(n+3) {
		t.Error("other columns are numbers")
	}
}
