package persistence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// Every statement counts once, whichever way it takes through the driver.
func TestStatements_EachCountsOnce(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": "sqlite://:memory:", "mysql": testmysql.URL(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			s := storetest.OpenOnly(t, url, persistence.Options{Metrics: persistence.NewMetrics(registry)})
			if err := s.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := statements(t, registry); n == 0 {
				t.Error("the migration is not counted")
			}
			got := fewest(func() float64 {
				before := statements(t, registry)
				for range 3 {
					if _, err := s.LatestEvent(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				return statements(t, registry) - before
			})
			if got != 3 {
				t.Errorf("%v statements are counted for 3", got)
			}
		})
	}
}

// Events of contacts take two statements for a batch, however many contacts it changes, and
// none before they are enabled.
func TestStatements_ContactEventsCostTwoStatements(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		registry := prometheus.NewRegistry()
		s := storetest.Open(t, url, persistence.Options{Metrics: persistence.NewMetrics(registry)})
		id, lease := storetest.OpenChannel(t, s, "a")
		claimAll := func(n int) float64 {
			t.Helper()
			list, err := s.Accept(t.Context(), id, storetest.ContactSpecs(n, 40))
			if err != nil {
				t.Fatal(err)
			}
			var steps []weir.Transition
			for i := range list {
				steps = append(steps, storetest.Advance(list[i].Contact))
			}
			before := statements(t, registry)
			if r := <-storetest.Commit(s, lease, steps...); r.Err != nil || len(r.Stale) > 0 {
				t.Fatalf("%+v", r)
			}
			return statements(t, registry) - before
		}
		number := 0
		next := func() float64 { number++; return claimAll(number) }
		next() // what is known from now on need not be read
		without := fewest(next)
		if err := s.WantContactEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		next()
		with := fewest(next)
		if list, err := s.EventsSince(t.Context(), 0, 1000); err != nil || len(list) != (1+tries)*40 {
			t.Errorf("%d events (%v)", len(list), err)
		}
		if with != without+2 {
			t.Errorf("%v statements without events, %v with them", without, with)
		}
	})
}

// A batch takes one statement for all that it owes the writer: the fence, the guard of its
// claims, what is in flight, and that it was committed.
func TestStatements_OfABatch(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		registry := prometheus.NewRegistry()
		s := storetest.Open(t, url, persistence.Options{Metrics: persistence.NewMetrics(registry)})
		id, lease := storetest.OpenChannel(t, s, "a")
		counted := func(do func()) float64 {
			before := statements(t, registry)
			do()
			return statements(t, registry) - before
		}
		took, key := map[string]float64{}, 0
		batch := func(name string, do func()) {
			if n := counted(do); took[name] == 0 || n < took[name] {
				took[name] = n
			}
		}
		for range tries { // the first has to read the channel
			var list []weir.Contact
			batch("accepted, and queued", func() {
				key++
				got, err := s.Accept(t.Context(), id, storetest.ContactSpecs(key, 30))
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					list = append(list, got[i].Contact)
				}
			})
			for _, step := range []struct {
				name string
				next func(weir.Progress) (weir.Progress, error)
			}{
				{"claimed", func(p weir.Progress) (weir.Progress, error) { return p.Claim(time.Now()) }},
				{"accepted by the provider", func(p weir.Progress) (weir.Progress, error) { return p.Accept(time.Now(), "ref") }},
				{"done", func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Completed, "") }},
			} {
				var moves []weir.Transition
				for i := range list {
					p, err := step.next(list[i].Progress)
					if err != nil {
						t.Fatal(err)
					}
					tr := weir.Transition{Contact: list[i], From: list[i].Rev, Was: list[i].State}
					tr.Contact.Progress = p
					moves, list[i] = append(moves, tr), tr.Contact
				}
				batch(step.name, func() {
					if r := <-storetest.Commit(s, lease, moves...); r.Err != nil || len(r.Stale) > 0 {
						t.Fatalf("%+v", r)
					}
				})
			}
		}
		// contacts, contacts_queued or contacts_done, and the row of the batch
		want := map[string]float64{"accepted, and queued": 3, "claimed": 2, "accepted by the provider": 1, "done": 2}
		if d := cmp.Diff(want, took); d != "" {
			t.Errorf("statements (-want +got):\n%s", d)
		}
	})
}

const tries = 5

// fewest repeats an action and returns the fewest statements that it took: the lease of the
// database and its clock take theirs beside it, seconds apart.
func fewest(action func() float64) float64 {
	least := action()
	for range tries - 1 {
		least = min(least, action())
	}
	return least
}

func statements(t *testing.T, g prometheus.Gatherer) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "weir_db_statements_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("there is no such figure")
	return 0
}
