package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/channels"
	"weir/events"
	"weir/internal/tracing"
	"weir/ops"
	"weir/surveys"
	"weir/web/api"
	"weir/web/auth"
	"weir/web/callbacks"
	"weir/web/surveyapi"
)

// Store is the store as the API and callbacks use it.
type Store interface {
	api.Store
	callbacks.Store
}

// Broker is the running broker as the API uses it.
type Broker interface {
	api.Broker
	callbacks.Broker
}

// Surveys is the survey broker as the API uses it.
type Surveys interface {
	surveyapi.Broker
	callbacks.Surveys
}

// Options configure the handler.
type Options struct {
	Store     Store
	Broker    Broker
	Directory *channels.Directory
	// Gate admits requests. While it is open the caller must listen on loopback
	// only.
	Gate            *auth.Gate
	DefaultCapacity int // of channels that set none
	Logger          *slog.Logger
	Metrics         *Metrics
	Gatherer        prometheus.Gatherer
	Version         string      // shown in the API description
	Draining        func() bool // nil: never
	// Router returns the phase of the job router in this process; nil: it has
	// none.
	Router func() string
	// Surveys, SurveyStore and Importer are the survey broker and its store. Without
	// them there are no survey routes.
	Surveys     Surveys
	SurveyStore surveyapi.Store
	Importer    surveys.Importer
	Tokens      surveys.Tokens // of respondents
	MaxImport   int64          // bytes of one import of respondents; 0: 1 GiB
	TempDir     string         // for lists of bad rows that are too long for memory; empty: the system's
	// Events is the event log. Without it there are no event routes.
	Events events.Log
	// Interest has the events of contacts written while clients read them; nil: they are
	// not, for their sake.
	Interest events.Interest
	// Tracing exports traces; nil: traces are off.
	Tracing *tracing.Tracer
	// Webhooks stores the webhooks of clients, and TestWebhook sends the test event to
	// one. Without them there are no routes for webhooks.
	Webhooks    events.WebhookStore
	TestWebhook func(context.Context, events.Webhook) (events.Try, error)
	// Minutes stores the per-minute counters of channels. Without it there are
	// no routes for minutes.
	Minutes ops.MinuteStore
	// Dead stores the dead letters. Without it there are no routes for them.
	Dead ops.DeadLetterStore
	// Trail records the audit log. Without it there is none.
	Trail *auth.Trail
	// Hold keeps Weir from dispatching anything; nil: there is no hold.
	Hold api.Hold
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
	mux *http.ServeMux
}
