package crashtest_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestCrash_LosesNothingAtRandomMoments kills the program at random moments of a short life, with
// load on both providers at once.
func TestCrash_LosesNothingAtRandomMoments(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 3))
			r := newRig(t, database(t, store), from, true, newCalls(t, 3*capacity), newSMS(t, capacity))
			r.feed()
			for range size().random {
				life := time.Duration(chance.IntN(300)) * time.Millisecond
				if chance.IntN(8) == 0 {
					life += idleAfter + collectEvery // long enough for the reconciler
				}
				rest(nil, life)
				r.broker.kill()
				r.kills++
				r.broker.start("")
				if chance.IntN(10) > 0 { // otherwise it may die before it answers
					r.broker.up()
					rest(nil, 100*time.Millisecond)
				}
			}
			r.broker.up()
			r.settle("random "+store, 0)
		})
	}
}
