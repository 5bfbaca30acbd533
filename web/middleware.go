package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"weir"
	"weir/ops"
)

// requestID is the header that identifies a request, in the response and in the
// log.
const requestID = "X-Request-Id"

// goodRequestID matches a request id that is accepted from a client or a proxy.
var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// recorder records what the log, the metrics and the audit log need of a
// response.
type recorder struct {
	http.ResponseWriter
	status  int
	matched bool              // a route took the request
	muted   bool              // the mux's own response was replaced by a problem
	err     error             // for the log
	who     string            // id of the token; empty: none was valid, or none was needed
	route   *route            // of the JSON API; nil: another route
	tried   bool              // a dry run
	changes []ops.FieldChange // for the audit log
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader replaces the mux's own responses (404, 405, a redirect to a
// cleaned path) with a problem.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if w.matched {
		w.status = status
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.matched = true
	w.Header().Del("Location")
	if status == http.StatusMethodNotAllowed {
		writeProblem(w, weir.Errorf(weir.CodeMethod, "this path takes %s", w.Header().Get("Allow")))
	} else {
		writeProblem(w, weir.Errorf(weir.CodeNotFound, "there is nothing here"))
	}
	w.muted = true
}

// Write writes the body, unless it is the mux's own.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.muted {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// matched records that a route matched the request.
func matched(w http.ResponseWriter) {
	if rec, ok := w.(*recorder); ok {
		rec.matched = true
	}
}

// note records an error for the log.
func note(w http.ResponseWriter, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
}

// admit identifies the sender of a request, for the log too, and rejects a
// sender with none of the scopes.
func (s *service) admit(w http.ResponseWriter, r *http.Request, oneOf []ops.Scope) (*visitor, error) {
	who, err := s.Gate.enter(r)
	if err != nil {
		return nil, err
	}
	if rec, ok := w.(*recorder); ok {
		rec.who = who.id()
	}
	return who, who.may(oneOf)
}

// outermost gives every request an id, measures and logs it, and turns a panic
// into a 500.
func (s *service) outermost(next http.Handler) http.Handler {
	// Shared by all responses: never modify them.
	noSniffing, stayWithTLS := []string{"nosniff"}, []string{"max-age=31536000"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := s.Now()
		id := r.Header.Get(requestID)
		if id == "" || !goodRequestID.MatchString(id) {
			id = rand.Text()
		}
		rec := &recorder{ResponseWriter: w}
		header := rec.Header()
		header[requestID] = []string{id}
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
			s.Metrics.request(route, r.Method, rec.status, took)
			s.log(rec, r, route, id, took)
			s.refused(rec, r, route)
			s.remember(rec, r, id, begin)
			if aborted {
				panic(v)
			}
		}()
		next.ServeHTTP(rec, r)
		if rec.status == 0 {
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

func (s *service) crashed(rec *recorder, r *http.Request, id string, v any) {
	s.Logger.ErrorContext(r.Context(), "panic in a handler", "route", routeOf(r), "method", r.Method,
		"request", id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if rec.status != 0 {
		return // the client sees a truncated response
	}
	rec.matched = true
	writeProblem(rec, weir.Errorf(weir.CodeInternal, "panic"))
}

// refused logs a request that was rejected, or that could not be served for
// now.
func (s *service) refused(rec *recorder, r *http.Request, route string) {
	if rec.status < http.StatusBadRequest {
		return
	}
	kind := reasons()[rec.status]
	if rec.status == http.StatusServiceUnavailable && rec.err != nil {
		if kind = weir.CodeOf(rec.err); kind == weir.CodeInternal {
			kind = weir.CodeUnavailable
		}
	}
	if kind != "" {
		s.Refusals.note(string(kind), "route", route, "status", rec.status, "address", addressOf(r).String(), "error", rec.err)
	}
}

// log writes one line for a request: no path, no query, no body. For 503s one
// line per second is enough; see [service.refused].
func (s *service) log(rec *recorder, r *http.Request, route, id string, took time.Duration) {
	switch route {
	case "/livez", "/readyz", "/readyz/router", "/metrics":
		return
	}
	level := slog.LevelDebug
	if rec.status >= http.StatusInternalServerError && rec.status != http.StatusServiceUnavailable || rec.audited() {
		level = slog.LevelInfo
	}
	if !s.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("route", route), slog.String("method", r.Method), slog.Int("status", rec.status),
		slog.String("request", id), slog.Duration("took", took),
	}
	if rec.who != "" {
		attrs = append(attrs, slog.String("token", rec.who))
	}
	if rec.status >= http.StatusInternalServerError && rec.err != nil {
		attrs = append(attrs, slog.Any("error", rec.err))
	}
	s.Logger.LogAttrs(r.Context(), level, "http request", attrs...)
}
