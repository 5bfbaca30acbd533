package jobrouter

import (
	"net/http"
	"time"

	"weir/routing"
	"weir/routing/resource"
)

// figuresView is an overview of the router for wallboards, an extension that
// Azure's API does not have. Its queues are paged; the other figures cover the
// whole router.
type figuresView struct {
	Jobs           map[resource.JobStatus]int   `json:"jobs"`    // by status; absent: none
	Workers        map[resource.WorkerState]int `json:"workers"` // by state; absent: none
	OffersOut      int                          `json:"offersOut"`
	OldestQueuedAt instant                      `json:"oldestQueuedAt,omitzero"` // of the waiting jobs
	Failing        []failingView                `json:"failingFunctions,omitempty"`
	Queues         []queueFiguresView           `json:"queues"`
	NextLink       string                       `json:"nextLink,omitempty"`
}

// failingView is a function or webhook of a policy whose last call failed.
type failingView struct {
	PolicyKind string  `json:"policyKind"` // distribution policy or classification policy
	PolicyID   string  `json:"policyId"`
	Host       string  `json:"host"`
	Since      instant `json:"since"`
	LastAt     instant `json:"lastAt"`
	Reason     string  `json:"reason"`
}

type queueFiguresView struct {
	statisticsView
	Name   string `json:"name,omitzero"`
	Closed string `json:"closed,omitzero"`
}

// figures takes the counts and the queues from one snapshot of the router's state.
func (s *service) figures(c *call) (answer, error) {
	p := &parameters{query: c.query}
	size, after := p.size(s.Limits), p.token()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	out := figuresView{Queues: []queueFiguresView{}}
	err := s.Engine.View(c.r.Context(), func(st *routing.State, now time.Time) {
		f := st.Figures()
		out.Jobs, out.Workers, out.OffersOut, out.OldestQueuedAt = f.Jobs, f.Workers, f.Offers, instant(f.OldestQueuedAt)
		ids := st.IDs(resource.Queue, after, size+1)
		if len(ids) > size {
			ids = ids[:size]
			out.NextLink = s.next(c, ids[size-1])
		}
		for _, id := range ids {
			q, _ := st.Queue(id)
			n, _ := st.Statistics(id, now)
			out.Queues = append(out.Queues, queueFiguresView{viewStatistics(n), q.Spec.Name, string(q.Spec.Closed)})
		}
	})
	if s.Failing != nil {
		for _, f := range s.Failing() {
			out.Failing = append(out.Failing, failingView{string(f.PolicyKind), f.Policy, f.Host, instant(f.Since), instant(f.LastAt), f.Reason})
		}
	}
	return answer{status: http.StatusOK, body: out}, err
}

func viewStatistics(f routing.Statistics) statisticsView {
	return statisticsView{f.QueueID, f.Length, f.EstimatedWaitTimeMinutes, f.LongestJobWaitTimeMinutes}
}
