package router

import (
	"net/http"
	"time"

	"weir/router"
	"weir/router/journal"
	"weir/web/httpjson"
)

// options holds the members that the bodies of actions may have.
type options struct {
	Note            string    `json:"note"`
	DispositionCode string    `json:"dispositionCode"`
	CloseAt         time.Time `json:"closeAt"`
	SuspendMatching bool      `json:"suspendMatching"`
	RetryOfferAt    time.Time `json:"retryOfferAt"`
}

// actions serves the actions on jobs and offers.
type actions struct {
	engine router.Engine
	checks map[string]*httpjson.Checker // of the bodies, by action
}

// options reads the body of an action, which may be absent.
func (s actions) options(c *call) (o options, err error) {
	if len(c.body) == 0 {
		return o, nil
	}
	members, err := decode(c.body, s.checks[c.action], boundTexts)
	if err == nil {
		httpjson.Decode(members, &o)
	}
	return o, err
}

// simple returns the handler of an action whose response is empty.
func (s actions) simple(command func(*call, options) router.Command) endpoint {
	return func(c *call) (response, error) {
		o, err := s.options(c)
		if err == nil {
			err = do(c, s.engine, command(c, o), nil)
		}
		return response{status: http.StatusOK, body: struct{}{}}, err
	}
}

func cancelJob(c *call, o options) router.Command {
	return router.CancelJob{ID: c.ids[0], Note: o.Note, DispositionCode: o.DispositionCode}
}

func reclassify(c *call, _ options) router.Command { return router.ReclassifyJob{ID: c.ids[0]} }

func complete(c *call, o options) router.Command {
	return router.CompleteJob{JobID: c.ids[0], AssignmentID: c.ids[1], Note: o.Note}
}

func closeJob(c *call, o options) router.Command {
	return router.CloseJob{JobID: c.ids[0], AssignmentID: c.ids[1], DispositionCode: o.DispositionCode, Note: o.Note, CloseAt: o.CloseAt}
}

func decline(c *call, o options) router.Command {
	return router.DeclineOffer{WorkerID: c.ids[0], OfferID: c.ids[1], RetryOfferAt: o.RetryOfferAt}
}

// unassign returns a job to its queue. The count in the response includes this call.
// A repeated call finds no such assignment: unassigning removes it.
func (s actions) unassign(c *call) (response, error) {
	o, err := s.options(c)
	if err != nil {
		return response{}, err
	}
	out := unassignedView{JobID: c.ids[0]}
	command := router.UnassignJob{JobID: c.ids[0], AssignmentID: c.ids[1], SuspendMatching: o.SuspendMatching}
	err = do(c, s.engine, command, func(st *router.State, _ []journal.Event) {
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
func (s actions) accept(c *call) (response, error) {
	if _, err := s.options(c); err != nil {
		return response{}, err
	}
	out := acceptedView{WorkerID: c.ids[0]}
	err := do(c, s.engine, router.AcceptOffer{WorkerID: c.ids[0], OfferID: c.ids[1]}, func(st *router.State, _ []journal.Event) {
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
