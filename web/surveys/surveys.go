package surveys

import (
	"context"
	"math"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/events"
	"weir/internal/document"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

// surveyStore keeps the definitions of surveys.
type surveyStore interface {
	PutSurvey(ctx context.Context, s surveys.Survey, on document.Condition) (_ surveys.Survey, created bool, err error)
	UpdateSurvey(ctx context.Context, s surveys.Survey, told ...events.Event) (surveys.Survey, error)
	Survey(ctx context.Context, name string) (surveys.Survey, error)
	Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error)
	RemoveSurvey(ctx context.Context, id int64) error
}

// surveyBroker checks and controls surveys.
type surveyBroker interface {
	// Check finds every error in a definition, including errors that depend on
	// the channels.
	Check(ctx context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError)
	// Step launches, pauses, resumes, stops, locks or unlocks a survey. The change is durable
	// when it returns. A step without effect is not an error.
	Step(ctx context.Context, name string, step surveys.Step) (surveys.Survey, error)
	// Launch is Step for a launch; with skip, respondents that are missing a value
	// do not prevent it.
	Launch(ctx context.Context, name string, skip bool) (surveys.Survey, error)
	// CheckLaunch returns what a launch would find. It changes nothing.
	CheckLaunch(ctx context.Context, s surveys.Survey) (surveys.LaunchCheck, error)
	Stats(ctx context.Context, s surveys.Survey) (surveys.Stats, error)
	// Course returns how a survey goes in the days and the zone of q, of which it fills in the
	// rest.
	Course(ctx context.Context, s surveys.Survey, q surveys.CourseQuery) (*surveys.Plan, surveys.Course, error)
	// Why explains why a survey contacts no respondent now. It returns the zero
	// value if nothing waits.
	Why(ctx context.Context, s surveys.Survey) (operators.Why, error)
	// Changed reports that a survey or its respondents changed; survey 0: a
	// channel changed, which any survey may use.
	Changed(survey int64)
}

// surveyRoutes serves the surveys themselves: their definitions, steps and figures.
type surveyRoutes struct {
	finder
	store    surveyStore
	broker   surveyBroker
	mayCall  func(url string) error // nil: every URL may be called
	purposes people.Purposes        // nil: there is none but the default
	now      func() time.Time
}

func (s surveyRoutes) routes() []*route.Route {
	view := route.TypeOf[api.SurveyView]()
	put := &route.Route{
		Method: "PUT", Path: Path, ID: "put-survey", Tag: "surveys",
		Summary: "Create a survey, or replace one that is a draft",
		Description: "The name in the path is 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit. " +
			"A replacement carries the whole survey, the application's secret included; its respondents stay. " +
			"The read-only fields of a survey in a response (" + strings.Join(readOnlyFields(), ", ") + ") are ignored, so that a survey can be written as it was read. " +
			"A dry run that finds nothing wrong, but something that may be meant otherwise, answers 200 with warnings.",
		Body: route.TypeOf[api.SurveyBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Lenient: true,
		Query:   []httpjson.Parameter{route.Create("survey"), route.DryRun()},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "replaced; or a dry run with warnings, and what the survey would be", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}, route.RightAnswer()},
		Codes:   []weir.Code{weir.CodeConflict},
	}
	put.Handle = func(c *route.Call) (route.Reply, error) {
		dropReadOnly(c.Body)
		put.Check.Check(c.Body, "", &c.Errors)
		return s.putSurvey(c)
	}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/surveys", ID: "list-surveys", Tag: "surveys",
			Summary: "List surveys by name",
			Query: append([]httpjson.Parameter{{Name: "state", Kind: "string", Enum: httpjson.Words(surveys.States()), Description: "one or more states, joined by commas"}},
				route.Paging(50, 100)...),
			Handle:  s.listSurveys,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.SurveyList]()}},
		},
		put,
		{
			Method: "GET", Path: Path, ID: "get-survey", Tag: "surveys",
			Summary: "A survey with its definition", Handle: s.onSurvey(s.getSurvey),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the survey", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: Path, ID: "patch-survey", Tag: "surveys",
			Summary: "Change fields of a survey",
			Description: "A JSON merge patch (RFC 7396). A draft may change wholly. While a survey is running or paused, the arms, the questionnaires, the region, the channels of modes and what the quotas speak of stay; " +
				"409 names what cannot change. Of a survey that is stopping or done, the title and the application may change. A locked survey cannot change.",
			Query: []httpjson.Parameter{{Name: "version", Kind: "integer", Minimum: 1, Maximum: math.MaxInt64, Description: "change it only if this is still its version"}, route.DryRun()},
			Body:  route.TypeOf[api.SurveyPatch](), BodyTypes: []string{httpjson.JSONType, httpjson.MergePatchType}, BodyLimit: httpjson.MaxBody, Lenient: true,
			Handle: s.onSurvey(func(c *route.Call, v surveys.Survey) (route.Reply, error) {
				return s.patchSurvey(c, v, put.Check)
			}),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeLocked},
		},
		{
			Method: "DELETE", Path: Path, ID: "delete-survey", Tag: "surveys",
			Summary:     "Delete a survey with its respondents and its log",
			Description: "Only of a survey that is a draft or done, and so are its pilots, which go with it: stop them first. Its name is free at once.",
			Handle:      s.onSurvey(s.deleteSurvey),
			Answers:     []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeLocked},
		},
		{
			Method: "GET", Path: Path + "/stats", ID: "get-survey-stats", Tag: "surveys",
			Summary: "Figures of a survey", Handle: s.onSurvey(s.surveyStats),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "its figures", Body: route.TypeOf[api.StatsView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

// readOnlyFields are the fields that only responses have.
func readOnlyFields() []string {
	return []string{"survey", "state", "cause", "locked", "pilot_of", "version", "created_at", "updated_at", "launched_at", "ended_at", "why", "why_code", "why_instants", "why_clauses", "warnings"}
}

// dropReadOnly removes the read-only fields of a survey that is written as it was read.
func dropReadOnly(body map[string]any) {
	for _, name := range readOnlyFields() {
		delete(body, name)
	}
	if application, ok := body["application"].(map[string]any); ok {
		delete(application, "has_secret")
	}
}

func (s surveyRoutes) stepRoutes() []*route.Route {
	var routes []*route.Route
	for _, x := range []struct {
		step          surveys.Step
		summary, more string
	}{
		{surveys.Launch, "Launch a draft", "Refused, with the reasons, if its windows have all passed, if a respondent is missing a value used in the texts (see `missing`), and (409) if one of its channels cannot be prepared. Quotas on an attribute that no respondent has yet are counted once an answer sets it; without an application the answer warns of them."},
		{surveys.Pause, "Pause a survey", "What is out goes on, and answers are taken."},
		{surveys.Resume, "Resume a paused survey", ""},
		{surveys.Stop, "Stop a survey", "Its respondents are canceled and what is queued is withdrawn; then it is done."},
		{surveys.Lock, "Lock a running survey", "Until it is unlocked, it cannot be paused, stopped, changed or deleted (409, `locked`). It ends by itself all the same, and its respondents can be added, corrected, stopped and removed."},
		{surveys.Unlock, "Unlock a survey", ""},
	} {
		codes := []weir.Code{weir.CodeNotFound, weir.CodeConflict}
		if x.step == surveys.Pause || x.step == surveys.Stop {
			codes = append(codes, weir.CodeLocked)
		}
		routes = append(routes, &route.Route{
			Method: "POST", Path: Path + ":" + string(x.step), ID: string(x.step) + "-survey", Tag: "surveys",
			Summary: x.summary, Description: strings.TrimSpace(x.more + " Asking twice changes nothing."), Handle: s.applyStep(x.step), Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the survey", Body: route.TypeOf[api.SurveyView]()}},
			Codes:   codes,
		})
	}
	routes[0].Query = []httpjson.Parameter{{
		Name: "missing", Kind: "string", Enum: []string{"refuse", "skip"}, Single: true, Default: "refuse",
		Description: "if respondents are missing a value used in the texts: refuse the launch, or skip them; the warnings of the answer name them, and they fail when it is their turn unless they are corrected before",
	}}
	return routes
}

func (s surveyRoutes) listSurveys(c *route.Call) (route.Reply, error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("surveys")
	if err != nil {
		return route.Reply{}, err
	}
	var states []surveys.State
	for _, word := range c.Query.List("state") {
		states = append(states, surveys.State(word))
	}
	rows, more, err := route.FillPage(most, &surveys.Survey{Name: after},
		func(after *surveys.Survey, limit int) ([]surveys.Survey, error) {
			return s.store.Surveys(c, states, after.Name, limit)
		},
		func(v *surveys.Survey) (bool, error) {
			_, pilot := surveys.PilotOf(v.Name)
			return pilot == 0 && c.Reaches(operators.Survey(v.Name)), nil
		})
	if err != nil {
		return route.Reply{}, err
	}
	page := api.SurveyList{Surveys: make([]api.SurveySummary, len(rows))}
	if more {
		page.NextCursor = httpjson.NameCursor("surveys", rows[most-1].Name)
	}
	for i := range rows {
		page.Surveys[i] = surveySummary(rows[i])
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

func (s surveyRoutes) getSurvey(c *route.Call, v surveys.Survey) (route.Reply, error) {
	view := surveyView(v)
	why, err := s.broker.Why(c, v)
	view.WhyView = why.View()
	return route.Reply{Status: http.StatusOK, Body: view}, err
}

func (s surveyRoutes) applyStep(step surveys.Step) func(*route.Call) (route.Reply, error) {
	return s.onSurvey(func(c *route.Call, have surveys.Survey) (route.Reply, error) {
		if step == surveys.Launch && have.State == surveys.Draft { // the purpose may have become exempt since
			checkExempt(c, s.purposes, have.Definition.Purpose)
		}
		if err := c.Invalid(); err != nil {
			return route.Reply{}, err
		}
		var v surveys.Survey
		var err error
		if step == surveys.Launch {
			v, err = s.broker.Launch(c, have.Name, c.Query.Text("missing") == "skip")
		} else {
			v, err = s.broker.Step(c, have.Name, step)
		}
		if err != nil {
			return route.Reply{}, err
		}
		return route.Reply{Status: http.StatusOK, Body: surveyView(v), Changes: route.ChangesOf(
			map[string]any{"state": have.State, "locked": have.Locked}, map[string]any{"state": v.State, "locked": v.Locked}, surveySecret)}, nil
	})
}

func (s surveyRoutes) deleteSurvey(c *route.Call, v surveys.Survey) (route.Reply, error) {
	if err := checkRemovable(v); err != nil {
		return route.Reply{}, err
	}
	pilots, err := pilotsOf(c, s.store, v.Name)
	if err != nil {
		return route.Reply{}, err
	}
	for _, pilot := range pilots {
		if err := checkRemovable(pilot); err != nil {
			return route.Reply{}, err
		}
	}
	for _, x := range append(pilots, v) {
		if err := s.store.RemoveSurvey(c, x.ID); err != nil {
			return route.Reply{}, err
		}
	}
	s.broker.Changed(v.ID)
	return route.Reply{Status: http.StatusNoContent}, nil
}

// checkRemovable returns why a survey cannot be deleted now.
func checkRemovable(v surveys.Survey) error {
	if err := v.CheckUnlocked(); err != nil {
		return err
	}
	switch v.State {
	case surveys.Draft, surveys.Done:
		return nil
	case surveys.Stopping:
		return weir.Errorf(weir.CodeConflict, "survey %s is stopping; delete it when it is done", v.Name)
	default:
		return weir.Errorf(weir.CodeConflict, "survey %s is %s; stop it first, and delete it when it is done", v.Name, v.State)
	}
}

func (s surveyRoutes) surveyStats(c *route.Call, v surveys.Survey) (route.Reply, error) {
	stats, err := s.broker.Stats(c, v)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: statsView(v, stats)}, nil
}

// surveySecret reports whether a path in a survey is that of a secret.
func surveySecret(path string) bool { return path == "application.secret" }
