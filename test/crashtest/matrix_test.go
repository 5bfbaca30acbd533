package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const capacity = 8

// point is a durable boundary at which the program ends itself.
type point struct {
	name    string
	most    int   // it strikes at a random pass from 1 to this
	backlog int64 // of the load
}

// points returns all boundaries. All of them strike with both providers: Nuntium's
// driver is asked to cancel contacts, too, although it can only answer that it
// cannot.
func points() []point {
	return []point{
		{"accept.claiming", 3, noBacklog}, {"accept.claimed", 3, noBacklog}, // a batch is stored, some of it claimed
		{"accept.before", 8, backlog}, {"accept.committed", 8, backlog}, // a batch is stored
		{"claim.before", 12, backlog}, {"claim.committed", 12, backlog}, // contacts are claimed
		{"send.before", 20, backlog}, {"send.answered", 20, backlog}, // the provider is called; it has accepted
		{"ref.before", 20, backlog}, {"ref.committed", 20, backlog}, // the provider's id of it is stored
		{"report.before", 20, backlog}, {"report.committed", 20, backlog}, // a callback is stored
		{"cancel.before", 4, backlog}, {"cancel.committed", 4, backlog}, // a client's cancellation is stored
		{"take.before", 4, backlog}, {"take.answered", 4, backlog}, // the provider is asked to cancel it
		{"ask.answered", 4, backlog}, // the reconciler has its answer
	}
}

// places returns the providers and stores of the matrix.
func places() []place {
	var all []place
	for _, provider := range []string{"verboice", "nuntium"} {
		for _, store := range []string{"sqlite", "mariadb"} {
			all = append(all, place{provider, store})
		}
	}
	return all
}

type place struct{ provider, store string }

func (p place) String() string { return p.provider + "/" + p.store }

func (p place) outside(t *testing.T) *outside {
	t.Helper()
	if p.provider == "nuntium" {
		return newSMS(t, capacity)
	}
	return newCalls(t, capacity)
}

// database creates an empty database and returns its URL.
func database(t *testing.T, store string) string {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
	if store == "mariadb" {
		url = testmysql.URL(t)
	}
	storetest.Migrate(t, url)
	return url
}

// TestCrash_LosesNothingAtAnyDurableBoundary kills the program at every durable boundary, with both
// providers and both stores.
func TestCrash_LosesNothingAtAnyDurableBoundary(t *testing.T) {
	t.Parallel()
	for _, p := range places() {
		if size().cell == 0 {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				cell(t, p, points(), 1)
			})
			continue
		}
		for _, at := range points() {
			t.Run(p.String()+"/"+at.name, func(t *testing.T) {
				t.Parallel()
				cell(t, p, []point{at}, size().cell)
			})
		}
	}
}

// cell lets each of the points strike the given number of times, restarting the
// program at once each time, and then lets it finish.
func cell(t *testing.T, p place, at []point, times int) {
	t.Helper()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 2))
	r := newRig(t, database(t, p.store), from, true, p.outside(t))
	r.broker.kill()
	r.kills++
	r.feed()
	what := at[0].name
	if len(at) > 1 {
		what = "all points"
		chance.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	}
	for range times {
		for _, one := range at {
			r.loads[0].backlog.Store(one.backlog)
			failpoint := fmt.Sprintf("%s:%d", one.name, 1+chance.IntN(one.most))
			r.broker.start(failpoint)
			if err := r.broker.died(size().strikeLimit); err != nil {
				t.Fatalf("failpoint %s after %d kills: %v", failpoint, r.kills, err)
			}
			r.kills++
		}
	}
	r.broker.start("")
	r.broker.up()
	r.settle(what+" "+p.String(), 0)
}
