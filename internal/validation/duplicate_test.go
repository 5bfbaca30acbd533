package validation_test

import (
	"strings"
	"testing"

	"weir/internal/validation"
)

func TestDuplicate_FindsTheFirstKeyThatStandsTwice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		at, key string
		wrong   bool
	}{
		`{"a":1,"b":[{"a":1},{"a":2}]}`:     {},
		`{"a":1,"a":2}`:                     {at: "/a", key: "a"},
		`{"a":[1,{"b/c":1,"b/c":2}],"a":3}`: {at: "/a/1/b~1c", key: "b/c"},
		`{"a":1,"A":2}`:                     {},
		`[]`:                                {},
		`{"a":1`:                            {wrong: true},
		`{} {}`:                             {wrong: true},
		strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40): {wrong: true},
	} {
		at, key, err := validation.Duplicate([]byte(text), strings.Clone)
		if at != want.at || key != want.key || (err != nil) != want.wrong {
			t.Errorf("%s: %q at %q, %v", text, key, at, err)
		}
	}
	if at, key, err := validation.Duplicate([]byte(`{"a":1,"A":2}`), strings.ToLower); at != "/A" || key != "A" || err != nil {
		t.Errorf("without case: %q at %q, %v", key, at, err)
	}
}
