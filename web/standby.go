package web

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/api"
	"weir/operators"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// OwnerPath is the readiness probe that only the owner of the database passes.
const OwnerPath = "/readyz/owner"

// StandbyOptions configure the handler of a process that does not own the database.
type StandbyOptions struct {
	Pass     http.Handler    // passes a request on to the owner
	Reasons  func() []string // why no requests should come here; nil: they should
	Database func() string   // the database server in use
	Gate     *auth.Gate
	Gatherer prometheus.Gatherer
	Prefix   string
	// PublicURL is the address under which Weir is reached; see [auth.LocalOnly].
	PublicURL string
	Proxies   Proxies
}

// Standby answers probes and metrics itself, and passes on everything else.
func Standby(o StandbyOptions) http.Handler {
	readiness := func(reasons func() []string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			webapi.WriteReadiness(w, api.Readiness{Reasons: reasons(), Database: o.Database()})
		})
	}
	metrics := promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{})
	own := map[string]http.Handler{
		"/livez":  http.HandlerFunc(webapi.Livez),
		"/readyz": readiness(o.Reasons),
		OwnerPath: readiness(func() []string { return append(o.Reasons(), "owner: another process owns the database") }),
		webapi.MetricsPath: auth.LocalOnly(o.Gate, o.PublicURL, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := route.Admit(o.Gate, w, r, []operators.Scope{operators.ScopeMetricsRead}); err != nil {
				httpjson.WriteProblem(w, err)
				return
			}
			metrics.ServeHTTP(w, r)
		})),
	}
	return o.Proxies.Clients(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := own[strings.TrimPrefix(r.URL.Path, o.Prefix)]
		if h == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			h = o.Pass
		}
		h.ServeHTTP(w, r)
	}))
}
