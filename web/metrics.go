package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir/channels"
)

// Metrics are the measurements of package web.
type Metrics struct {
	callbacks *prometheus.CounterVec
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	incoming  *prometheus.CounterVec
}

// NewMetrics registers them.
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
			Buckets:                     []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"route"}),
		incoming: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_incoming_messages_total",
			Help: "Messages that people sent, without repeated ones.",
		}, []string{"channel"}),
	}
}

// routeOther and methodOther stand for whatever is no route of ours, so that
// strangers cannot make series.
const (
	routeOther  = "other"
	methodOther = "other"
)

// prepare makes the series whose labels are known, so that they begin at 0.
func (m *Metrics) prepare(types []channels.Type, routes []*route) {
	for _, result := range []string{resultUnauthorised, resultUnavailable} {
		m.callbacks.WithLabelValues(typeNone, result)
	}
	for i := range types {
		for _, result := range callbackResults() {
			m.callbacks.WithLabelValues(types[i].Name, result)
		}
	}
	for _, rt := range routes {
		m.seconds.WithLabelValues(rt.path)
		for _, class := range []string{"2xx", "4xx", "5xx"} {
			m.requests.WithLabelValues(rt.path, rt.method, class)
		}
	}
}

func (m *Metrics) callback(typ, result string) { m.callbacks.WithLabelValues(typ, result).Inc() }

// forget drops the series of a channel that is gone.
func (m *Metrics) forget(channel string) { m.incoming.DeleteLabelValues(channel) }

func (m *Metrics) request(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead:
	default:
		method = methodOther
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status/100)+"xx").Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
