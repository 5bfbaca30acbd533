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
	"weir/web/callbacks"
	"weir/web/route"
)

// Metrics are the metrics of package web.
type Metrics struct {
	Callbacks *callbacks.Metrics
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	refusals  *prometheus.CounterVec
	series    sync.Map // cache of requests: *requestSeries by requestKey
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
		Callbacks: callbacks.NewMetrics(reg),
		requests: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_requests_total",
			Help: "HTTP requests by route and class of status.",
		}, []string{"route", "method", "status"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "weir_http_request_duration_seconds",
			Help:                        "Duration of HTTP requests, from the request header to the end of the response.",
			Buckets:                     []float64{.005, .025, .1, .5, 2.5},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"}),
		refusals: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_http_refusals_total",
			Help: "Requests rejected for a missing or invalid token, a missing scope, or a rate limit.",
		}, []string{"reason"}),
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
func (m *Metrics) prepare(types []channels.Type, routes []*route.Route) {
	m.Callbacks.Prepare(types)
	for status := range reasons() {
		m.refused(status)
	}
	for _, rt := range routes {
		m.requests.WithLabelValues(rt.Path, rt.Method, "5xx")
	}
}

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
