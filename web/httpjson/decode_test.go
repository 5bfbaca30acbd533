package httpjson

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type inner struct {
	N    int               `json:"n"`
	Many map[string]string `json:"many,omitempty"`
}

type word string

type document struct {
	inner
	Text   string            `json:"text,omitempty"`
	Word   word              `json:"word,omitempty"`
	On     *bool             `json:"on,omitempty"`
	Rate   float64           `json:"rate,omitempty"`
	Big    int64             `json:"big,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	Until  *time.Time        `json:"until,omitempty"`
	One    *inner            `json:"one,omitempty"`
	List   []inner           `json:"list,omitzero"`
	Words  []word            `json:"words,omitzero"`
	ByWord map[word][]string `json:"by_word,omitzero"`
	Hidden string            `json:"-"`
}

func decoded(t interface{ Fatal(...any) }, text string) (d document) {
	v, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	Decode(v, &d)
	return d
}

// TestDecode_IsTheInverseOfEncoding: what a client encodes is what a route gets.
func TestDecode_IsTheInverseOfEncoding(t *testing.T) {
	t.Parallel()
	instants := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "at"), 0).UTC()
	})
	texts := rapid.StringMatching(`[a-zé"<\n]{0,5}`)
	inners := rapid.Custom(func(t *rapid.T) inner {
		return inner{rapid.IntRange(-1<<53+1, 1<<53-1).Draw(t, "n"), rapid.MapOfN(texts, texts, 1, 3).Draw(t, "many")}
	})
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.Map(texts, func(s string) word { return word(s) })
		want := document{
			inner: inners.Draw(t, "inner"), Text: texts.Draw(t, "text"), Word: words.Draw(t, "word"), On: rapid.Ptr(rapid.Bool(), true).Draw(t, "on"),
			Rate: rapid.Float64().Draw(t, "rate"), Big: rapid.Int64Range(-1<<53+1, 1<<53-1).Draw(t, "big"), At: instants.Draw(t, "at"), Until: rapid.Ptr(instants, true).Draw(t, "until"),
			One: rapid.Ptr(inners, true).Draw(t, "one"), List: rapid.SliceOfN(inners, 0, 3).Draw(t, "list"), Words: rapid.SliceOfN(words, 0, 3).Draw(t, "words"),
			ByWord: rapid.MapOfN(words, rapid.SliceOfN(texts, 0, 2), 0, 2).Draw(t, "by word"),
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, decoded(t, string(text)), cmp.AllowUnexported(document{})); d != "" {
			t.Fatalf("%s (-encoded +decoded):\n%s", text, d)
		}
	})
}

// TestDecode_TakesWhatIsChecked: a body means to a route what it means to the check of its schema.
func TestDecode_TakesWhatIsChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]document{
		`{"n": 1e2, "big": 4.0}`:                            {inner: inner{N: 100}, Big: 4},
		`{"one": {"n": 1}, "one": {"many": {"a": "b"}}}`:    {One: &inner{Many: map[string]string{"a": "b"}}}, // the last one, as the check saw it
		`{"TEXT": "x", "Hidden": "x", "-": "x", "": "x"}`:   {},
		`{"text": 1, "n": "1", "on": "true", "rate": true}`: {On: new(false)},
		`{"n": 1.5, "big": 1e300, "at": "noon"}`:            {},
		`{"text": null, "one": null, "list": [null]}`:       {List: []inner{{}}},
		`{"list": {}, "by_word": [], "one": 3, "word": []}`: {One: &inner{}},
		`[]`: {},
	} {
		if d := cmp.Diff(want, decoded(t, text), cmp.AllowUnexported(document{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}
