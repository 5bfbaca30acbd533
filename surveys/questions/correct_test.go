package questions_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weir/surveys/questions"
)

// TestUncorrectable changes one place of a definition: only another text with no other fields is a
// correction.
func TestUncorrectable(t *testing.T) {
	t.Parallel()
	const before = `{"languages": [{"code": "es", "name": "Español"}], "messages": {"thanks": {"es": "Gracas"}}, "questions": [
		{"name": "well", "kind": "choice", "text": {"es": "¿Esta bien, {{name}}?"}, "text_in": {"sms": {"es": "¿Bien?"}}, "choices": [
			{"name": "yes", "text": {"es": "Si"}, "words": {"es": ["claro"]}}, {"name": "no", "text": {"es": "No"}}]},
		{"name": "age", "kind": "number", "text": {"es": "¿Edad?"}, "min": 1, "constraint": ". > 0", "message": {"es": "Mal"}}]}`
	for _, c := range []struct{ old, new, want string }{
		{`"Gracas"`, `"Gracias"`, ""},
		{`"¿Esta bien, {{name}}?"`, `"{{name}}, ¿está bien?"`, ""},
		{`"¿Esta bien, {{name}}?"`, `"¿Está bien?"`, ""},
		{`"¿Bien?"`, `"¿Está bien?"`, ""},
		{`"Si"`, `"Sí"`, ""},
		{`"Mal"`, `"No vale"`, ""},
		{`"¿Edad?"`, `"¿Edad, {{name}}?"`, "/questions/1/text/es"},
		{`"¿Edad?"`, `""`, "/questions/1/text/es"},
		{`{"es": "¿Edad?"}`, `{"es": "¿Edad?", "en": "Age?"}`, "/questions/1/text/en"},
		{`"message": {"es": "Mal"}`, `"min_length": 2`, "/questions/1/message /questions/1/min_length"},
		{`"claro"`, `"clarito"`, "/questions/0/choices/0/words/es/0"},
		{`"Español"`, `"español"`, "/languages/0/name"},
		{`"name": "yes"`, `"name": "sí"`, "/questions/0/choices/0/name"},
		{`"min": 1`, `"min": 2`, "/questions/1/min"},
		{`". > 0"`, `". > 1"`, "/questions/1/constraint"},
		{`"kind": "number"`, `"kind": "text"`, "/questions/1/kind"},
		{`, {"name": "no", "text": {"es": "No"}}`, ``, "/questions/0/choices"},
		{`{"thanks": {"es": "Gracas"}}`, `{"over": {"es": "Gracias"}}`, "/messages/over /messages/thanks"},
		{`{"es": "¿Edad?"}`, `["¿Edad?"]`, "/questions/1/text"},
	} {
		var was, is any
		if err := json.Unmarshal([]byte(before), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.Replace(before, c.old, c.new, 1)), &is); err != nil {
			t.Fatal(err)
		}
		for range 2 { // and for nothing
			var got []string
			for _, f := range questions.Uncorrectable(was, is) {
				got = append(got, f.Pointer)
			}
			if slices.Sort(got); strings.Join(got, " ") != c.want {
				t.Errorf("%s to %s: %q, want %q", c.old, c.new, got, c.want)
			}
			is, c.want = was, ""
		}
	}
}
