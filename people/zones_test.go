package people_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"weir/internal/phonenumber"
	"weir/people"
)

// drawNumber draws a number: one of a region, of any kind, with up to nine of its last digits
// changed.
func drawNumber(t *rapid.T) string {
	region := rapid.SampledFrom(slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions()))).Draw(t, "region")
	kind := phonenumbers.PhoneNumberType(rapid.IntRange(int(phonenumbers.FIXED_LINE), int(phonenumbers.VOICEMAIL)).Draw(t, "kind"))
	n := phonenumbers.GetExampleNumberForType(region, kind)
	if n == nil {
		n = phonenumbers.GetExampleNumber(region)
	}
	digits := []byte(phonenumbers.Format(n, phonenumbers.E164))
	for i := range min(rapid.IntRange(0, 9).Draw(t, "changed"), len(digits)-2) {
		digits[len(digits)-1-i] = rapid.ByteRange('0', '9').Draw(t, "digit")
	}
	return string(digits)
}

func TestZones_KeptForANumberAreItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := drawNumber(t)
		var z people.Zones
		for range 3 {
			other := []byte(number)
			for i := range min(4, len(other)-2) { // its last digits decide nothing
				other[len(other)-1-i] = rapid.ByteRange('0', '9').Draw(t, "digit")
			}
			want := phonenumber.Zones(string(other))
			if len(want) == 0 {
				want = []string{"UTC"}
			}
			var got []string
			for _, zone := range z.Of("", "tel:"+string(other), time.UTC) {
				got = append(got, zone.String())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s, after %s, is in %v, want %v", other, number, got, want)
			}
		}
	})
}
