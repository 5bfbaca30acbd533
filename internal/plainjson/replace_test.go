package plainjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/plainjson"
)

// marked replaces a text.
func marked(name, text string, depth int) string { return fmt.Sprintf("%s·%q·%d", text, name, depth) }

// renamed replaces the names of one letter.
func renamed(name string) string {
	if len(name) == 1 {
		return "name " + name
	}
	return name
}

// markedTexts marks the texts of a decoded value.
func markedTexts(v any, name string, depth int) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for key := range x {
			out[renamed(key)] = markedTexts(x[key], key, depth+1)
		}
		return out
	case []any:
		for i := range x {
			x[i] = markedTexts(x[i], name, depth+1)
		}
	case string:
		return marked(name, x, depth)
	}
	return v
}

func replaces(t *testing.T, raw []byte) {
	t.Helper()
	var want, got any
	if json.Unmarshal(raw, &want) != nil {
		if !json.Valid(raw) && plainjson.ReplaceTexts(raw, renamed, marked) != nil {
			t.Fatalf("%q is not JSON, and was replaced", raw)
		}
		return
	}
	text := plainjson.ReplaceTexts(raw, renamed, marked)
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%q became %q: %v", raw, text, err)
	}
	if diff := cmp.Diff(markedTexts(want, "", 0), got); diff != "" {
		t.Fatalf("%q became %q: %s", raw, text, diff)
	}
}

func TestReplace_ChangesTextsOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`"a"`, `{}`, `[]`, ` { "a" : "b" , "c" : [ "d" , {"e":"f"} , "g" , [ "h" ] ] , "i":"j" } `, `{"a":{"b":{"c":"d"}},"e":"f"}`,
		`{"":"","a\"b":"\\","\u0061":"\ud83d\ude00<&","a":"{[\"}"}`, `[12345678901234567890, 1.50, true, null, "x", -0]`, `"a`, `{"a":`, `]`, ``, "[\"\xff\"]",
	} {
		replaces(t, []byte(text))
	}
	const numbers = `{"n": 12345678901234567890, "x": 1.50}`
	if got := string(plainjson.ReplaceTexts([]byte(numbers), strings.ToLower, marked)); got != numbers {
		t.Errorf("%s became %s", numbers, got)
	}
}

// FuzzReplaceTexts: replacing in the text and replacing in the decoded value are the same.
func FuzzReplaceTexts(f *testing.F) {
	for _, text := range []string{`{"a":"b","c":["d",{"e":"f"},"g"]}`, `["\u00e9",{"":[""]}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(replaces)
}
