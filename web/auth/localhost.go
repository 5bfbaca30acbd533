package auth

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"weir"
	"weir/web/wire"
)

// LocalOnly rejects, while no token is needed, requests whose Host is neither this
// machine, under a name that only this machine can have, nor the host of the
// public URL. Otherwise any site could point its own name here (DNS rebinding),
// and its pages would have the rights of everyone on this machine. Requests
// below signed, a path whose handler admits only requests with a valid
// signature over Host, pass under any host: no web page can produce such a
// signature. An empty signed exempts nothing.
func LocalOnly(gate *Gate, publicURL, signed string, h http.Handler) http.Handler {
	public := ""
	if u, err := url.Parse(publicURL); err == nil {
		public = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exempt := signed != "" && strings.HasPrefix(path.Clean(r.URL.Path), signed)
		if gate.Open() && !exempt && !local(r.Host, public) {
			wire.WriteProblem(w, weir.Errorf(weir.CodeForbidden,
				"while there is no token Weir answers under localhost and under the host of PUBLIC_URL only: else any site could let its own name point here"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// local reports whether the host of a request is this machine or the public one.
// A request without a host does not come from a browser.
func local(host, public string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if host == "" || name == "localhost" || public != "" && strings.EqualFold(name, public) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}
