package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir"
	"weir/web/wire"
)

// readyTime is the timeout of the store's readiness check.
const readyTime = 2 * time.Second

// MetricsPath is the one route outside the JSON API that requires a scope.
const MetricsPath = "/metrics"

// Readiness is the body of /readyz.
type Readiness struct {
	Ready    bool     `json:"ready"`
	Owner    bool     `json:"owner" doc:"this process owns the database; others pass requests on to it"`
	Reasons  []string `json:"reasons,omitempty" doc:"what is wrong"`
	Router   string   `json:"router,omitempty" enum:"serving,replaying,stopping" doc:"phase of the job router: serving: it serves requests; replaying: it loads its state"`
	Database string   `json:"database,omitempty" doc:"HOST:PORT of the database server in use; absent: the database is a file"`
	// HeldSince does not affect readiness: requests are served.
	HeldSince *time.Time `json:"held_since,omitempty" doc:"when it was started with --paused: nothing is sent until weir resume"`
}

// Liveness is the body of /livez.
type Liveness struct {
	Status string `json:"status" enum:"alive" doc:"always alive"`
}

// Livez reports that the process responds. It checks no dependency: a store
// that is down is no reason to kill the process.
func Livez(w http.ResponseWriter, _ *http.Request) {
	wire.WriteJSON(w, http.StatusOK, Liveness{Status: "alive"})
}

// Readyz reports whether requests should come here. The router's phase is part
// of the response but does not affect it: the rest of the API works without the
// router.
func (s *Service) Readyz(w http.ResponseWriter, r *http.Request) {
	WriteReadiness(w, s.readiness(r.Context()))
}

func (s *Service) readiness(ctx context.Context) (out Readiness) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	out.Owner = true
	if s.Router != nil {
		out.Router = s.Router()
	}
	if s.DatabaseServer != nil {
		out.Database = s.DatabaseServer()
	}
	if s.Draining() {
		out.Reasons = append(out.Reasons, "draining: the process is shutting down")
	}
	if err := s.Store.Ready(ctx); err != nil {
		out.Reasons = append(out.Reasons, "store: "+storeError(err))
	}
	out.HeldSince = wire.Instant(s.heldSince())
	return out
}

// WriteReadiness answers a readiness probe.
func WriteReadiness(w http.ResponseWriter, out Readiness) {
	out.Ready = out.Reasons == nil
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	wire.WriteJSON(w, status, out)
}

// storeError describes a store failure without the details that only the log
// may hold.
func storeError(err error) string {
	if e, ok := errors.AsType[*weir.Error](err); ok {
		return wire.PublicMessage(e)
	}
	return "it does not respond"
}
