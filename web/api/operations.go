package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/web/httpjson"
	"weir/web/route"
)

// readyTime is the timeout of the store's readiness check.
const readyTime = 2 * time.Second

// MetricsPath is the one route outside the JSON API that requires a scope.
const MetricsPath = "/metrics"

// Livez reports that the process responds. It checks no dependency: a store
// that is down is no reason to kill the process.
func Livez(w http.ResponseWriter, _ *http.Request) {
	httpjson.WriteJSON(w, http.StatusOK, api.Liveness{Status: "alive"})
}

// readiness is the store as a probe asks it.
type readiness interface {
	// Ready returns an error if the store cannot be written to.
	Ready(ctx context.Context) error
}

// Probe answers the question whether this process is ready.
type Probe struct {
	Store    readiness
	Draining func() bool // the process shuts down, and still serves
	Hold     Hold        // nil: there is no hold
	// Router returns the phase of the job router in this process; nil: it has
	// none.
	Router func() string
	// Database returns HOST:PORT of the database server in use; empty or nil: the database
	// is a file.
	Database func() string
}

// Readyz reports whether requests should come here. The router's phase is part
// of the response but does not affect it: the rest of the API works without the
// router.
func (p *Probe) Readyz(w http.ResponseWriter, r *http.Request) {
	WriteReadiness(w, p.readiness(r.Context()))
}

func (p *Probe) readiness(ctx context.Context) (out api.Readiness) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	out.Owner = true
	if p.Router != nil {
		out.Router = p.Router()
	}
	if p.Database != nil {
		out.Database = p.Database()
	}
	if p.Draining() {
		out.Reasons = append(out.Reasons, "draining: the process is shutting down")
	}
	if err := p.Store.Ready(ctx); err != nil {
		out.Reasons = append(out.Reasons, "store: "+storeError(err))
	}
	out.HeldSince = httpjson.Instant(heldSince(p.Hold))
	return out
}

// WriteReadiness answers a readiness probe.
func WriteReadiness(w http.ResponseWriter, out api.Readiness) {
	out.Ready = out.Reasons == nil
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	httpjson.WriteJSON(w, status, out)
}

// storeError describes a store failure without the details that only the log
// may hold.
func storeError(err error) string {
	if e, ok := errors.AsType[*weir.Error](err); ok {
		return httpjson.PublicMessage(e)
	}
	return "it does not respond"
}

// Hold keeps Weir from dispatching anything until it is released.
type Hold interface {
	// Since returns when the hold began; zero: there is none.
	Since() time.Time
	// Release ends the hold, durably and for every process.
	Release(ctx context.Context) error
}

func heldSince(hold Hold) time.Time {
	if hold == nil {
		return time.Time{}
	}
	return hold.Since()
}

// operationRoutes serves what concerns the whole of Weir: the hold, its processes
// and the sender of a request.
type operationRoutes struct {
	hold      Hold                     // nil: there is no hold
	processes func() []api.ProcessView // nil: they are not known
}

func (r *operationRoutes) table() []*route.Route {
	return slices.Concat(r.whoRoutes(), r.holdRoutes(), r.processRoutes())
}

func (r *operationRoutes) holdRoutes() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/hold", ID: "get-hold", Tag: "channels",
			Summary: "Get whether dispatching is on hold (serve --paused)", Handle: r.getHold,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "whether Weir sends", Body: route.TypeOf[api.HoldView]()}},
		},
		{
			Method: "DELETE", Path: "/v1/hold", ID: "release-hold", Tag: "channels",
			Summary:     "Resume dispatching after serve --paused",
			Description: "Channels, surveys, event deliveries and function calls resume. Channels that are paused themselves stay paused.",
			Handle:      r.releaseHold,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "Weir sends", Body: route.TypeOf[api.HoldView]()}},
		},
	}
}

func (r *operationRoutes) getHold(*route.Call) (route.Reply, error) {
	since := heldSince(r.hold)
	return route.Reply{Status: http.StatusOK, Body: api.HoldView{Held: !since.IsZero(), Since: httpjson.Instant(since)}}, nil
}

func (r *operationRoutes) releaseHold(c *route.Call) (route.Reply, error) {
	if r.hold != nil {
		if err := r.hold.Release(c); err != nil {
			return route.Reply{}, err
		}
	}
	return r.getHold(c)
}

func (r *operationRoutes) processRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/processes", ID: "list-processes", Tag: "access",
		Summary:     "List the processes of the database: its owner and the standbys",
		Description: "Every process answers the same: a standby passes the request on to the owner. A process that does not reach the owner is not in the list.",
		Handle:      r.listProcesses,
		Answers:     []route.Answer{{Status: http.StatusOK, Description: "the processes, the owner first", Body: route.TypeOf[api.ProcessesView]()}},
	}}
}

func (r *operationRoutes) listProcesses(*route.Call) (route.Reply, error) {
	list := []api.ProcessView{}
	if r.processes != nil {
		list = append(list, r.processes()...)
	}
	return route.Reply{Status: http.StatusOK, Body: api.ProcessesView{Processes: list}}, nil
}

func (r *operationRoutes) whoRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/whoami", ID: "whoami", Tag: "access",
		Summary: "Identify the token of the request and its scopes", Handle: r.whoami,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the token that the request carries", Body: route.TypeOf[api.WhoView]()}},
	}}
}

func (r *operationRoutes) whoami(c *route.Call) (route.Reply, error) {
	v := api.WhoView{Token: c.Principal.ID(), Held: !heldSince(r.hold).IsZero()}
	if name, ok := c.Principal.Name(); ok {
		v.Name = name
	} else {
		v.Open = true
	}
	v.Scopes = httpjson.Texts(c.Principal.Scopes())
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}
