package daemon

import (
	"maps"
	"net/http"

	"weir/web"
	"weir/web/dashboard"
)

// withDashboard makes the handler of every route, with the dashboard's among
// them. The dashboard is a client of that same handler.
func withDashboard(o Options, api web.Options) (http.Handler, error) {
	var whole http.Handler
	pages, err := dashboard.New(dashboard.Options{
		API:    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { whole.ServeHTTP(w, r) }),
		Prefix: o.Config.PathPrefix, PublicURL: o.Config.PublicURL, Version: o.Version, Logger: o.Logger, Draining: api.Draining,
	})
	if err != nil {
		return nil, err
	}
	api.Mounted = maps.Clone(api.Mounted)
	maps.Copy(api.Mounted, pages.Routes())
	whole, err = web.New(api)
	outer := web.Nearby(api.Gate, o.Config.PublicURL, web.Under(o.Config.PathPrefix, whole))
	return proxies(o.Config).Clients(outer), err
}
