package jobrouter

import (
	"net/http"
	"time"

	"weir"
	"weir/routing"
	"weir/routing/resource"
)

func (x seen) answer(status int) answer {
	return answer{status: status, body: x.body, etag: etag(x.version), modified: x.changedAt}
}

// get returns the handler that reads a resource.
func (s *service) get(res resourceKind) handle {
	return func(c *call) (answer, error) {
		var x seen
		found := false
		err := s.Engine.View(c.r.Context(), func(st *routing.State, _ time.Time) {
			x, found = res.see(st, c.ids[0], c.version)
		})
		if err != nil {
			return answer{}, err
		}
		if !found {
			return answer{}, missing(res.kind, c.ids[0])
		}
		return x.answer(http.StatusOK), nil
	}
}

func missing(kind resource.Kind, id string) error {
	return weir.Errorf(weir.CodeNotFound, "there is no %s %q", kind, id)
}

// patch returns the handler that creates or changes a resource.
func (s *service) patch(res resourceKind) handle {
	return func(c *call) (answer, error) {
		in := &reading{}
		patch, err := s.shapes[c.version][res.kind].decode(c.body, in)
		if err != nil {
			return answer{}, err
		}
		if wrong := s.addressesOf(res.kind, patch); len(wrong) > 0 {
			return answer{}, &weir.Error{Code: weir.CodeInvalid, Message: manyMistakes, Fields: wrong}
		}
		cond, err := conditionOf(c.r.Header)
		if err != nil {
			return answer{}, err
		}
		id, status := c.ids[0], 0
		build := func(st *routing.State, _ time.Time) (routing.Command, error) {
			before, exists := res.see(st, id, c.version)
			status = http.StatusCreated
			if exists {
				status = http.StatusOK
			}
			when, err := cond.against(before.version)
			if err != nil {
				return nil, err
			}
			if err := moved(st, res.kind, id, patch); err != nil {
				return nil, err
			}
			full := patch
			if in.redacted {
				if full, err = restored(patch, credentialsOf(st, res.kind, id)); err != nil {
					return nil, err
				}
			}
			return st.PatchMembers(res.kind, id, full, when)
		}
		var after seen
		see := func(st *routing.State, events []routing.Event) {
			after, _ = res.see(st, id, c.version)
			after.body = asAnswered(after.body, id, events)
		}
		if err := s.Engine.Do(c.r.Context(), build, see); err != nil {
			return answer{}, err
		}
		return after.answer(status), nil
	}
}

// asAnswered turns the view of a job into the one that a PATCH returns; see
// asCreated.
func asAnswered(body any, id string, events []routing.Event) any {
	v, ok := body.(jobView)
	if !ok {
		return body
	}
	for _, e := range events {
		switch e := e.(type) {
		case *routing.JobReceivedEvent:
			if e.JobID == id {
				return v.asCreated(e)
			}
		case *routing.JobUpdatedEvent:
			if e.JobID == id && (e.Status == resource.JobPendingClassification || e.Status == resource.JobPendingSchedule) {
				v.Status = string(e.Status)
				return v
			}
		}
	}
	return v
}

// remove returns the handler that deletes a resource. Deleting a missing one
// succeeds.
func (s *service) remove(res resourceKind) handle {
	return func(c *call) (answer, error) {
		err := s.do(c, res.remove(c.ids[0]), nil)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return answer{}, err
		}
		return answer{status: http.StatusNoContent}, nil
	}
}

// do applies a command that does not depend on the state.
func (s *service) do(c *call, command routing.Command, see func(*routing.State, []routing.Event)) error {
	return s.Engine.Do(c.r.Context(), func(*routing.State, time.Time) (routing.Command, error) { return command, nil }, see)
}
