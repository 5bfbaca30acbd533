package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir"
	"weir/channels"
	"weir/events"
	"weir/ops"
	"weir/surveys"
	"weir/web/docs"
)

// Store is the part of the store that the API uses without the broker.
type Store interface {
	weir.ChannelStore
	weir.ContactReader
	weir.IncomingStore
	// Ready returns an error if the store cannot be written to.
	Ready(ctx context.Context) error
}

// Broker is the running broker as the API uses it.
type Broker interface {
	// Accept stores contacts. They are durable when it returns.
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
	// Report applies a provider's reports. They are durable when it returns.
	Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error)
	// Cancel cancels a contact. Done: it is canceled; any other state: the
	// provider, or the process that runs the channel, is being asked.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
	// Changed reports that the row of a channel was created or changed.
	Changed(ctx context.Context, channel weir.ChannelID)
	// Delete ends the open contacts of a channel and marks it as deleted. done
	// is false while that is still in progress.
	Delete(ctx context.Context, channel weir.ChannelID) (done bool, err error)
	// Requeue creates new contacts from dead letters of a channel.
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (ops.Requeued, error)
	// CurrentMinutes lists the counts that are not in the store yet.
	CurrentMinutes() []ops.Minute
	// Figures returns the live figures of a channel.
	Figures(ctx context.Context, ch weir.Channel) (ops.Figures, error)
	// Whys explains why each of some contacts of a channel waits, in their
	// order.
	Whys(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]ops.Why, error)
	// FiguresOf returns the figures of many channels, in their order.
	FiguresOf(ctx context.Context, list []weir.Channel) ([]ops.Figures, error)
}

// Options configure the handler.
type Options struct {
	Store     Store
	Broker    Broker
	Directory *channels.Directory
	// Gate admits requests. While it is open the caller must listen on loopback
	// only.
	Gate            *Gate
	DefaultCapacity int // of channels that set none
	Logger          *slog.Logger
	Metrics         *Metrics
	Gatherer        prometheus.Gatherer
	Version         string      // shown in the API description
	Draining        func() bool // nil: never
	// Router returns the phase of the job router in this process; nil: it has
	// none.
	Router func() string
	// Surveys and SurveyStore are the survey broker and its store. Without them
	// there are no survey routes.
	Surveys     Surveys
	SurveyStore SurveyStore
	Tokens      surveys.Tokens // of respondents
	MostImport  int64          // bytes of one import of respondents; 0: 1 GiB
	TempDir     string         // for lists of bad rows that are too long for memory; empty: the system's
	// Events is the event log. Without it there are no event routes.
	Events events.Log
	// Minutes stores the per-minute counters of channels. Without it there are
	// no routes for minutes.
	Minutes ops.MinuteStore
	// Dead stores the dead letters. Without it there are no routes for them.
	Dead ops.DeadLetterStore
	// Trail records the audit log. Without it there is none.
	Trail *Trail
	// Hold keeps Weir from dispatching anything; nil: there is no hold.
	Hold Hold
	// MayCall returns why a URL must not be called; nil: every URL may be.
	MayCall func(url string) error
	// HSTS makes browsers require https. Set it if PUBLIC_URL is https.
	HSTS bool
	// Refusals logs refused requests; nil: the handler creates one.
	Refusals *RefusalLog
	// Prefix precedes every path for clients; the API description includes it.
	Prefix string
	// Mounted are handlers of whole subtrees, by their pattern. They
	// authenticate requests themselves.
	Mounted map[string]http.Handler
	Now     func() time.Time // nil: time.Now

	served func(pattern string) // called with every registered pattern; nil: none
}

// service is the state of the handler.
type service struct {
	Options
	callbacks *callbackIndex
	siblings  *siblings
	seats     *Seats // of imports and downloads
	streams   *Seats // of event streams
	mux       *http.ServeMux
}

// New returns the handler of all routes.
func New(o Options) (http.Handler, error) {
	if o.DefaultCapacity < weir.MinCapacity || o.DefaultCapacity > weir.MaxCapacity {
		return nil, fmt.Errorf("a default capacity of %d: want %d to %d", o.DefaultCapacity, weir.MinCapacity, weir.MaxCapacity)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refusals == nil {
		o.Refusals = NewRefusalLog(o.Logger)
	}
	if o.Draining == nil {
		o.Draining = func() bool { return false }
	}
	if (o.Surveys == nil) != (o.SurveyStore == nil) {
		return nil, errors.New("web: Surveys and SurveyStore go together")
	}
	if o.Gate == nil {
		return nil, errors.New("web: a gate is needed")
	}
	if o.MostImport == 0 {
		o.MostImport = mostImport
	}
	s := &service{
		Options:   o,
		callbacks: newCallbackIndex(o.Store, o.Now),
		siblings:  newSiblings(o.Store, o.Directory, o.Now),
		seats:     NewSeats(maxTransfers, transferShare),
		streams:   NewSeats(MaxStreams, StreamShare),
		mux:       http.NewServeMux(),
	}
	routes := s.routes()
	if err := grant(routes); err != nil {
		return nil, err
	}
	description, err := describe(routes, o)
	if err != nil {
		return nil, err
	}
	steps := stepRoutes(routes)
	for _, rt := range routes {
		if !slices.Contains(slices.Collect(maps.Values(steps)), rt) {
			s.handle(rt.method+" "+rt.path, s.handler(rt))
		}
	}
	if len(steps) > 0 {
		s.handle("POST "+surveyPath, s.step(steps))
	}
	s.plain("GET /openapi.json", written("application/openapi+json", description.MarshalJSON))
	s.plain("GET /openapi.yaml", written("application/openapi+yaml", description.YAML))
	s.plain("GET /docs", docs.Page(description.MarshalJSON, writeProblem))
	s.plain("GET /docs/style.css", docs.Style())
	s.plain("GET /livez", http.HandlerFunc(livez))
	s.plain("GET /readyz", http.HandlerFunc(s.readyz))
	s.plain("GET /readyz/router", http.HandlerFunc(s.readyRouter))
	s.plain("GET "+metricsPath, s.guarded(promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{}), ops.ScopeMetricsRead))
	for _, path := range []string{callbackRoute, callbackRouteBare} {
		s.plain("GET "+path, http.HandlerFunc(s.callback))
		s.plain("POST "+path, http.HandlerFunc(s.callback))
	}
	for pattern, h := range o.Mounted {
		s.plain(pattern, h)
	}
	o.Metrics.prepare(s.Directory.Types(), routes)
	return s.outermost(newDirect(http.HandlerFunc(s.dispatch), o.Mounted)), nil
}

// handle registers a pattern.
func (s *service) handle(pattern string, h http.Handler) {
	if s.served != nil {
		s.served(pattern)
	}
	s.mux.Handle(pattern, h)
}

// plain registers a route outside the JSON API.
func (s *service) plain(pattern string, h http.Handler) {
	s.handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		matched(w)
		h.ServeHTTP(w, r)
	}))
}

// guarded requires a token with one of the scopes.
func (s *service) guarded(h http.Handler, oneOf ...ops.Scope) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.admit(w, r, oneOf); err != nil {
			writeProblem(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// written serves a text that is generated on the first request: generating the
// API description takes longer than all the rest of startup.
func written(contentType string, write func() ([]byte, error)) http.Handler {
	once := sync.OnceValues(write)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := once()
		if err != nil {
			writeProblem(w, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body) // a disconnected client is not an error
	})
}
