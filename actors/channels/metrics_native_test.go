package channels

import (
	"testing"
	"time"

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

// A call that is still under way when its channel is deleted, and what the writer answers then,
// bring no series back.
func TestMetrics_DeletedChannelHasNoSeries(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	f := m.known("calls", "verboice")
	count := func() {
		f.called("status", "ok", time.Second)
		f.waited(time.Second)
	}
	series := func() (n int) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "channel" && l.GetValue() == "calls" {
						n++
					}
				}
			}
		}
		return n
	}
	count()
	if n := series(); n != 4 { // with those that begin at zero
		t.Errorf("a channel with a call has %d series, want 4", n)
	}
	m.forget("calls", f)
	count()
	if n := series(); n != 0 {
		t.Errorf("a deleted channel has %d series", n)
	}
}
