package auth

import (
	"net/netip"
	"testing"
	"time"

	xrate "golang.org/x/time/rate"
	"pgregory.net/rapid"

	"weir/operators"
)

// At any sequence of times, a bucket never gives more than its burst plus what
// it refilled since, and a client that waits as long as required gets one.
func TestLimit_BucketKeepsItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rapid.Float64Range(0.01, 1000).Draw(t, "rate"), rapid.IntRange(1, 10_000).Draw(t, "burst")
		b := xrate.NewLimiter(xrate.Limit(rate), burst)
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		now, taken := start, 0
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")))
			wait := take(b, now)
			if wait == 0 {
				taken++
			}
			if most := float64(burst) + rate*now.Sub(start).Seconds() + 1e-6; float64(taken) > most {
				t.Fatalf("%d taken, at most %v allowed", taken, most)
			}
			if wait > 0 && rapid.Bool().Draw(t, "waits") {
				if now = now.Add(wait); take(b, now) != 0 {
					t.Fatalf("nothing to be had after the wait of %v", wait)
				}
				taken++
			}
		}
	})
}

func TestLimit_AddressesAreForgotten(t *testing.T) {
	t.Parallel()
	a, now := newAddresses(1), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wrong := operators.HashToken("x")
	first := netip.MustParseAddr("10.255.0.1")
	for i := range 3 * maxAddresses {
		now = now.Add(time.Millisecond)
		a.refusal(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), &wrong, now)
		a.refusal(first, &wrong, now) // is seen all the time, so it is not evicted
		if len(a.known) > maxAddresses {
			t.Fatalf("%d addresses are remembered", len(a.known))
		}
	}
	if a.refusal(first, &wrong, now) == 0 {
		t.Error("the address that came all the time has a clean slate")
	}
}
