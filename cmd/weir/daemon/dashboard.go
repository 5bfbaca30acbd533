package daemon

import (
	"maps"
	"net/http"

	"weir/web"
	"weir/web/auth"
	"weir/web/dashboard"
)

// routingPath is the path prefix of the job router's API.
const routingPath = "/routing/"

// withDashboard returns the handler of all routes, including the dashboard's.
// The dashboard is a client of that same handler.
func withDashboard(o Options, api web.Options) (http.Handler, error) {
	var whole http.Handler
	pages, err := dashboard.New(dashboard.Options{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { whole.ServeHTTP(w, r) }), Sessions: api.Gate,
		Prefix: o.Config.PathPrefix, PublicURL: o.Config.PublicURL, Version: o.Version, Logger: o.Logger, Draining: api.Draining,
	})
	if err != nil {
		return nil, err
	}
	api.Mounted = maps.Clone(api.Mounted)
	maps.Copy(api.Mounted, pages.Routes())
	whole, err = web.New(api)
	signed := ""
	if len(o.Config.RouterKeys) > 0 {
		signed = routingPath
	}
	outer := web.Under(o.Config.PathPrefix, auth.LocalOnly(api.Gate, o.Config.PublicURL, signed, whole))
	return proxies(o.Config).Clients(outer), err
}
