package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"weir"
)

// Nearby refuses, while no token is needed, requests whose host is neither this
// machine, by a name that can be nobody else's, nor that of the public address.
// Else any site could let its own name point here, and its pages could do what
// everybody on this machine may. Requests below signed, a path whose handler
// admits only requests with a valid signature over Host, pass under any host: no
// page can make such a signature. An empty signed exempts nothing.
func Nearby(gate *Gate, publicURL, signed string, h http.Handler) http.Handler {
	public := ""
	if u, err := url.Parse(publicURL); err == nil {
		public = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exempt := signed != "" && strings.HasPrefix(path.Clean(r.URL.Path), signed)
		if gate.Open() && !exempt && !near(r.Host, public) {
			writeProblem(w, weir.Errorf(weir.CodeForbidden,
				"while there is no token Weir answers under localhost and under the host of PUBLIC_URL only: else any site could let its own name point here"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// near tells whether the host of a request is this machine's, or the public one.
// Programs that give none are no browsers.
func near(host, public string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if host == "" || name == "localhost" || public != "" && strings.EqualFold(name, public) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}
