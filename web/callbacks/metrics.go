package callbacks

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/channels"
)

// Metrics are the metrics of callbacks.
type Metrics struct {
	callbacks *prometheus.CounterVec
	incoming  *prometheus.CounterVec
	series    sync.Map // cache of callbacks: counters by callbackKey
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	with := promauto.With(reg)
	return &Metrics{
		callbacks: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_callbacks_total",
			Help: "Callbacks of providers by result; a callback with several reports counts once for each.",
		}, []string{"type", "result"}),
		incoming: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_incoming_messages_total",
			Help: "Incoming messages, without duplicates.",
		}, []string{"channel"}),
	}
}

// Prepare creates at 0 the series whose first increase may trigger an alert.
// The others are created on first use.
func (m *Metrics) Prepare(types []channels.Type) {
	for _, result := range []string{resultUnauthorised, resultUnavailable} {
		m.callbacks.WithLabelValues(typeNone, result)
	}
	for i := range types {
		for _, result := range results() {
			m.callbacks.WithLabelValues(types[i].Name, result)
		}
	}
}

// callbackKey holds the labels of callbacks. Types and results are fixed sets.
type callbackKey struct{ typ, result string }

func (m *Metrics) count(typ, result string) {
	key := callbackKey{typ, result}
	c, ok := m.series.Load(key)
	if !ok {
		c, _ = m.series.LoadOrStore(key, m.callbacks.WithLabelValues(typ, result))
	}
	c.(prometheus.Counter).Inc() //nolint:forcetypeassert // nothing else is stored
}

// Forget deletes the series of a deleted channel.
func (m *Metrics) Forget(channel string) { m.incoming.DeleteLabelValues(channel) }

// Results of a callback, besides the verdicts on its reports.
const (
	resultUnauthorised = "unauthorised" // wrong secret or no such channel
	resultInvalid      = "invalid"      // not a valid request of this provider
	resultForged       = "forged"       // right secret, wrong signature
	resultDeleted      = "deleted"      // right secret of a deleted channel
	resultUnavailable  = "unavailable"  // the provider must retry
	resultIgnored      = "ignored"      // nothing in it concerns Weir
)

func results() []string {
	return []string{
		string(weir.Applied), string(weir.Duplicate), string(weir.Late), string(weir.UnknownAttempt), string(weir.Forwarded),
		resultUnauthorised, resultInvalid, resultForged, resultDeleted, resultUnavailable, resultIgnored,
	}
}

// typeNone is the type label of callbacks without a known channel.
const typeNone = "none"
