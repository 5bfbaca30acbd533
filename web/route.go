package web

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"weir"
	"weir/ops"
)

// requestTime is the time limit of one API request. It is less than the
// server's write timeout, so that the client gets a response.
const requestTime = 20 * time.Second

// route is one operation of the JSON API: its handler and its API description.
type route struct {
	method, path string
	id, summary  string
	description  string
	tag          string
	query        []parameter
	body         reflect.Type // nil: none
	bodyTypes    []string
	bodyLimit    int64
	example      any // of the body; nil: none
	answers      []answer
	codes        []weir.Code // in addition to the codes of every route
	handle       func(*call) (reply, error)
	scopes       []ops.Scope // the token needs one of them; set by grant

	// lenient: the route itself checks the body against its schema.
	lenient bool
	// repeatable: repeating the POST has no further effect, whatever its body.
	repeatable bool
	// serve replaces handle where a body or a response is too long for memory
	// and for requestTime. It writes the response itself, unless it returns an
	// error.
	serve func(*call, http.ResponseWriter) error
	// uploads and download are the content types of such bodies and responses.
	// refusal is the type of a problem with additional fields.
	uploads  []string
	download string
	refusal  reflect.Type

	check *checker // of the body; set by describe
}

// parameter is one query parameter.
type parameter struct {
	name, description string
	kind              string // string, integer or boolean
	enum              []string
	single            bool   // one of enum; otherwise one or more, comma-separated
	format            string // of a string; the route validates it
	minimum, maximum  int64  // of an integer
	fallback          any    // the default
}

// answer is one success response of a route.
type answer struct {
	status      int
	description string
	body        reflect.Type // nil: no body
}

// call is one request to a route, validated so far as its fields say.
type call struct {
	context.Context
	r     *http.Request
	who   *visitor
	query queryValues
	// body is the decoded body, and wrong lists its schema errors. A route with
	// a body adds the errors that only it can find, and then calls refuse
	// before it changes anything.
	body  map[string]any
	wrong mistakes
}

// pii reports whether phone numbers may be shown.
func (c *call) pii() bool { return c.who.has(ops.ScopePIIRead) }

// refuse returns the error that lists all mistakes found so far; nil if there
// are none.
func (c *call) refuse() error { return invalid(c.wrong.list) }

// reply is the response of a route.
type reply struct {
	status   int
	body     any // nil: none
	location string
	tried    bool              // a dry run
	changes  []ops.FieldChange // for the audit log
}

// handler serves a route: it checks the token, query and body, then runs the
// route.
func (s *service) handler(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		matched(w)
		if rec, ok := w.(*recorder); ok {
			rec.route = rt
		}
		if rt.serve != nil {
			if err := s.transfer(rt, w, r); err != nil {
				newPace(w).writing()
				writeProblem(w, err)
			}
			return
		}
		out, err := s.answer(rt, w, r)
		if err != nil {
			writeProblem(w, err)
			return
		}
		if out.location != "" {
			w.Header().Set("Location", out.location)
		}
		if rec, ok := w.(*recorder); ok {
			rec.tried, rec.changes = out.tried, out.changes
		}
		writeJSON(w, out.status, out.body)
	})
}

func (s *service) answer(rt *route, w http.ResponseWriter, r *http.Request) (reply, error) {
	who, err := s.admit(w, r, rt.scopes)
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	c := &call{Context: ctx, r: r, who: who}
	c.query = readQuery(rt.query, r.URL.RawQuery, &c.wrong)
	if rt.body == nil {
		if err := c.refuse(); err != nil {
			return reply{}, err
		}
		return rt.handle(c)
	}
	v, err := readJSON(w, r, rt.bodyTypes, rt.bodyLimit)
	if err != nil {
		ignore(r.Body)
		return reply{}, err
	}
	if !rt.lenient {
		rt.check.check(v, "", &c.wrong)
	}
	c.body, _ = v.(map[string]any)
	if c.body == nil {
		if rt.lenient {
			c.wrong.add("", "type", "must be an object")
		}
		return reply{}, c.refuse()
	}
	return rt.handle(c)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	raw, err := json.Marshal(body)
	if err != nil {
		writeProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // a disconnected client is not an error
}
