package web

import (
	"net/http"
	"strings"
)

// Under serves a handler under a prefix of the path, for proxies that pass paths
// on as they are. Without the prefix it answers too: to proxies that take it
// away, and to probes that come past them.
func Under(prefix string, h http.Handler) http.Handler {
	if prefix == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, prefix)
		if ok && rest == "" {
			http.Redirect(w, r, prefix+"/", http.StatusPermanentRedirect)
			return
		}
		if !ok || rest[0] != '/' {
			h.ServeHTTP(w, r)
			return
		}
		within, u := *r, *r.URL
		u.Path, u.RawPath = rest, strings.TrimPrefix(u.RawPath, prefix)
		within.URL = &u
		h.ServeHTTP(&under{w, prefix}, &within)
	})
}

// under is an answer to a client that sees the prefix.
type under struct {
	http.ResponseWriter
	prefix string
}

// Unwrap lets http.ResponseController through.
func (u *under) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// WriteHeader mends the place of what was made.
func (u *under) WriteHeader(status int) {
	if to := u.Header().Get("Location"); strings.HasPrefix(to, "/v1/") {
		u.Header().Set("Location", u.prefix+to)
	}
	u.ResponseWriter.WriteHeader(status)
}
