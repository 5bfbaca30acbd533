package web

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"weir"
)

// requestTime bounds the work for one API request. It is less than the
// server's write timeout, so that the client gets an answer.
const requestTime = 20 * time.Second

// route is one operation of the JSON API: what is served and what the API
// description says of it.
type route struct {
	method, path string
	id, summary  string
	description  string
	tag          string
	query        []parameter
	body         reflect.Type // nil: none
	bodyTypes    []string
	bodyLimit    int64
	answers      []answer
	codes        []weir.Code // beside those that every route has
	handle       func(*call) (reply, error)

	check *checker // of the body; set by describe
}

// parameter is one query parameter.
type parameter struct {
	name, description string
	kind              string // string, integer or boolean
	enum              []string
	minimum, maximum  int64 // of an integer
	fallback          any   // used when it is absent
}

// answer is one good answer of a route.
type answer struct {
	status      int
	description string
	body        reflect.Type // nil: no body
}

// call is one request to a route, as far as it has been checked.
type call struct {
	context.Context
	r     *http.Request
	query queryValues
	// body is what was sent, and wrong what the schema finds wrong with it. A
	// route with a body adds what only it can know and then asks refuse,
	// before it changes anything.
	body  map[string]any
	wrong mistakes
}

// refuse is the error that lists every mistake found so far; nil without any.
func (c *call) refuse() error { return invalid(c.wrong.list) }

// reply is what a route answers.
type reply struct {
	status   int
	body     any // nil: none
	location string
}

// handler serves a route: token, query, body, then the route itself.
func (s *service) handler(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		matched(w)
		out, err := s.answer(rt, w, r)
		if err != nil {
			writeProblem(w, err)
			return
		}
		if out.location != "" {
			w.Header().Set("Location", out.location)
		}
		writeJSON(w, out.status, out.body)
	})
}

func (s *service) answer(rt *route, w http.ResponseWriter, r *http.Request) (reply, error) {
	if !s.authorised(r) {
		return reply{}, errUnauthorised()
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	c := &call{Context: ctx, r: r}
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
	rt.check.check(v, "", &c.wrong)
	c.body, _ = v.(map[string]any)
	if c.body == nil {
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
	_, _ = w.Write(append(raw, '\n')) // a client that left is no concern of ours
}
