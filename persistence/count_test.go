package persistence_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// Every statement counts once, whichever way it takes through the driver.
func TestStatementsAreCounted(t *testing.T) {
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
