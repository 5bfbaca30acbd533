package plainjson

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestAppend_TextsAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Just("\x7f\xff\u2028<&>")).Draw(t, "text")
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendText([]byte("x"), s); string(got) != "x"+string(want) {
			t.Fatalf("%s, want %s", got[1:], want)
		}
	})
}
