package surveys

import (
	"maps"

	"weir"
)

// MergeAnswers returns the attributes of a respondent with the answers merged in. Answers
// must be valid attributes; an empty answer changes nothing.
func MergeAnswers(attributes, answers map[string]string) (map[string]string, []weir.FieldError) {
	if len(answers) == 0 {
		return attributes, nil
	}
	given := make(map[string]any, len(answers))
	for name, value := range answers {
		given[name] = value
	}
	row, wrong := Attributes(given)
	for i := range wrong {
		wrong[i].Pointer = "/answers" + wrong[i].Pointer
	}
	if len(wrong) > 0 {
		return attributes, wrong
	}
	out := maps.Clone(attributes)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, row)
	if len(out) > MaxAttributes {
		return attributes, []weir.FieldError{{Pointer: "/answers", Code: "length", Detail: "the respondent would have too many attributes"}}
	}
	return out, nil
}
