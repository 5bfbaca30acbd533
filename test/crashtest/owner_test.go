package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// ownerPoint is a boundary of an ownership of the database.
type ownerPoint struct {
	name   string
	atEnd  bool // it strikes once the program is told to end
	leased bool // it strikes only where a lease decides who owns the database
	most   int  // it strikes at a random pass from 1 to this
}

func ownerPoints() []ownerPoint {
	return []ownerPoint{
		{name: "own.taken", most: 1}, {name: "own.loaded", most: 1}, // the database is ours; the components have started
		{name: "own.renewed", leased: true, most: 2},
		{name: "hand.quiet", atEnd: true, most: 1}, // nothing is on its way to a provider
		{name: "hand.flushed", atEnd: true, most: 1}, {name: "hand.released", atEnd: true, most: 1},
	}
}

// TestOwner_MayBeKilledAtEveryBoundary kills the program at every boundary of an ownership of the database, under
// load: when it takes it, while it has it, and when it hands it over.
func TestOwner_MayBeKilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 6))
			r := newRig(t, database(t, store), from, true, newCalls(t, capacity), newSMS(t, capacity))
			r.feed()
			for range max(1, size().cell) {
				for _, at := range ownerPoints() {
					if at.leased && store == "sqlite" {
						continue
					}
					r.strike(at, 1+chance.IntN(at.most), chance)
				}
			}
			r.broker.start("")
			r.broker.up()
			r.settle("owner "+store, 0)
		})
	}
}

// strike lets the program end itself at a boundary. Before one at the end it runs for a while
// and is told to end.
func (r *rig) strike(at ownerPoint, pass int, chance *rand.Rand) {
	r.t.Helper()
	r.broker.kill()
	r.kills++
	r.broker.start(fmt.Sprintf("%s:%d", at.name, pass))
	if at.atEnd {
		r.broker.up()
		rest(nil, time.Duration(100+chance.IntN(300))*time.Millisecond)
		if err := r.broker.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.broker.died(size().strikeLimit); err != nil {
		r.t.Fatalf("failpoint %s after %d kills: %v", at.name, r.kills, err)
	}
	r.kills++
}
