package dashboard

import (
	"context"
	"log/slog"
	"net/http"

	"weir/operators"
	"weir/web/auth"
	"weir/web/openid"

	"weir/web/dashboard/help"
	"weir/web/dashboard/locale"
)

// Options configures a dashboard.
type Options struct {
	// API serves every request of Weir's own API and of the router's. It is not
	// called before the first page is requested.
	API http.Handler
	// Sessions stores log-ins. A request with [auth.WithSession] carries the text of
	// one.
	Sessions Sessions
	// Names logs people in by name; nil: it is not configured.
	Names *openid.Provider
	// GroupsWithScopes are the groups at that provider whose members have access.
	GroupsWithScopes []string
	// Record adds an entry to the audit log. Log-ins by name are no requests of the API, which
	// records those itself.
	Record func(operators.AuditEntry)
	// Prefix precedes every path that browsers see, without a trailing slash;
	// empty: none.
	Prefix string
	// PublicURL is the address at which others reach Weir. If it is https, cookies
	// are Secure.
	PublicURL string
	Version   string
	Logger    *slog.Logger
	Ending    func() bool // live pages end now
}

// Sessions begins and ends log-ins.
type Sessions interface {
	// Begin returns the text of a new session; empty: no token is needed.
	Begin(ctx context.Context, token string) (text string, err error)
	End(ctx context.Context, text string) error
	// BeginPerson returns the text of a new session of a person; forbidden: none of the groups has
	// scopes.
	BeginPerson(ctx context.Context, id string, groups []string) (text string, err error)
	// AdmitAttempt rejects attempts of an address that failed too often, as NoteFailure counts.
	AdmitAttempt(r *http.Request) error
	NoteFailure(r *http.Request, presented string)
}

// Dashboard serves the pages. The server of the API mounts its patterns.
type Dashboard struct {
	Options
	files           *files
	locales         *locale.Set
	templates       map[string]pageTemplates // by the code of a language
	streams         *auth.ConcurrencyLimit
	uploads         *auth.ConcurrencyLimit // files that are being sent
	fragmentCache   *cache[[]fragment]
	recentCache     *cache[*recent]
	chartCache      *cache[*charts]
	skippedCache    *cache[[]skippedRow]
	surveyCache     *cache[[]surveyCard]
	courseCache     *cache[*courseData]
	hoursCache      *cache[*hoursData]
	planCache       *cache[*surveyPlan]
	workerHistories workerHistories
	respondentCache *cache[respondentHistory]
	origins         *http.CrossOriginProtection
	routes          map[string]http.Handler
	nav             []navItem
	names           *nameLogins
	documents       func() ([]*help.Document, error)
	helpTargets     map[string]string // by the path of a page
	kept            keptForms
	sendings        sendings
}

// fragment is the current state of a live region.
type fragment struct {
	id    string
	event []byte // in the stream's format, encoded once for all streams
	hash  uint64
}

// navItem is a page in the navigation.
type navItem struct {
	Text, Link string
	Current    bool
	text       locale.Message
	path       string
	scopes     []operators.Scope
	whole      bool
}
