package httpjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/validation"
)

type patchPart struct {
	Kind   string    `json:"kind" enum:"timed,sized"`
	At     time.Time `json:"at" kinds:"timed"`
	Size   *int      `json:"size" kinds:"sized" minimum:"1"`
	State  string    `json:"state" readOnly:"true"`
	Engine string    `json:"engine" default:"v8"`
}

type patchDocument struct {
	One  patchPart      `json:"one"`
	Many []patchPart    `json:"many"`
	Name string         `json:"name"`
	By   map[string]int `json:"by"`
	Some patchPart      `json:"some" only:"engine"`
	Own  string         `json:"own" hidden:"true"`
}

// TestPatch_NullRemovesButInArrays covers what a patch becomes, and what is refused.
func TestPatch_NullRemovesButInArrays(t *testing.T) {
	t.Parallel()
	words := &Wording{Text: "text", Unknown: "unknown", Range: "%.0f-%.0f", Enum: "unknown", Token: strings.ToUpper}
	for _, c := range []struct{ patch, want, whole string }{
		{`{"name":null,"by":{"a":null,"b":1.0},"id":7}`, `{"by":{"a":null,"b":1},"name":null}`, `{"by":{"b":1}}`},
		{`{"one":null,"many":[{"kind":"timed","at":null,"state":3}]}`, `{"many":[{"kind":"timed"}],"one":null}`, `{"many":[{"kind":"timed"}]}`},
		{`{"one":{"kind":"sized","size":3}}`, `{"one":{"at":null,"kind":"sized","size":3}}`, `{"one":{"kind":"sized","size":3}}`},
		{`{"one":{"at":"2026-01-01T01:00:00+01:00","size":1,"engine":"v8"}}`, `{"one":{"at":"2026-01-01T00:00:00Z","engine":"","size":1}}`, ``},
		{`{"one":{"kind":"timed","size":1}}`, `/one/size unknown`, ``},
		{`{"one":{"kind":"odd","size":"x"}}`, `/one/kind unknown`, ``},
		{`{"one":{"size":0},"many":[null]}`, `/many/0 type /one/size range`, ``},
		{`{"some":{"size":1,"engine":2},"own":"x"}`, `/some/engine type /some/SIZE unknown /OWN unknown`, ``},
		{`{"by":{"a":9007199254740993,"b":1e10,"c":1.5}}`, `/by/A type /by/B range /by/C type`, ``},
	} {
		for _, whole := range []bool{false, true} {
			want := c.want
			if whole && c.whole != "" {
				want = c.whole
			}
			v, err := parseJSON([]byte(c.patch))
			if err != nil {
				t.Fatal(err)
			}
			var errs validation.Errors
			PatchOf(reflect.TypeFor[patchDocument](), whole, words, "id").Check(v, "", &errs)
			var got []string
			for _, e := range errs {
				got = append(got, e.Pointer+" "+e.Code)
			}
			if got == nil {
				text, err := json.Marshal(v)
				got = []string{string(text)}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s, whole: %v (-want +got):\n%s", c.patch, whole, diff)
			}
		}
	}
}
