package forward

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the figures of a forwarder.
type Metrics struct {
	results       *prometheus.CounterVec
	seconds, hold prometheus.Histogram
}

// NewMetrics registers the figures, at zero.
func NewMetrics(r prometheus.Registerer) *Metrics {
	with := promauto.With(r)
	m := &Metrics{
		results: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_forward_total", Help: "Requests that a standby was to pass on to the owner of the database, by result.",
		}, []string{"result"}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_forward_seconds", Help: "Duration of requests that were passed on, from their arrival to the end of the answer.", Buckets: []float64{.005, .025, .1, .5, 2.5, 10},
		}),
		hold: with.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_hold_seconds", Help: "How long requests waited for an owner of the database; those that did not wait are not counted.", Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	for _, result := range Results() {
		m.results.WithLabelValues(result)
	}
	return m
}

// Result is for [Options.Result].
func (m *Metrics) Result(outcome string, held, took time.Duration) {
	m.results.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
	if held > 0 {
		m.hold.Observe(held.Seconds())
	}
}
