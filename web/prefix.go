package web

import (
	"net/http"
	"strings"
)

// Under serves a handler under a path prefix, for proxies that pass paths
// unchanged. It also answers without the prefix: to proxies that strip it, and
// to probes that bypass the proxy.
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

// under is a response to a client that sees the prefix.
type under struct {
	http.ResponseWriter
	prefix string
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (u *under) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// WriteHeader adds the prefix to the Location of a created resource.
func (u *under) WriteHeader(status int) {
	if to := u.Header().Get("Location"); strings.HasPrefix(to, "/v1/") {
		u.Header().Set("Location", u.prefix+to)
	}
	u.ResponseWriter.WriteHeader(status)
}
