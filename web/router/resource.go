package router

import (
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/router"
	"weir/router/journal"
	"weir/router/resource"
	"weir/web/httpjson"
)

// condition holds the conditional headers of a request.
type condition struct {
	match        []string // If-Match
	none         []string // If-None-Match
	hasMatch     bool     // If-Match is present
	hasNoneMatch bool     // If-None-Match is present
	since        time.Time
}

// conditionOf reads the conditional headers. The engine checks them in the same step
// as the change.
func conditionOf(h http.Header) (condition, error) {
	var c condition
	c.match, c.hasMatch = tags(h, "If-Match")
	c.none, c.hasNoneMatch = tags(h, "If-None-Match")
	if v := h.Get("If-Unmodified-Since"); v != "" {
		at, err := http.ParseTime(v)
		if err != nil {
			return c, invalid("If-Unmodified-Since", "format", "must be like Mon, 02 Jan 2006 15:04:05 GMT")
		}
		c.since = at
	}
	if c.hasMatch {
		c.since = time.Time{} // If-Match is more exact and takes precedence (RFC 9110, 13.1.4)
	}
	return c, nil
}

// tags splits a list of entity tags. The tags of this API contain no comma.
func tags(h http.Header, name string) (list []string, ok bool) {
	for _, line := range h.Values(name) {
		ok = true
		for tag := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(tag))
		}
	}
	return list, ok
}

// against returns the engine's condition for a resource whose current version is
// now (0 if it does not exist).
func (c condition) against(now router.Version) (router.If, error) {
	if c.hasNoneMatch && now != 0 && matchesAny(c.none, now) {
		return router.If{}, weir.Errorf(weir.CodePrecondition, "the resource exists, or its version matches If-None-Match")
	}
	out := router.If{UnmodifiedSince: c.since}
	switch {
	case !c.hasMatch:
	case now != 0 && matchesAny(c.match, now):
		out.Version = now
	default:
		// Also without a resource: If-Match never creates one.
		out.Unmatchable = true
	}
	return out, nil
}

func matchesAny(list []string, now router.Version) bool {
	tag := etag(now)
	for _, t := range list {
		if t == "*" || t == tag {
			return true
		}
	}
	return false
}

// resourceRoutes serves one resource: its reading, its changes and its removal.
type resourceRoutes struct {
	engine router.Engine
	checks map[version]map[resource.Kind]*httpjson.Checker // of patches
	// address returns an error for an address that must not be called; nil: every
	// address is allowed.
	address func(string) error
}

func newResourceRoutes(engine router.Engine, address func(string) error) resourceRoutes {
	s := resourceRoutes{engine: engine, checks: map[version]map[resource.Kind]*httpjson.Checker{}, address: address}
	for _, v := range versions() {
		s.checks[v] = map[resource.Kind]*httpjson.Checker{}
		for _, res := range resources() {
			s.checks[v][res.kind] = res.patchChecker(v)
		}
	}
	return s
}

// get returns the handler that reads a resource.
func (s resourceRoutes) get(res resourceKind) endpoint {
	return func(c *call) (response, error) {
		var x rendered
		found := false
		err := s.engine.View(c.r.Context(), func(st *router.State, _ time.Time) {
			x, found = res.render(st, c.ids[0], c.version)
		})
		if err != nil {
			return response{}, err
		}
		if !found {
			return response{}, noSuchResource(res.kind, c.ids[0])
		}
		return x.answer(http.StatusOK), nil
	}
}

// patch returns the handler that creates or changes a resource.
func (s resourceRoutes) patch(res resourceKind) endpoint {
	return func(c *call) (response, error) {
		patch, err := decode(c.body, s.checks[c.version][res.kind], res.complete)
		if err != nil {
			return response{}, err
		}
		if err := invalidFor(addressesOf(res.kind, patch, s.address)); err != nil {
			return response{}, err
		}
		cond, err := conditionOf(c.r.Header)
		if err != nil {
			return response{}, err
		}
		id, status := c.ids[0], 0
		// build runs in the engine's own step, so that existence, condition and stored
		// credentials are those of the state that the patch changes.
		build := func(st *router.State, _ time.Time) (router.Command, error) {
			before, exists := res.render(st, id, c.version)
			status = http.StatusCreated
			if exists {
				status = http.StatusOK
			}
			when, err := cond.against(before.version)
			if err != nil {
				return nil, err
			}
			if err := checkAddressChange(st, res.kind, id, patch); err != nil {
				return nil, err
			}
			full, err := withCredentials(patch, credentialsOf(st, res.kind, id))
			if err != nil {
				return nil, err
			}
			return res.patch(st, id, full, when)
		}
		var after rendered
		see := func(st *router.State, events []journal.Event) {
			after, _ = res.render(st, id, c.version)
			after.body = patchedView(after.body, id, events)
		}
		if err := s.engine.Do(c.r.Context(), build, see); err != nil {
			return response{}, err
		}
		return after.answer(status), nil
	}
}

// patchedView returns the view of a job as a response to PATCH; see
// asCreated.
func patchedView(body any, id string, events []journal.Event) any {
	v, ok := body.(jobView)
	if !ok {
		return body
	}
	for _, e := range events {
		switch e := e.(type) {
		case *journal.JobReceivedEvent:
			if e.JobID == id {
				return v.asCreated(e)
			}
		case *journal.JobUpdatedEvent:
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
func (s resourceRoutes) remove(res resourceKind) endpoint {
	return func(c *call) (response, error) {
		err := do(c, s.engine, res.remove(c.ids[0]), nil)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return response{}, err
		}
		return response{status: http.StatusNoContent}, nil
	}
}
