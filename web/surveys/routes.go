// Package surveys holds the routes of surveys and respondents, with the types of
// their bodies. Imports and downloads take bounded memory regardless of their length,
// and end after half a minute without progress.
package surveys

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"weir"
	"weir/people"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// Store is the part of the survey store that the API uses without the
// broker.
type Store interface {
	surveyStore
	respondentStore
	logStore
	importStore
}

// Broker is the survey broker as the API uses it.
type Broker interface {
	surveyBroker
	reportBroker
	correctionBroker
}

// Options are what the routes of surveys and respondents use.
type Options struct {
	Contacts    weir.ContactReader
	Surveys     Broker
	SurveyStore Store
	Importer    surveys.Importer
	Tokens      surveys.Tokens // of respondents
	MaxImport   int64          // bytes of one import of respondents
	// MayCall returns why a URL must not be called; nil: every URL may be.
	MayCall   func(url string) error
	Purposes  people.Purposes  // nil: there is none but the default
	Downloads *route.Downloads // also limits and ends imports
	Now       func() time.Time
}

// Routes returns the route table.
func Routes(o Options) []*route.Route {
	find := finder{o.SurveyStore}
	definitions := surveyRoutes{finder: find, store: o.SurveyStore, broker: o.Surveys, mayCall: o.MayCall, purposes: o.Purposes, now: o.Now}
	imports := importRoute{
		finder: find, maxImport: o.MaxImport, transfers: o.Downloads.Transfers, changed: o.Surveys.Changed,
		into: importTarget{store: o.SurveyStore, importer: o.Importer, now: o.Now, ending: o.Downloads.Ending, logger: o.Downloads.Logger},
	}
	people := respondentFinder{finder: find, store: o.SurveyStore, tokens: o.Tokens}
	pilots := pilotRoutes{respondentFinder: people, pilots: o.SurveyStore, broker: o.Surveys, purposes: o.Purposes, into: imports.into, beginning: &sync.Mutex{}}
	exports := exportRoutes{
		finder: find, downloads: o.Downloads,
		from: exportSource{respondents: o.SurveyStore, log: o.SurveyStore, tokens: o.Tokens},
	}
	return slices.Concat(
		definitions.routes(), logRoute{find, o.SurveyStore}.routes(), definitions.stepRoutes(), launchCheckRoute{find, o.Surveys, o.Tokens, o.Now}.routes(), courseRoute{find, o.Surveys}.routes(), answersRoute{find, o.SurveyStore}.routes(), pilots.routes(),
		imports.routes(), respondentRoutes{people, o.Surveys, o.Contacts}.routes(), correctionRoutes{people, o.Surveys, o.Importer}.routes(), exports.routes(),
	)
}

// surveyName matches a valid survey name. It has no colon: in a path, a step
// follows the colon.
var surveyName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

const Path = "/v1/surveys/{survey}"

// StepHandler dispatches to the route of a step by the word after the colon, as in
// Path:launch: the mux does not support such patterns. It sets the request's pattern and
// the survey's name, as the mux would.
func StepHandler(steps map[string]*route.Route, gate *auth.Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.PathValue("survey")
		colon := strings.LastIndexByte(given, ':')
		if colon < 0 {
			w.Header().Set("Allow", "DELETE, GET, HEAD, PATCH, PUT")
			route.MarkMatched(w)
			httpjson.WriteProblem(w, weir.Errorf(weir.CodeMethod, "method not allowed; use DELETE, GET, HEAD, PATCH or PUT, and POST …:launch, :pause, :resume, :stop, :lock or :unlock for steps"))
			return
		}
		step, ok := steps[given[colon+1:]]
		if !ok {
			route.MarkMatched(w)
			httpjson.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "a survey is asked to :launch, :pause, :resume, :stop, :lock or :unlock"))
			return
		}
		r.SetPathValue("survey", given[:colon])
		r.Pattern = "POST " + step.Path
		step.Handler(gate).ServeHTTP(w, r)
	})
}

// finder finds surveys, and pilots of surveys, by the name in a path.
type finder struct {
	store interface {
		Survey(ctx context.Context, name string) (surveys.Survey, error)
	}
}

// survey finds a survey by the name in a path.
func (f finder) survey(ctx context.Context, name string) (surveys.Survey, error) {
	whole := name
	if of, n := surveys.PilotOf(name); n != 0 {
		whole = of
	}
	if !surveyName.MatchString(whole) {
		return surveys.Survey{}, weir.Errorf(weir.CodeNotFound, "there is no such survey")
	}
	v, err := f.store.Survey(ctx, name)
	if err == nil && v.Deleting || weir.CodeOf(err) == weir.CodeNotFound {
		return surveys.Survey{}, weir.Errorf(weir.CodeNotFound, "there is no survey %s", name)
	}
	return v, err
}

// onSurvey returns a handler that finds the survey of the path first.
func (f finder) onSurvey(serve func(*route.Call, surveys.Survey) (route.Reply, error)) func(*route.Call) (route.Reply, error) {
	return func(c *route.Call) (route.Reply, error) {
		v, err := f.survey(c, c.Request.PathValue("survey"))
		if err != nil {
			return route.Reply{}, err
		}
		return serve(c, v)
	}
}
