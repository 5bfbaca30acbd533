package events

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
	webhooks   *prometheus.GaugeVec
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
		webhooks: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "weir_webhooks", Help: "Webhooks by state, in the process that delivers events.",
		}, []string{"state"}),
	}
}

// meter reports how the deliveries to a receiver go.
type meter interface {
	count(result string, n int)
	gauge(oldest float64, deferred int)
	// reset resets the gauges of a receiver to which this process no longer delivers.
	reset()
}

// receiverMeter is the meter of a receiver that has its own series.
type receiverMeter struct {
	m        *Metrics
	receiver string
}

// prepare shows a receiver's metrics at zero.
func (m receiverMeter) prepare() {
	for _, result := range []string{resultDelivered, resultFailed, resultDead, resultLost} {
		m.count(result, 0)
	}
	m.reset()
}

func (m receiverMeter) count(result string, n int) {
	m.m.deliveries.WithLabelValues(m.receiver, result).Add(float64(n))
}

func (m receiverMeter) gauge(oldest float64, deferred int) {
	m.m.oldest.WithLabelValues(m.receiver).Set(oldest)
	m.m.deferred.WithLabelValues(m.receiver).Set(float64(deferred))
}

func (m receiverMeter) reset() { m.gauge(0, 0) }
