// Package surveyapi holds the routes of surveys and respondents, with the types of
// their bodies. Imports and downloads take bounded memory regardless of their length,
// and end after half a minute without progress.
package surveyapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"weir"
	"weir/events"
	"weir/ops"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

// Store is the part of the survey store that the API uses without the
// broker.
type Store interface {
	PutSurvey(ctx context.Context, s surveys.Survey) (_ surveys.Survey, created bool, err error)
	UpdateSurvey(ctx context.Context, s surveys.Survey, told ...events.Event) (surveys.Survey, error)
	Survey(ctx context.Context, name string) (surveys.Survey, error)
	SurveyByID(ctx context.Context, id int64) (surveys.Survey, error)
	Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error)
	RemoveSurvey(ctx context.Context, id int64) error
	Respondent(ctx context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error)
	Respondents(ctx context.Context, f surveys.Filter) (_ []surveys.Respondent, next surveys.RespondentID, err error)
	Log(ctx context.Context, survey, after int64, limit int) ([]surveys.LogEntry, error)
	Recent(ctx context.Context, f surveys.LogFilter) (_ []surveys.LogEntry, next int64, err error)
}

// Broker is the survey broker as the API uses it.
type Broker interface {
	// Check finds every error in a definition, including errors that depend on
	// the channels.
	Check(ctx context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError)
	// Step launches, pauses, resumes, stops, locks or unlocks a survey. The change is durable
	// when it returns. A step without effect is not an error.
	Step(ctx context.Context, name string, step surveys.Step) (surveys.Survey, error)
	// Launch is Step for a launch; with skip, respondents that are missing a value
	// do not prevent it.
	Launch(ctx context.Context, name string, skip bool) (surveys.Survey, error)
	// StopRespondent ends a respondent. It is not an error if it is final.
	StopRespondent(ctx context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error)
	// Report applies an application's report on a respondent. The report is
	// durable when it returns.
	Report(ctx context.Context, s surveys.Survey, id surveys.RespondentID, h surveys.Report) (surveys.Respondent, error)
	Stats(ctx context.Context, s surveys.Survey) (surveys.Stats, error)
	// Why explains why a survey contacts no respondent now; WhyRespondent
	// explains why a respondent waits. Both return the zero value if nothing
	// waits.
	Why(ctx context.Context, s surveys.Survey) (ops.Why, error)
	WhyRespondent(ctx context.Context, s surveys.Survey, r surveys.Respondent) (ops.Why, error)
	// Changed reports that a survey or its respondents changed; survey 0: a
	// channel changed, which any survey may use.
	Changed(survey int64)
}

// Service serves the routes of surveys and respondents.
type Service struct {
	Contacts    weir.ContactReader
	Surveys     Broker
	SurveyStore Store
	Importer    surveys.Importer
	Tokens      surveys.Tokens // of respondents
	MaxImport   int64          // bytes of one import of respondents
	// MayCall returns why a URL must not be called; nil: every URL may be.
	MayCall   func(url string) error
	Logger    *slog.Logger
	Ending    func() bool // imports and exports end now
	Now       func() time.Time
	Transfers *auth.ConcurrencyLimit // limits imports and downloads
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
			wire.WriteProblem(w, weir.Errorf(weir.CodeMethod, "method not allowed; use DELETE, GET, HEAD, PATCH or PUT, and POST …:launch, :pause, :resume, :stop, :lock or :unlock for steps"))
			return
		}
		step, ok := steps[given[colon+1:]]
		if !ok {
			route.MarkMatched(w)
			wire.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "a survey is asked to :launch, :pause, :resume, :stop, :lock or :unlock"))
			return
		}
		r.SetPathValue("survey", given[:colon])
		r.Pattern = "POST " + step.Path
		step.Handler(gate).ServeHTTP(w, r)
	})
}

// survey finds a survey by the name in a path.
func (s *Service) survey(ctx context.Context, name string) (surveys.Survey, error) {
	if !surveyName.MatchString(name) {
		return surveys.Survey{}, weir.Errorf(weir.CodeNotFound, "there is no such survey")
	}
	v, err := s.SurveyStore.Survey(ctx, name)
	if err == nil && v.Deleting || weir.CodeOf(err) == weir.CodeNotFound {
		return surveys.Survey{}, weir.Errorf(weir.CodeNotFound, "there is no survey %s", name)
	}
	return v, err
}

func (s *Service) listSurveys(c *route.Call) (route.Reply, error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("surveys")
	if err != nil {
		return route.Reply{}, err
	}
	var states []surveys.State
	for _, word := range c.Query.List("state") {
		states = append(states, surveys.State(word))
	}
	rows, err := s.SurveyStore.Surveys(c, states, after, most+1)
	if err != nil {
		return route.Reply{}, err
	}
	page := SurveyList{Surveys: []SurveySummary{}}
	if len(rows) > most {
		rows = rows[:most]
		page.NextCursor = wire.NameCursor("surveys", rows[most-1].Name)
	}
	for i := range rows {
		page.Surveys = append(page.Surveys, surveySummary(rows[i]))
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

// onSurvey returns a handler that finds the survey of the path first.
func (s *Service) onSurvey(serve func(*route.Call, surveys.Survey) (route.Reply, error)) func(*route.Call) (route.Reply, error) {
	return func(c *route.Call) (route.Reply, error) {
		v, err := s.survey(c, c.Request.PathValue("survey"))
		if err != nil {
			return route.Reply{}, err
		}
		return serve(c, v)
	}
}

func (s *Service) getSurvey(c *route.Call, v surveys.Survey) (route.Reply, error) {
	view := surveyView(v)
	why, err := s.Surveys.Why(c, v)
	view.Why, view.WhyCode, view.WhyInstants = why.Text, why.Code, why.Instants()
	return route.Reply{Status: http.StatusOK, Body: view}, err
}

func (s *Service) applyStep(step surveys.Step) func(*route.Call) (route.Reply, error) {
	return s.onSurvey(func(c *route.Call, have surveys.Survey) (route.Reply, error) {
		var v surveys.Survey
		var err error
		if step == surveys.Launch {
			v, err = s.Surveys.Launch(c, have.Name, c.Query.Text("missing") == "skip")
		} else {
			v, err = s.Surveys.Step(c, have.Name, step)
		}
		if err != nil {
			return route.Reply{}, err
		}
		return route.Reply{Status: http.StatusOK, Body: surveyView(v), Changes: route.ChangesOf(
			map[string]any{"state": have.State, "locked": have.Locked}, map[string]any{"state": v.State, "locked": v.Locked}, surveySecret)}, nil
	})
}

func (s *Service) deleteSurvey(c *route.Call, v surveys.Survey) (route.Reply, error) {
	if err := v.CheckUnlocked(); err != nil {
		return route.Reply{}, err
	}
	switch v.State {
	case surveys.Draft, surveys.Done:
	case surveys.Stopping:
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "survey %s is stopping; delete it when it is done", v.Name)
	default:
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "survey %s is %s; stop it first, and delete it when it is done", v.Name, v.State)
	}
	if err := s.SurveyStore.RemoveSurvey(c, v.ID); err != nil {
		return route.Reply{}, err
	}
	s.Surveys.Changed(v.ID)
	return route.Reply{Status: http.StatusNoContent}, nil
}

func (s *Service) surveyStats(c *route.Call, v surveys.Survey) (route.Reply, error) {
	stats, err := s.Surveys.Stats(c, v)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: statsView(v, stats)}, nil
}

// acquireTransfer waits until an import or a download may begin, so that memory
// stays bounded however many clients connect at once.
func (s *Service) acquireTransfer(c *route.Call) (release func(), err error) {
	release, ok := s.Transfers.Acquire(c, c.Principal.ID(), route.AcquireTime)
	if ok {
		return release, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nil, &weir.Error{
		Code: weir.CodeUnavailable, RetryAfter: route.AcquireTime,
		Message: fmt.Sprintf("too many imports and downloads at once (at most %d, %d with one token); try again later", route.MaxTransfers, route.MaxTransfersPerToken),
	}
}

// surveySecret reports whether a path in a survey is that of a secret.
func surveySecret(path string) bool { return path == "application.secret" }
