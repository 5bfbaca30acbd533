package jobrouter

import (
	"encoding/json"
	"net/http"
	"time"

	"weir/routing"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// options holds the members that the bodies of actions may have.
type options struct {
	Note            string    `json:"note"`
	DispositionCode string    `json:"dispositionCode"`
	CloseAt         time.Time `json:"closeAt"`
	SuspendMatching bool      `json:"suspendMatching"`
	RetryOfferAt    time.Time `json:"retryOfferAt"`
}

// options reads the body of an action, which may be absent.
func (s *service) options(c *call, action string) (o options, err error) {
	if len(c.body) == 0 {
		return o, nil
	}
	members, err := s.actions[action].decode(c.body, &reading{whole: 1})
	if err != nil {
		return o, err
	}
	clean, err := json.Marshal(members)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(clean, &o)
}

// act applies an action's command and returns an empty response.
func (s *service) act(c *call, action string, command func(options) routing.Command) (response, error) {
	o, err := s.options(c, action)
	if err != nil {
		return response{}, err
	}
	if err := s.do(c, command(o), nil); err != nil {
		return response{}, err
	}
	return emptyResponse(), nil
}

func (s *service) cancel(c *call) (response, error) {
	return s.act(c, "cancel", func(o options) routing.Command {
		return routing.CancelJob{ID: c.ids[0], Note: o.Note, DispositionCode: o.DispositionCode}
	})
}

func (s *service) reclassify(c *call) (response, error) {
	return s.act(c, "reclassify", func(options) routing.Command { return routing.ReclassifyJob{ID: c.ids[0]} })
}

func (s *service) complete(c *call) (response, error) {
	return s.act(c, "complete", func(o options) routing.Command {
		return routing.CompleteJob{JobID: c.ids[0], AssignmentID: c.ids[1], Note: o.Note}
	})
}

func (s *service) closeJob(c *call) (response, error) {
	return s.act(c, "close", func(o options) routing.Command {
		return routing.CloseJob{JobID: c.ids[0], AssignmentID: c.ids[1], DispositionCode: o.DispositionCode, Note: o.Note, CloseAt: o.CloseAt}
	})
}

func (s *service) decline(c *call) (response, error) {
	return s.act(c, "decline", func(o options) routing.Command {
		return routing.DeclineOffer{WorkerID: c.ids[0], OfferID: c.ids[1], RetryOfferAt: o.RetryOfferAt}
	})
}

// unassign returns a job to its queue. The count in the response includes this call.
// A repeated call finds no such assignment: unassigning removes it.
func (s *service) unassign(c *call) (response, error) {
	o, err := s.options(c, "unassign")
	if err != nil {
		return response{}, err
	}
	out := unassignedView{JobID: c.ids[0]}
	command := routing.UnassignJob{JobID: c.ids[0], AssignmentID: c.ids[1], SuspendMatching: o.SuspendMatching}
	err = s.do(c, command, func(st *routing.State, _ []eventlog.Event) {
		j, _ := st.Job(c.ids[0])
		out.UnassignmentCount = j.Unassigned
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: out}, nil
}

// accept turns an offer into an assignment. The ids in the response are read from the
// state that the command produced.
// Accepting again gives the same ids, because the first response may have been lost.
func (s *service) accept(c *call) (response, error) {
	if _, err := s.options(c, "accept"); err != nil {
		return response{}, err
	}
	out := acceptedView{WorkerID: c.ids[0]}
	err := s.do(c, routing.AcceptOffer{WorkerID: c.ids[0], OfferID: c.ids[1]}, func(st *routing.State, _ []eventlog.Event) {
		out.AssignmentID = st.AssignmentOf(c.ids[0], c.ids[1])
		w, _ := st.Worker(c.ids[0])
		for _, a := range w.AssignedJobs {
			if a.AssignmentID == out.AssignmentID {
				out.JobID = a.JobID
			}
		}
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: out}, nil
}

// position reports where a waiting job is in its queue. A job that does not wait has
// no position: 404.
func (s *service) position(c *call) (response, error) {
	var p routing.Position
	found := false
	err := s.Engine.View(c.r.Context(), func(st *routing.State, _ time.Time) { p, found = st.Position(c.ids[0]) })
	if err != nil {
		return response{}, err
	}
	if !found {
		return response{}, noSuchResource("queued job", c.ids[0])
	}
	return response{status: http.StatusOK, body: p}, nil
}

func (s *service) statistics(c *call) (response, error) {
	var f routing.Statistics
	found := false
	err := s.Engine.View(c.r.Context(), func(st *routing.State, now time.Time) { f, found = st.Statistics(c.ids[0], now) })
	if err != nil {
		return response{}, err
	}
	if !found {
		return response{}, noSuchResource(resource.Queue, c.ids[0])
	}
	return response{status: http.StatusOK, body: f}, nil
}
