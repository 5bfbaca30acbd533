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
	"weir/routing/resource"
)

// Options configures the handler.
type Options struct {
	Engine routing.Engine
	// Keys are the access keys; a request may be signed with any of them.
	Keys [][]byte
	// Open admits unsigned requests while it returns true, if there are no keys.
	// Use it only for servers reachable from this machine alone. nil: never.
	Open func() bool
	// Bearer authorizes requests that carry a bearer token instead of a signature.
	// nil: bearer tokens are not accepted.
	Bearer func(*http.Request) error
	// Address returns an error for a function or webhook address that must not be
	// called. nil: every address is allowed.
	Address func(string) error
	// Failing lists the functions whose calls fail, as seen by this process. nil:
	// none.
	Failing func() []routing.FailingFunction
	// PublicURL is the address at which clients reach the server; may be empty.
	// Links use its scheme if they have its host.
	PublicURL string
	// Prefix precedes the paths of links. Requests arrive without it.
	Prefix string
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
	Limits Limits
}

// Limits sets the bounds that the API does not specify. The zero value means the
// defaults.
type Limits struct {
	Body    int64         // max bytes of a request body; 0: 1 MiB
	Page    int           // entries per page if the client does not specify; 0: 100
	MaxPage int           // max entries per page; 0: 1000
	Skew    time.Duration // max difference between a request's date and now; 0: 15 minutes
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 1 << 20
	}
	if l.Page == 0 {
		l.Page = 100
	}
	if l.MaxPage == 0 {
		l.MaxPage = 1000
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
	queries    map[string]url.Values // parsed queries that contain only a version, by raw query; read-only
	headers    headers
	buffers    sync.Pool // for responses
	shapes     map[version]map[resource.Kind]object
	actions    map[string]object
}

// New returns the handler of everything below /routing/. Requests must arrive with
// the path that the client sent, because the signature covers it.
func New(o Options) (http.Handler, error) {
	if o.Engine == nil || o.Logger == nil {
		return nil, errors.New("jobrouter: Engine and Logger are required")
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
	o.Limits = o.Limits.withDefaults()
	s := &service{
		Options:    o,
		signatures: newSignatures(o.Keys, o.Limits.Skew),
		queries:    map[string]url.Values{},
		headers:    headers{versions: []string{supported}, noSniffing: []string{"nosniff"}, json: []string{jsonType}},
		buffers:    sync.Pool{New: func() any { return new([]byte) }},
		shapes:     map[version]map[resource.Kind]object{},
		actions:    actionShapes(),
	}
	for _, v := range versions() {
		s.shapes[v] = resourceShapes(v)
		s.queries["api-version="+string(v)] = url.Values{"api-version": {string(v)}}
	}
	s.routes = s.table()
	return http.HandlerFunc(s.serve), nil
}
