package respondents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys/respondents"
)

func TestRowOf_ReadsTheBodyOfARequest(t *testing.T) {
	t.Parallel()
	row, wrong := respondents.RowOf("55 1234 5678", map[string]any{"name": " Ana ", "age": json.Number("30"), "big": json.Number("9007199254740993"), "share": json.Number("1.10"), "ok": true, "none": nil, "empty": " "}, "MX")
	want := respondents.Row{Phone: "+525512345678", Attributes: map[string]string{"name": "Ana", "age": "30", "big": "9007199254740993", "share": "1.10", "ok": "true"}}
	if diff := cmp.Diff(want, row); diff != "" || wrong != nil {
		t.Errorf("%v\n%s", wrong, diff)
	}
	_, wrong = respondents.RowOf("x", map[string]any{
		"First Name": "Ana", "survey": "s", "phone": "1", "tags": []any{"a"}, "long": strings.Repeat("x", 501), "nul": "\x00", "good": "1",
	}, "MX")
	if diff := cmp.Diff([]string{
		"/phone format", "/attributes/First Name format", "/attributes/long format", "/attributes/nul format",
		"/attributes/phone format", "/attributes/survey format", "/attributes/tags format",
	}, codes(wrong)); diff != "" {
		t.Error(diff)
	}
	many := map[string]any{}
	for i := range 101 {
		many["a"+strings.Repeat("b", i%60)+string(rune('a'+i/60))] = "x"
	}
	if _, wrong := respondents.RowOf("5512345678", many, "MX"); len(wrong) != 1 || wrong[0].Pointer != "/attributes" {
		t.Errorf("%d attributes: %v", len(many), wrong)
	}
}

// codes lists validation failures as pointer and code.
func codes(wrong []weir.FieldError) []string {
	var out []string
	for _, w := range wrong {
		out = append(out, w.Pointer+" "+w.Code)
	}
	return out
}
