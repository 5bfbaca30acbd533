package daemon

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/api"
	"weir/channels"
	"weir/channels/all"
	"weir/operators"
	routing "weir/router"
	"weir/web"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/dashboard"
	routerapi "weir/web/router"
)

// routingPath is the path prefix of the job router's API.
const routingPath = "/routing/"

// withDashboard returns the handler of all routes, including the dashboard's.
// The dashboard is a client of that same handler.
func withDashboard(o Options, routes web.Options) (http.Handler, error) {
	var whole http.Handler
	pages, err := dashboard.New(dashboard.Options{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { whole.ServeHTTP(w, r) }), Sessions: routes.Gate, Names: providerOf(&o.Config), GroupsWithScopes: slices.Sorted(maps.Keys(o.Config.OIDCScopes)), Record: routes.Trail.Add,
		Prefix: o.Config.PathPrefix, PublicURL: o.Config.PublicURL, Version: o.Version, Logger: o.Logger, Ending: routes.Ending,
	})
	if err != nil {
		return nil, err
	}
	routes.Mounted = maps.Clone(routes.Mounted)
	maps.Copy(routes.Mounted, pages.Routes())
	whole, err = web.New(routes)
	signed := ""
	if len(o.Config.RouterKeys) > 0 {
		signed = routingPath
	}
	outer := web.Under(o.Config.PathPrefix, auth.LocalOnly(routes.Gate, o.Config.PublicURL, signed, whole))
	return web.Proxies(o.Config.TrustedProxies).Clients(outer), err
}

// admitToRouter admits a request to the router by its token. The router returns its data
// unmasked, phone numbers included, so the token needs both scopes.
func (p *components) admitToRouter(r *http.Request) error {
	_, err := p.gate.Admit(r, operators.ScopeRouter, operators.ScopePIIRead)
	return err
}

// handler assembles the routes.
func (p *components) handler(o Options, draining, ending func() bool, processes func() []api.ProcessView, refusals *web.RefusalLog) (http.Handler, error) {
	c := o.Config
	jobs, err := routerapi.New(routerapi.Options{
		Engine: p.router, Keys: c.RouterKeys, Open: p.gate.Open, Bearer: p.admitToRouter, PublicURL: c.PublicURL, Prefix: c.PathPrefix, Address: outboundPolicy(c).Check, Logger: o.Logger,
		Failing: p.router.FailingFunctions,
	})
	if err != nil {
		return nil, err
	}
	return withDashboard(o, web.Options{
		Options: webapi.Options{
			Directory: p.directory, DefaultCapacity: c.DefaultChannelCapacity, ReplyWithin: c.ReplyWithin.Duration(), Ending: ending,
			Events: p.store, Interest: p.store, Minutes: p.store, Dead: p.store, Trail: p.trail, Hold: p.hold, Processes: processes, Tracing: p.tracing,
			Webhooks: p.store, TestWebhook: p.webhooks.Test, MayCall: outboundPolicy(c).Check,
		},
		Draining: draining, Router: func() string { return string(p.router.Phase()) }, DatabaseServer: p.store.ServerAddress,
		Store: p.store, Broker: heldFigures{p.channels, p.hold}, Gate: p.gate, Logger: o.Logger, Metrics: web.NewMetrics(o.Registry),
		Gatherer: o.Registry, Version: o.Version, Refusals: refusals,
		Surveys: p.surveys, SurveyStore: p.store, Importer: p.store, Respondents: p.store, People: p.store, Limits: p.store, Words: c.Words(), Tokens: p.tokens, Prefix: c.PathPrefix, HSTS: strings.HasPrefix(c.PublicURL, "https://"),
		Mounted: map[string]http.Handler{routingPath: jobs, "GET /routing/openapi.json": routerapi.Described(c.PathPrefix)},
	})
}

// Description returns the OpenAPI 3.1 description of the API of a Weir with all parts.
func Description() ([]byte, error) {
	// The router is never called: it is needed only for the type of worker channels.
	types := all.Types(struct{ routing.Engine }{})
	return web.Description(channels.NewDirectory(types, "", nil))
}
