package route

import (
	"context"
	"net/http"

	"weir/ops"
	"weir/web/auth"
	"weir/web/wire"
)

// Handler returns the handler of the route: it checks the token, the query and the
// body, then runs the route.
func (rt *Route) Handler(gate *auth.Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		MarkMatched(w)
		rec, recorded := w.(*Recorder)
		if recorded {
			rec.Route = rt
		}
		if rt.Serve != nil {
			if err := rt.transfer(gate, w, r); err != nil {
				NewDeadlines(w).ExtendWrite()
				wire.WriteProblem(w, err)
			}
			return
		}
		out, err := rt.answer(gate, w, r)
		if err != nil {
			wire.WriteProblem(w, err)
			return
		}
		if out.Location != "" {
			w.Header().Set("Location", out.Location)
		}
		if out.ETag != "" {
			w.Header().Set("ETag", out.ETag)
		}
		if recorded {
			rec.DryRun, rec.Changes = out.DryRun, out.Changes
		}
		wire.WriteJSON(w, out.Status, out.Body)
	})
}

// Admit identifies the sender of a request, for the log too, and rejects a
// sender with none of the scopes.
func Admit(gate *auth.Gate, w http.ResponseWriter, r *http.Request, oneOf []ops.Scope) (*auth.Principal, error) {
	who, err := gate.Authenticate(r)
	if err != nil {
		return nil, err
	}
	if rec, ok := w.(*Recorder); ok {
		rec.Token = who.ID()
	}
	return who, who.Require(oneOf)
}

// transfer serves a route that writes its response itself.
func (rt *Route) transfer(gate *auth.Gate, w http.ResponseWriter, r *http.Request) error {
	who, err := Admit(gate, w, r, rt.Scopes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), TransferTime)
	defer cancel()
	c := &Call{Context: ctx, Request: r, Principal: who}
	c.Query = wire.ReadQuery(rt.Query, r.URL.RawQuery, &c.Errors)
	if err := c.Invalid(); err != nil {
		return err
	}
	return rt.Serve(c, w)
}

// answer runs a route that returns its response.
func (rt *Route) answer(gate *auth.Gate, w http.ResponseWriter, r *http.Request) (Reply, error) {
	who, err := Admit(gate, w, r, rt.Scopes)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	c := &Call{Context: ctx, Request: r, Principal: who}
	c.Query = wire.ReadQuery(rt.Query, r.URL.RawQuery, &c.Errors)
	if rt.Body == nil {
		if err := c.Invalid(); err != nil {
			return Reply{}, err
		}
		return rt.Handle(c)
	}
	v, err := wire.ReadJSON(w, r, rt.BodyTypes, rt.BodyLimit)
	if err != nil {
		wire.Discard(r.Body)
		return Reply{}, err
	}
	if !rt.Lenient {
		rt.Check.Check(v, "", &c.Errors)
	}
	c.Body, _ = v.(map[string]any)
	if c.Body == nil {
		if rt.Lenient {
			c.Errors.Add("", "type", "must be an object")
		}
		return Reply{}, c.Invalid()
	}
	return rt.Handle(c)
}
