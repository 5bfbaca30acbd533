package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/web/auth"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// goodRequestID matches a request id that is accepted from a client or a proxy.
var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// outermost gives every request an id, measures and logs it, and turns a panic
// into a 500.
func (s *service) outermost(next http.Handler) http.Handler {
	// Shared by all responses: never modify them.
	noSniffing, stayWithTLS := []string{"nosniff"}, []string{"max-age=31536000"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := s.Now()
		id := r.Header.Get(route.RequestID)
		if id == "" || !goodRequestID.MatchString(id) {
			id = rand.Text()
		}
		rec := &route.Recorder{ResponseWriter: w}
		header := rec.Header()
		header[route.RequestID] = []string{id}
		header["X-Content-Type-Options"] = noSniffing
		if s.HSTS {
			header["Strict-Transport-Security"] = stayWithTLS
		}
		defer func() {
			v := recover()
			cause, _ := v.(error)
			aborted := errors.Is(cause, http.ErrAbortHandler)
			if v != nil && !aborted {
				s.crashed(rec, r, id, v)
			}
			route := routeOf(r)
			took := s.Now().Sub(begin)
			s.Metrics.request(route, r.Method, rec.Status, took)
			s.log(rec, r, route, id, took)
			s.refused(rec, r, route)
			s.audit(rec, r, id, begin)
			if aborted {
				panic(v)
			}
		}()
		next.ServeHTTP(rec, r)
		if rec.Status == 0 {
			rec.WriteHeader(http.StatusOK)
		}
	})
}

// routeOf returns the pattern of the route that matched a request. The path
// itself is never used: it may hold a secret.
func routeOf(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		return routeOther
	}
	return path
}

func (s *service) crashed(rec *route.Recorder, r *http.Request, id string, v any) {
	s.Logger.ErrorContext(r.Context(), "panic in a handler", "route", routeOf(r), "method", r.Method,
		"request", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if rec.Status != 0 {
		return // the client sees a truncated response
	}
	rec.Matched = true
	httpjson.WriteProblem(rec, weir.Errorf(weir.CodeInternal, "panic"))
}

// refused logs a request that was rejected, or that could not be served for
// now.
func (s *service) refused(rec *route.Recorder, r *http.Request, route string) {
	if rec.Status < http.StatusBadRequest || rec.Status == http.StatusUnauthorized && auth.IsVisitor(r.Context()) {
		return
	}
	kind := refusal(rec.Status)
	if rec.Status == http.StatusServiceUnavailable && rec.Err != nil {
		if kind = weir.CodeOf(rec.Err); kind == weir.CodeInternal {
			kind = weir.CodeUnavailable
		}
	}
	if kind != "" {
		args := []any{"route", route, "status", rec.Status, "address", auth.ClientAddress(r).String(), "error", rec.Err}
		for _, part := range namesOfPath() {
			if name := nameOf(r, part); name != "" {
				args = append(args, part, name)
			}
		}
		s.Refusals.note(string(kind), args...)
	}
}

// log writes one line for a request: no path, no query, no body. For 503s one
// line per second is enough; see [service.refused].
func (s *service) log(rec *route.Recorder, r *http.Request, route, id string, took time.Duration) {
	if probe(route) {
		return
	}
	level := slog.LevelDebug
	if rec.Status >= http.StatusInternalServerError && rec.Status != http.StatusServiceUnavailable || rec.Audited() {
		level = slog.LevelInfo
	}
	if !s.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("route", route), slog.String("method", r.Method), slog.Int("status", rec.Status)}
	for _, part := range namesOfPath() {
		if name := nameOf(r, part); name != "" {
			attrs = append(attrs, slog.String(part, name))
		}
	}
	attrs = append(attrs, slog.String("request", id), slog.Duration("took", took))
	if rec.Token != "" {
		attrs = append(attrs, slog.String("token", rec.Token))
	}
	if rec.Status >= http.StatusInternalServerError && rec.Err != nil {
		attrs = append(attrs, slog.Any("error", rec.Err))
	}
	s.Logger.LogAttrs(r.Context(), level, "http request", attrs...)
}

// plainName matches names that cannot be one of our secrets: names and ids of
// channels, surveys, contacts and respondents.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// namesOfPath lists the parts of a path that name what a request is about.
func namesOfPath() []string { return []string{"channel", "survey"} }

// nameOf returns a part of a request's path, masked; empty if it may be a secret.
func nameOf(r *http.Request, part string) string {
	if name := r.PathValue(part); plainName.MatchString(name) {
		return auth.MaskValue(name)
	}
	return ""
}

// subject returns what a request is about, from the names in its path.
func subject(r *http.Request) string {
	var names []string
	for _, part := range append(namesOfPath(), "id") {
		if name := nameOf(r, part); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, "/")
}

// audit adds a request to the audit log if it belongs there.
func (s *service) audit(rec *route.Recorder, r *http.Request, id string, at time.Time) {
	if rec.Audited() {
		s.Trail.Add(operators.AuditEntry{At: at, Token: rec.Token, Action: rec.Route.ID, Subject: subject(r), Status: rec.Status, Request: id, Changes: rec.Changes})
	}
}

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
	for _, code := range refusals() {
		m.refusals.WithLabelValues(string(code))
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
	if code := refusal(status); code != "" {
		m.refusals.WithLabelValues(string(code)).Inc()
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

// refusals lists the codes of requests that are refused because of who sends them.
func refusals() []weir.Code {
	return []weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited}
}

// refusal returns the code of a status that refuses a request; empty for others.
func refusal(status int) weir.Code {
	for _, code := range refusals() {
		if httpjson.StatusOf(code) == status {
			return code
		}
	}
	return ""
}
