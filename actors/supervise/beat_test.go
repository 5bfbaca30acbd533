package supervise

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whenever the callers ask, all wait for the same instant, and never longer than
// the interval.
func TestBeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "every"))
		now := time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "now"))
		wait := Beat(now, every)
		if wait <= 0 || wait > every {
			t.Fatalf("it waits %v of %v", wait, every)
		}
		later := now.Add(time.Duration(rapid.Int64Range(0, int64(wait)-1).Draw(t, "later")))
		if a, b := now.Add(wait), later.Add(Beat(later, every)); !a.Equal(b) {
			t.Fatalf("one waits until %v and one until %v", a, b)
		}
	})
}
