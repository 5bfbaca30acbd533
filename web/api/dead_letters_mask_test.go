package api_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/operators"
	"weir/web/auth"
)

// The reason of a group is a parameter of operations on the group and appears
// in URLs: it holds no number, in any notation, and is the same for a token
// without pii:read. Otherwise such a token could neither list nor discard the
// group that it sees.
func TestDeadLetters_ReasonsOfGroupsHaveNothingToHide(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"no route to (555) 000 1234":                 "no route to …",
		"no route to 555.000.1234 now":               "no route to … now",
		"no route to +1 555-000 1234":                "no route to …",
		"no route to 555 \t 000  1234":               "no route to 555 …",
		"dial tcp 10.10.20.30:443: refused":          "dial tcp …:443: refused",
		"refused 3 of 250 at 10.0.0.1, answered 503": "refused 3 of 250 at 10.0.0.1, answered 503",
	} {
		if got := operators.GroupReason(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestDeadLetters_ReasonsOfGroupsAreTheSameForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reason := operators.GroupReason(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"0", "12", "345", "6789", "12345", " ", "  ", "\t", "(", ")", ".", "-", "/", "+", "a", "…", "é", "٣",
		})).Draw(t, "reason"), ""))
		if masked := auth.MaskText(reason); masked != reason {
			t.Fatalf("%q is shown as %q", reason, masked)
		}
	})
}
