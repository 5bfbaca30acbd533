package web

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/channels"
)

// Metrics are the metrics of package web.
type Metrics struct {
	callbacks *prometheus.CounterVec
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	incoming  *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	series    sync.Map // cache: of requests by requestKey, of callbacks by callbackKey
}

// requestKey holds the labels of requests. There are few: routes are fixed, and
// unknown methods share one label.
type requestKey struct {
	route, method string
	class         int // of the status
}

type requestSeries struct {
	count   prometheus.Counter
	seconds prometheus.Observer
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	with := promauto.With(reg)
	return &Metrics{
		callbacks: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_callbacks_total",
			Help: "Callbacks of providers by what came of them; one that carries several reports counts once for each.",
		}, []string{"type", "result"}),
		requests: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_requests_total",
			Help: "HTTP requests by route and class of status.",
		}, []string{"route", "method", "status"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "weir_http_request_duration_seconds",
			Help:                        "Time from a request's head to the end of the answer.",
			Buckets:                     []float64{.005, .025, .1, .5, 2.5},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"}),
		refusals: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_refusals_total",
			Help: "Requests that were not let in: without a good token, without the scope, or sooner than a limit allows.",
		}, []string{"reason"}),
		incoming: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_incoming_messages_total",
			Help: "Messages that people sent, without repeated ones.",
		}, []string{"channel"}),
	}
}

// routeOther and methodOther stand for unknown routes and methods, so that
// strangers cannot create series.
const (
	routeOther  = "other"
	methodOther = "other"
)

// prepare creates at 0 the series whose first increase may trigger an alert.
// The others are created on first use.
func (m *Metrics) prepare(types []channels.Type, routes []*route) {
	for _, result := range []string{resultUnauthorised, resultUnavailable} {
		m.callbacks.WithLabelValues(typeNone, result)
	}
	for status := range reasons() {
		m.refused(status)
	}
	for i := range types {
		for _, result := range callbackResults() {
			m.callbacks.WithLabelValues(types[i].Name, result)
		}
	}
	for _, rt := range routes {
		m.requests.WithLabelValues(rt.path, rt.method, "5xx")
	}
}

// callbackKey holds the labels of callbacks. Types and results are fixed sets.
type callbackKey struct{ typ, result string }

func (m *Metrics) callback(typ, result string) {
	key := callbackKey{typ, result}
	c, ok := m.series.Load(key)
	if !ok {
		c, _ = m.series.LoadOrStore(key, m.callbacks.WithLabelValues(typ, result))
	}
	c.(prometheus.Counter).Inc() //nolint:forcetypeassert // nothing else is under such a key
}

// forget deletes the series of a deleted channel.
func (m *Metrics) forget(channel string) { m.incoming.DeleteLabelValues(channel) }

func (m *Metrics) request(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead:
	default:
		method = methodOther
	}
	s := m.of(requestKey{route, method, status / 100})
	s.count.Inc()
	s.seconds.Observe(took.Seconds())
	if c := m.refused(status); c != nil {
		c.Inc()
	}
}

func (m *Metrics) of(key requestKey) *requestSeries {
	if s, ok := m.series.Load(key); ok {
		return s.(*requestSeries)
	}
	s, _ := m.series.LoadOrStore(key, &requestSeries{
		m.requests.WithLabelValues(key.route, key.method, strconv.Itoa(key.class)+"xx"), m.seconds.WithLabelValues(key.route),
	})
	return s.(*requestSeries)
}

// reasons maps statuses that refuse a request to label values.
func reasons() map[int]weir.Code {
	return map[int]weir.Code{
		http.StatusUnauthorized: weir.CodeUnauthorised, http.StatusForbidden: weir.CodeForbidden, http.StatusTooManyRequests: weir.CodeLimited,
	}
}

// refused returns the counter of a status that refuses a request; nil for
// others.
func (m *Metrics) refused(status int) prometheus.Counter {
	if status < http.StatusBadRequest {
		return nil
	}
	if reason, ok := reasons()[status]; ok {
		return m.refusals.WithLabelValues(string(reason))
	}
	return nil
}
