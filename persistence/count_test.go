package persistence_test

import (
	"testing"

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
			before := statements(t, registry)
			for range 3 {
				if _, err := s.LatestEvent(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := statements(t, registry) - before; before == 0 || got != 3 {
				t.Errorf("%v statements before, then %v for 3", before, got)
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
		claimAll(1) // what is known from now on need not be read
		without := claimAll(2)
		if err := s.WantContactEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		claimAll(3)
		with := claimAll(4)
		if list, err := s.EventsSince(t.Context(), 0, 1000); err != nil || len(list) != 80 {
			t.Errorf("%d events (%v)", len(list), err)
		}
		if with != without+2 {
			t.Errorf("%v statements without events, %v with them", without, with)
		}
	})
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
