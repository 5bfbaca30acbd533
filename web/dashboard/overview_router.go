package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"weir"
)

// routerVersion is the version of the router's API that the pages use.
const routerVersion = "2024-01-18-preview"

// wallboard is a summary of the router.
type wallboard struct {
	Down           bool           // it does not respond
	Jobs           map[string]int `json:"jobs"`
	Workers        map[string]int `json:"workers"`
	Offers         int            `json:"offersOut"`
	OldestQueuedAt *time.Time     `json:"oldestQueuedAt"`
}

// wallboard reads the summary; nil: the token may not see it, or the router has no
// workers and no jobs.
func (v *visit) wallboard() *wallboard {
	if !v.May(weir.ScopeRouter) || !v.May(weir.ScopePIIRead) {
		return nil
	}
	var w wallboard
	err := v.get("/routing/figures", url.Values{"api-version": {routerVersion}, "maxpagesize": {"1"}}, &w)
	if status, _ := statusOf(err); err != nil {
		if status >= http.StatusInternalServerError {
			return &wallboard{Down: true}
		}
		return nil // it accepts only requests signed with an access key
	}
	if len(w.Workers) == 0 && len(w.Jobs) == 0 {
		return nil
	}
	return &w
}

// Waiting returns the number of jobs that wait for a worker.
func (w *wallboard) Waiting() int { return w.Jobs["queued"] }

// Bar shows the workers by state.
func (w *wallboard) Bar() bar {
	return bar{Title: "Workers", Segments: []segment{
		{"active", "c3", float64(w.Workers["active"])}, {"draining", "c2", float64(w.Workers["draining"])}, {"inactive", "c8", float64(w.Workers["inactive"])},
	}}
}
