package jobrouter

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir/routing"
)

// Options are what the handler is made from.
type Options struct {
	Engine routing.Engine
	// Keys are the access keys; any of them signs a request.
	Keys [][]byte
	// Open, while it is true, lets requests in without a signature if there are
	// no keys. It is for servers that only this machine reaches. nil: never.
	Open func() bool
	// Bearer lets requests in that carry a bearer token instead of a signature.
	// nil: none are let in.
	Bearer func(*http.Request) error
	// Address refuses addresses of functions and webhooks that may not be called.
	// nil: none are refused.
	Address func(string) error
	// Failing lists the functions that fail, as this process knows it; nil: none.
	Failing func() []routing.FailingFunction
	// PublicURL is the address under which clients reach the server; it may be
	// empty. Links take its scheme if they have its host.
	PublicURL string
	// Prefix is before the paths of links: requests come without it.
	Prefix string
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
	Limits Limits
}

// Limits are what the API leaves open. The zero Limits are the usual ones.
type Limits struct {
	Body     int64         // bytes of a request's body; 0 is 1 MiB
	Page     int           // entries of a page if the client does not say; 0 is 100
	MostPage int           // entries of a page at most; 0 is 1000
	Skew     time.Duration // how far the date of a request may be off; 0 is 15 minutes
}

func (l Limits) orUsual() Limits {
	if l.Body == 0 {
		l.Body = 1 << 20
	}
	if l.Page == 0 {
		l.Page = 100
	}
	if l.MostPage == 0 {
		l.MostPage = 1000
	}
	if l.Skew == 0 {
		l.Skew = 15 * time.Minute
	}
	return l
}

// service is the handler's state.
type service struct {
	Options
	signatures signatures
	routes     routes
	queries    map[string]url.Values // that have nothing but a version; nobody changes them
	headers    headers
	buffers    sync.Pool // of answers
	shapes     map[version]map[routing.Resource]object
	actions    map[string]object
}

// New makes the handler of everything below /routing/. Requests have to arrive
// with the path that the client sent, as that is what is signed.
func New(o Options) (http.Handler, error) {
	if o.Engine == nil || o.Logger == nil {
		return nil, errors.New("a job router's API needs an engine and a logger")
	}
	for i, k := range o.Keys {
		if len(k) == 0 {
			return nil, fmt.Errorf("access key %d is empty", i+1)
		}
	}
	if o.Open == nil {
		o.Open = func() bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Limits = o.Limits.orUsual()
	s := &service{
		Options:    o,
		signatures: newSignatures(o.Keys, o.Limits.Skew),
		queries:    map[string]url.Values{},
		headers:    headers{versions: []string{supported}, noSniffing: []string{"nosniff"}, json: []string{jsonType}},
		buffers:    sync.Pool{New: func() any { return new([]byte) }},
		shapes:     map[version]map[routing.Resource]object{},
		actions:    actionShapes(),
	}
	for _, v := range versions() {
		s.shapes[v] = resourceShapes(v)
		s.queries["api-version="+string(v)] = url.Values{"api-version": {string(v)}}
	}
	s.routes = s.table()
	return http.HandlerFunc(s.serve), nil
}
