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
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
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
			s.remember(rec, r, id, begin)
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
	wire.WriteProblem(rec, weir.Errorf(weir.CodeInternal, "panic"))
}

// refused logs a request that was rejected, or that could not be served for
// now.
func (s *service) refused(rec *route.Recorder, r *http.Request, route string) {
	if rec.Status < http.StatusBadRequest {
		return
	}
	kind := reasons()[rec.Status]
	if rec.Status == http.StatusServiceUnavailable && rec.Err != nil {
		if kind = weir.CodeOf(rec.Err); kind == weir.CodeInternal {
			kind = weir.CodeUnavailable
		}
	}
	if kind != "" {
		s.Refusals.note(string(kind), "route", route, "status", rec.Status, "address", auth.ClientAddress(r).String(), "error", rec.Err)
	}
}

// log writes one line for a request: no path, no query, no body. For 503s one
// line per second is enough; see [service.refused].
func (s *service) log(rec *route.Recorder, r *http.Request, route, id string, took time.Duration) {
	switch route {
	case "/livez", "/readyz", "/readyz/router", "/metrics":
		return
	}
	level := slog.LevelDebug
	if rec.Status >= http.StatusInternalServerError && rec.Status != http.StatusServiceUnavailable || rec.Audited() {
		level = slog.LevelInfo
	}
	if !s.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("route", route), slog.String("method", r.Method), slog.Int("status", rec.Status),
		slog.String("request", id), slog.Duration("took", took),
	}
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

// subject returns what a request is about, from the names in its path.
func subject(r *http.Request) string {
	var names []string
	for _, part := range []string{"channel", "survey", "id"} {
		if name := r.PathValue(part); plainName.MatchString(name) {
			names = append(names, auth.MaskValue(name))
		}
	}
	return strings.Join(names, "/")
}

// remember adds a request to the audit log if it belongs there.
func (s *service) remember(rec *route.Recorder, r *http.Request, id string, at time.Time) {
	if s.Trail != nil && rec.Audited() {
		s.Trail.Add(ops.AuditEntry{At: at, Token: rec.Token, Action: rec.Route.ID, Subject: subject(r), Status: rec.Status, Request: id, Changes: rec.Changes})
	}
}
