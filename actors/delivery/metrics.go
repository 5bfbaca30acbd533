package delivery

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The results of a delivery.
const (
	resultDelivered = "delivered"
	resultFailed    = "failed" // will be retried
	resultDead      = "dead"   // given up
	resultLost      = "lost"   // purged before it was read
)

// Metrics holds the metrics of delivery.
type Metrics struct {
	deliveries *prometheus.CounterVec
	oldest     *prometheus.GaugeVec
	deferred   *prometheus.GaugeVec
}

// NewMetrics registers the metrics with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	return &Metrics{
		deliveries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_event_deliveries_total", Help: "Attempts to deliver an event, by receiver and result.",
		}, []string{"receiver", "result"}),
		oldest: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "weir_event_oldest_undelivered_seconds", Help: "Age of the oldest undelivered event of a receiver; 0 if there is none.",
		}, []string{"receiver"}),
		deferred: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "weir_event_deliveries_aside", Help: "Events deferred because they, or an event ahead of them, failed.",
		}, []string{"receiver"}),
	}
}

// prepare shows a receiver's metrics at zero.
func (m *Metrics) prepare(receiver string) {
	for _, result := range []string{resultDelivered, resultFailed, resultDead, resultLost} {
		m.deliveries.WithLabelValues(receiver, result)
	}
	m.oldest.WithLabelValues(receiver)
	m.deferred.WithLabelValues(receiver)
}

// reset resets the gauges of a receiver to which this process no longer delivers:
// another process reports them.
func (m *Metrics) reset(receiver string) {
	m.oldest.WithLabelValues(receiver).Set(0)
	m.deferred.WithLabelValues(receiver).Set(0)
}
