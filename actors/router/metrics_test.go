package router_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"weir/actors/router"
	"weir/persistence"
	"weir/persistence/storetest"
	routing "weir/router"
)

func TestMetrics_ShowWhatTheRouterHolds(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r := start(t, storetest.SQLite(t), func(o *router.Options) { o.Metrics = router.NewMetrics(registry) })
	r.furnish(2)
	for _, id := range []string{"a", "b", "c"} {
		r.do(routing.PutJob{ID: id, Spec: job()})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
	want := map[string]float64{
		"weir_router_jobs": 3, "weir_router_workers": 2, "weir_router_offers_out": 2, "weir_router_serving": 1,
		"weir_router_matches_total": 2, "weir_router_pending_events": 0, "weir_router_panics_total": 0,
	}
	for name, value := range want {
		i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
		if i < 0 {
			t.Errorf("there is no %s", name)
			continue
		}
		m := families[i].GetMetric()[0]
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != value {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
}

// Offers that expire are counted separately from offers that are made.
func TestMetrics_ExpiredOffersAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		kinds, tell := watch()
		r := start(t, storetest.Open(t, "sqlite://:memory:", persistence.Options{}), func(o *router.Options) {
			o.Metrics, o.Watch = router.NewMetrics(registry), tell
		})
		r.furnish(1)
		r.do(routing.PutJob{ID: "a", Spec: job()})
		within(t, kinds, "RouterWorkerOfferExpired", 2*time.Hour)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range families {
			if f.GetName() == "weir_router_offers_expired_total" {
				n = int(f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		if n != 1 {
			t.Errorf("%d offers have expired, want 1", n)
		}
	})
}
