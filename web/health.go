package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir"
)

// readyTime bounds the question to the store.
const readyTime = 2 * time.Second

// Readiness is what /readyz says.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons,omitempty" doc:"what is wrong"`
}

// Liveness is what /livez says.
type Liveness struct {
	Status string `json:"status" enum:"alive" doc:"always alive"`
}

// livez says that the process answers. It asks nobody: a store that is down is
// no reason to kill the process.
func livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, Liveness{Status: "alive"})
}

// readyz says whether requests should come here.
func (s *service) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	var out Readiness
	if s.Draining() {
		out.Reasons = append(out.Reasons, "draining: the process is shutting down")
	}
	if err := s.Store.Ready(ctx); err != nil {
		out.Reasons = append(out.Reasons, "store: "+storeTrouble(err))
	}
	out.Ready = out.Reasons == nil
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, out)
}

// storeTrouble says what is wrong with the store without what only the log
// may hold.
func storeTrouble(err error) string {
	if e, ok := errors.AsType[*weir.Error](err); ok {
		return messageOf(e)
	}
	return "it does not answer"
}
