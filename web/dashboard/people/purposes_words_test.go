package people

import (
	"testing"

	"weir/people"
	"weir/web/dashboard/locale"
)

// The dashboard describes caps from their fields, in every language; in English as the API and the command line do.
func TestPurposes_CapsAreDescribedAsByTheAPI(t *testing.T) {
	t.Parallel()
	l := locale.New().Choose("en", "")
	for _, k := range []people.Cap{
		{Max: 2, Within: "7d"}, {Max: 3, Within: "36h", Over: people.OverAll}, {Max: 1, Within: "1d", Kind: people.Calendar}, {Max: 1, Within: "24h", Kind: people.Calendar, Over: people.OverAll},
		{Max: 4, Within: "30d", Kind: people.Calendar}, {Max: 4, Within: "30d", Kind: people.Calendar, Over: people.OverAll},
	} {
		compiled, wrong := (&people.Purpose{Caps: []people.Cap{k}}).Compile()
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		one := &compiled.Caps[0]
		if got, want := capText(l, one), "at most "+one.Text(); got != want {
			t.Errorf("%q, the API has %q", got, want)
		}
	}
}
