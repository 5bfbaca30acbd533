package web

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"weir/limits"
	"weir/people"
	"weir/surveys"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/callbacks"
	peopleapi "weir/web/people"
	surveyapi "weir/web/surveys"
)

// Store is the store as the API and callbacks use it.
type Store interface {
	webapi.Store
	callbacks.Store
}

// Broker is the running broker as the API uses it.
type Broker interface {
	webapi.Broker
	callbacks.Broker
}

// Surveys is the survey broker as the API uses it.
type Surveys interface {
	surveyapi.Broker
	callbacks.Surveys
}

// Options configure the handler.
type Options struct {
	webapi.Options
	Draining func() bool // the process shuts down, and still serves; nil: never
	// Router returns the phase of the job router in this process; nil: it has
	// none.
	Router func() string
	// DatabaseServer returns HOST:PORT of the database server in use; empty or nil: the database
	// is a file.
	DatabaseServer func() string
	Store          Store
	Broker         Broker
	// Gate admits requests. While it is open the caller must listen on loopback
	// only.
	Gate     *auth.Gate
	Logger   *slog.Logger
	Metrics  *Metrics
	Gatherer prometheus.Gatherer
	Version  string // shown in the API description
	// Surveys, SurveyStore and Importer are the survey broker and its store. Without
	// them there are no survey routes.
	Surveys     Surveys
	SurveyStore surveyapi.Store
	Importer    surveys.Importer
	Respondents peopleapi.RespondentFinder // over all surveys; nil: there are none
	Tokens      surveys.Tokens             // of respondents
	MaxImport   int64                      // bytes of one import of respondents; 0: 1 GiB
	People      people.Store               // what people said about being contacted; nil: nothing is kept
	Limits      limits.Store               // limits, prices and budgets; nil: there are none
	Words       *people.Words              // of the installation; nil: [people.DefaultWords]
	// HSTS makes browsers require https. Set it if PUBLIC_URL is https.
	HSTS bool
	// Refusals logs refused requests; nil: the handler creates one.
	Refusals *RefusalLog
	// Prefix precedes every path for clients; the API description includes it.
	Prefix string
	// Mounted are handlers of whole subtrees, by their pattern. They
	// authenticate requests themselves.
	Mounted map[string]http.Handler

	served func(pattern string) // called with every registered pattern; nil: none
}

// service is the state of the handler.
type service struct {
	Options
	mux *http.ServeMux
}
