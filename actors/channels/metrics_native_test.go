package channels

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics_TimesOfContactsAreNativeHistograms(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.wait.WithLabelValues("calls").Observe(1)
	m.active.WithLabelValues("calls").Observe(60)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	native := map[string]bool{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			if h := series.GetHistogram(); h != nil && h.Schema != nil && len(h.GetBucket()) == 0 {
				native[f.GetName()] = true
			}
		}
	}
	if !native["weir_contact_wait_seconds"] || !native["weir_contact_active_seconds"] {
		t.Errorf("native histograms without fixed buckets: %v", native)
	}
}
