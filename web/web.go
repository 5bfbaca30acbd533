package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir"
	"weir/channels"
)

// Store is what the API reads and writes without the broker.
type Store interface {
	weir.ChannelStore
	weir.ContactReader
	weir.IncomingStore
	// Ready tells whether the store can be written to.
	Ready(ctx context.Context) error
}

// Broker is the running half of Weir as the API sees it.
type Broker interface {
	// Accept takes contacts in. They are durable when it returns.
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
	// Report passes on what a provider said. It is durable when it returns.
	Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error)
	// Cancel takes a contact back. Done: it is canceled; any other state: the
	// provider is being asked.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
	// Changed says that the row of a channel was created or changed.
	Changed(ctx context.Context, channel weir.ChannelID)
	// Delete ends the open contacts of a channel and marks it as deleted.
	// done is false while that is still under way.
	Delete(ctx context.Context, channel weir.ChannelID) (done bool, err error)
	// Figures are the live numbers of a channel.
	Figures(ctx context.Context, ch weir.Channel) (weir.Figures, error)
}

// Options are what the handler is made from.
type Options struct {
	Store     Store
	Broker    Broker
	Directory *channels.Directory
	// Tokens are the bearer tokens that open the API. Without any, everything
	// is open; the caller then listens on loopback only.
	Tokens          []string
	DefaultCapacity int // of channels whose capacity is not given
	Logger          *slog.Logger
	Metrics         *Metrics
	Gatherer        prometheus.Gatherer
	Version         string           // shown in the API description
	Draining        func() bool      // nil: never
	Now             func() time.Time // nil: time.Now
}

// service is the handler's state.
type service struct {
	Options
	tokens    []tokenHash
	callbacks *callbackIndex
	siblings  *siblings
	mux       *http.ServeMux
}

// New makes the handler of every route.
func New(o Options) (http.Handler, error) {
	if o.DefaultCapacity < weir.MinCapacity || o.DefaultCapacity > weir.MaxCapacity {
		return nil, fmt.Errorf("a default capacity of %d: want %d to %d", o.DefaultCapacity, weir.MinCapacity, weir.MaxCapacity)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Draining == nil {
		o.Draining = func() bool { return false }
	}
	s := &service{
		Options:   o,
		tokens:    hashTokens(o.Tokens),
		callbacks: newCallbackIndex(o.Store, o.Now),
		siblings:  newSiblings(o.Store, o.Directory, o.Now),
		mux:       http.NewServeMux(),
	}
	routes := s.routes()
	description, err := describe(routes, o)
	if err != nil {
		return nil, err
	}
	for _, rt := range routes {
		s.mux.Handle(rt.method+" "+rt.path, s.handler(rt))
	}
	s.plain("GET /openapi.json", written("application/openapi+json", description.MarshalJSON))
	s.plain("GET /openapi.yaml", written("application/openapi+yaml", description.YAML))
	s.plain("GET /livez", http.HandlerFunc(livez))
	s.plain("GET /readyz", http.HandlerFunc(s.readyz))
	s.plain("GET /metrics", s.guarded(promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{})))
	for _, path := range []string{callbackRoute, callbackRouteBare} {
		s.plain("GET "+path, http.HandlerFunc(s.callback))
		s.plain("POST "+path, http.HandlerFunc(s.callback))
	}
	o.Metrics.prepare(s.Directory.Types(), routes)
	return s.outermost(s.mux), nil
}

// plain registers a route that is no part of the JSON API.
func (s *service) plain(pattern string, h http.Handler) {
	s.mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		matched(w)
		h.ServeHTTP(w, r)
	}))
}

// guarded asks for a token before it lets a request through.
func (s *service) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.authorised(r) {
			writeProblem(w, errUnauthorised())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// written serves a text that is written when somebody asks for it first: the
// description of the API takes longer than all the rest of a start.
func written(contentType string, write func() ([]byte, error)) http.Handler {
	once := sync.OnceValues(write)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := once()
		if err != nil {
			writeProblem(w, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body) // a client that left is no concern of ours
	})
}
