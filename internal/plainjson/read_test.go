package plainjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/plainjson"
)

// agrees compares the result with that of encoding/json.
func agrees(t interface{ Errorf(string, ...any) }, raw []byte) (ok bool) {
	got, ok := plainjson.Value(raw)
	if !ok {
		return false
	}
	var want any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Errorf("%q was read; encoding/json: %v", raw, err)
	} else if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%q (-want +got):\n%s", raw, d)
	}
	return true
}

// Typical texts of clients are read here, and as encoding/json reads them.
func TestRead_TakesUsualTextsAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"contacts":[{"key":"k-1","to":"+15550001","priority":"high","messages":["Hello, it's me","é \" \\ \n \u00e9 \ud83d\ude00"]}]}`,
		` [ ] `, `{}`, "\t{ \"a\" : { } , \"b\" : [ 1 , true , false , null ] }\r\n", `"text"`, `""`, `null`, `true`, `-0`, `0.5e-3`, `12345678901234567890`, `1E+2`,
		`{"a":1,"a":2}`, `{"":{"":""}}`, `[[[[[[1]]]]]]`, `{"a":"\u0000"}`, `"\ud800"`,
	} {
		if !agrees(t, []byte(text)) {
			t.Errorf("%s was left to encoding/json", text)
		}
	}
}

// Texts that are not JSON, or exceed a bound, are left to encoding/json.
func TestRead_LeavesInvalidTextsToEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `{`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `NaN`, `tru`, `nul`, `1e999`,
		`"a`, `"\x"`, `"\u12"`, "\"\n\"", "\"\xff\"", `{} {}`, `{"a":1}x`, "\x00", `'a'`,
		strings.Repeat("[", 60) + strings.Repeat("]", 60),
	} {
		if _, ok := plainjson.Value([]byte(text)); ok {
			t.Errorf("%q was read", text)
		}
	}
}

// Whatever the text, and however it is then damaged, the result is that of
// encoding/json.
func TestRead_AgreesWithEncodingJSONOnDamagedTexts(t *testing.T) {
	t.Parallel()
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), anyOf), rapid.Map(rapid.Float64Range(-1e300, 1e300), anyOf), rapid.Map(rapid.String(), anyOf))
	deep := rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(leaf, 0, 4), anyOf), rapid.Map(rapid.MapOfN(rapid.String(), leaf, 0, 4), anyOf))
	rapid.Check(t, func(rt *rapid.T) {
		raw, err := json.Marshal(rapid.MapOfN(rapid.StringN(0, 3, -1), deep, 0, 5).Draw(rt, "value"))
		if err != nil {
			rt.Fatal(err)
		}
		agrees(rt, raw)
		at := rapid.IntRange(0, len(raw)-1).Draw(rt, "where")
		raw[at] = rapid.SampledFrom([]byte("{}[]\",:\\tfn0-.eE \n\xff")).Draw(rt, "what")
		agrees(rt, raw)
	})
}

func anyOf[T any](v T) any { return v }

// FuzzValue: no text is read differently than by encoding/json.
func FuzzValue(f *testing.F) {
	for _, text := range []string{`{"contacts":[{"to":"+1","messages":["a"]}]}`, `[1.5e3,null,"\u00e9"]`, `{"a":{"b":[{}]}} `} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { agrees(t, raw) })
}

func BenchmarkValue(b *testing.B) {
	raw := []byte(`{"contacts":[{"key":"k-123456","to":"+15550001234","priority":"normal","messages":["` + strings.Repeat("x", 200) + `"]}]}`)
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plainjson.Value(raw)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			_ = json.Unmarshal(raw, &v)
		}
	})
}
