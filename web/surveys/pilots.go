package surveys

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"weir"
	"weir/api"
	"weir/internal/document"
	"weir/internal/failpoint"
	"weir/internal/phonenumber"
	"weir/people"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/route"
)

// pilotRoutes begins pilots and shows them. A pilot is a survey of its own, see [surveys.PilotName]: it
// runs, is stopped and is read like any other.
type pilotRoutes struct {
	respondentFinder
	pilots    pilotStore
	broker    Broker
	purposes  people.Purposes // nil: there is none but the default
	into      importTarget
	beginning *sync.Mutex // one pilot begins at a time: they count each other's respondents
}

// pilotStore keeps surveys, of which some are pilots.
type pilotStore interface {
	surveyStore
	importStore
}

func (s pilotRoutes) routes() []*route.Route {
	const all, one = Path + "/pilots", Path + "/pilots/{pilot}"
	view := route.TypeOf[api.PilotView]()
	return []*route.Route{
		{
			Method: "GET", Path: all, ID: "list-pilots", Tag: "surveys",
			Summary: "List the pilots of a survey", Handle: s.onSurvey(s.list),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all of them", Body: route.TypeOf[api.PilotList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one, ID: "get-pilot", Tag: "surveys",
			Summary: "A pilot with its respondents and their answers", Handle: s.onSurvey(s.get),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the pilot", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PUT", Path: one, ID: "put-pilot", Tag: "surveys",
			Summary: "Begin a pilot of a survey",
			Description: "Contacts a few people for real, as the survey is now, while it is a draft, running or paused, and stays so. All its rules of contact hold: channels, modes, retries, hours, consents, purpose, caps and stop words; " +
				"its dates, cutoff, quotas, brake and budget do not. Nothing of a pilot is in the survey's figures and results, and its respondents can still become respondents of the survey. " +
				"The number is chosen by the client, as `next` of the list: a request that is repeated begins nothing twice, and one with other people under the number of a pilot is a conflict. " +
				"Whoever is under way in another pilot of the survey is stopped there. At most " + strconv.Itoa(surveys.MaxPiloting) + " respondents of a survey's pilots are under way. " +
				"A pilot is a survey under a name of its own (`survey` in the response), by which it is stopped, read and deleted like any other.",
			Body: route.TypeOf[api.PilotBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody,
			Handle:  s.onSurvey(s.put),
			Answers: []route.Answer{{Status: http.StatusOK, Description: "there is this pilot already", Body: view}, {Status: http.StatusCreated, Description: "begun", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// list lists the pilots of a survey.
func (s pilotRoutes) list(c *route.Call, v surveys.Survey) (route.Reply, error) {
	found, err := pilotsOf(c, s.pilots, v.Name)
	if err != nil {
		return route.Reply{}, err
	}
	out := api.PilotList{Pilots: make([]api.PilotSummary, len(found)), Next: 1}
	for i := range found {
		out.Pilots[i] = pilotSummary(v, found[i])
		out.Next = max(out.Next, out.Pilots[i].Pilot+1)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func (s pilotRoutes) get(c *route.Call, v surveys.Survey) (route.Reply, error) {
	pilot, err := s.survey(c, surveys.PilotName(v.Name, pilotNumber(c)))
	if err != nil {
		return route.Reply{}, err
	}
	return s.reply(c, http.StatusOK, v, pilot)
}

// put begins a pilot, or finds that it was begun. What a crash has left of a pilot that was not launched has
// contacted nobody, and makes room for this one.
func (s pilotRoutes) put(c *route.Call, v surveys.Survey) (route.Reply, error) {
	n := pilotNumber(c)
	if n == 0 {
		c.Errors.Add("/pilot", "range", "the number in the path must be from 1 to %d", surveys.MaxPilot)
	}
	who := s.read(c, v)
	checkExempt(c, s.purposes, v.Definition.Purpose) // the purpose may have become exempt since the survey was put
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if err := checkPilots(v); err != nil {
		return route.Reply{}, err
	}
	s.beginning.Lock()
	defer s.beginning.Unlock()
	have, err := s.pilots.Survey(c, surveys.PilotName(v.Name, n))
	switch {
	case err == nil && have.State != surveys.Draft:
		return s.repeated(c, v, have, who)
	case err == nil:
		err = s.pilots.RemoveSurvey(c, have.ID)
	case weir.CodeOf(err) == weir.CodeNotFound:
		err = nil
	}
	if err == nil {
		err = s.checkRoom(c, v, n, who)
	}
	if err != nil {
		return route.Reply{}, err
	}
	pilot, err := s.begin(c, v, n, who)
	if err == nil {
		failpoint.Hit("pilot.launched")
		err = s.stopElsewhere(c, v, n, who)
	}
	if err != nil {
		return route.Reply{}, err
	}
	failpoint.Hit("pilot.begun")
	return s.reply(c, http.StatusCreated, v, pilot)
}

// read reads who is asked.
func (s pilotRoutes) read(c *route.Call, v surveys.Survey) (rows []respondents.Row) {
	var plan *surveys.Plan
	if plan, _ = v.Definition.Compile(surveys.Defaults{}); plan == nil {
		plan = &surveys.Plan{}
	}
	list, _ := c.Body["respondents"].([]any)
	for i, o := range list {
		at := "/respondents/" + strconv.Itoa(i)
		o, _ := o.(map[string]any)
		phone, ok := o["phone"].(string)
		if !ok || len(list) > surveys.MaxPiloting {
			continue // reported by the schema
		}
		attributes, _ := o["attributes"].(map[string]any)
		row, wrong := respondents.RowOf(phone, attributes, v.Definition.Region)
		c.Errors.AddPart(at, wrong)
		for _, name := range plan.MissingAttributes(row.Attributes) {
			if len(wrong) == 0 {
				c.Errors.Add(at+"/attributes/"+name, "required", "%s", errMissingAttribute(name))
			}
		}
		if len(wrong) == 0 && has(rows, row.Phone) {
			c.Errors.Add(at+"/phone", "duplicate", "is the number of a respondent before")
		}
		rows = append(rows, row)
	}
	return rows
}

// has reports whether a number is among those of rows, in any notation.
func has(rows []respondents.Row, phone string) bool {
	return slices.ContainsFunc(rows, func(r respondents.Row) bool {
		return phonenumber.Identity(r.Phone) == phonenumber.Identity(phone)
	})
}

// checkPilots returns why a survey can have no further pilot.
func checkPilots(v surveys.Survey) error {
	if _, n := surveys.PilotOf(v.Name); n != 0 {
		return weir.Errorf(weir.CodeConflict, "%s is a pilot itself", v.Name)
	}
	if v.State == surveys.Stopping || v.State == surveys.Done {
		return weir.Errorf(weir.CodeConflict, "survey %s is %s; clone it to try it again", v.Name, v.State)
	}
	return nil
}

// repeated answers a request for a pilot that exists. If it is the request that began the pilot, what
// a crash has left undone is done.
func (s pilotRoutes) repeated(c *route.Call, v, pilot surveys.Survey, who []respondents.Row) (route.Reply, error) {
	list, _, err := s.store.Respondents(c, surveys.Filter{Survey: pilot.ID, Limit: surveys.MaxPiloting + 1})
	if err != nil {
		return route.Reply{}, err
	}
	if len(list) != len(who) || slices.ContainsFunc(list, func(r surveys.Respondent) bool { return !has(who, r.Phone) }) {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "pilot %d of survey %s exists, with other respondents; take the number that is next", pilotNumber(c), v.Name)
	}
	if err := s.stopElsewhere(c, v, pilotNumber(c), who); err != nil {
		return route.Reply{}, err
	}
	return s.reply(c, http.StatusOK, v, pilot)
}

// underWay calls do for each respondent under way in a pilot of a survey other than number n.
func (s pilotRoutes) underWay(ctx context.Context, v surveys.Survey, n int, do func(surveys.Survey, *surveys.Respondent) error) error {
	found, err := pilotsOf(ctx, s.pilots, v.Name)
	if err != nil {
		return err
	}
	for _, pilot := range found {
		if _, other := surveys.PilotOf(pilot.Name); other == n || pilot.State == surveys.Draft || pilot.State == surveys.Done {
			continue
		}
		list, _, err := s.store.Respondents(ctx, surveys.Filter{Survey: pilot.ID, Limit: surveys.MaxPiloting + 1})
		if err != nil {
			return err
		}
		for i := range list {
			if !list[i].Status.Final() {
				if err := do(pilot, &list[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkRoom checks that no more respondents come to be under way than may be.
func (s pilotRoutes) checkRoom(ctx context.Context, v surveys.Survey, n int, who []respondents.Row) error {
	count := len(who)
	err := s.underWay(ctx, v, n, func(_ surveys.Survey, r *surveys.Respondent) error {
		if !has(who, r.Phone) {
			count++
		}
		return nil
	})
	if err == nil && count > surveys.MaxPiloting {
		err = weir.Errorf(weir.CodeConflict, "%d respondents would be under way in pilots of survey %s; at most %d may be: stop a pilot first", count, v.Name, surveys.MaxPiloting)
	}
	return err
}

// stopElsewhere stops whoever is asked by a pilot in the other pilots of its survey.
func (s pilotRoutes) stopElsewhere(ctx context.Context, v surveys.Survey, n int, who []respondents.Row) error {
	return s.underWay(ctx, v, n, func(pilot surveys.Survey, r *surveys.Respondent) error {
		if !has(who, r.Phone) {
			return nil
		}
		_, err := s.broker.StopRespondent(ctx, pilot, r.ID)
		return err
	})
}

// begin stores a pilot and launches it. Of one that cannot be launched nothing stays.
func (s pilotRoutes) begin(ctx context.Context, v surveys.Survey, n int, who []respondents.Row) (surveys.Survey, error) {
	pilot, _, err := s.pilots.PutSurvey(ctx, surveys.Survey{
		Name: surveys.PilotName(v.Name, n), Title: v.Title, State: surveys.Draft, Definition: v.Definition.Pilot(), Application: v.Application,
	}, document.Condition{})
	if err != nil {
		return pilot, err
	}
	l := &importer{importTarget: s.into, survey: pilot}
	failpoint.Hit("pilot.created")
	if _, err = l.importer.Add(ctx, pilot.ID, 0, l.respondents(pilot, who)); err == nil {
		failpoint.Hit("pilot.filled")
		var launched surveys.Survey
		if launched, err = s.broker.Launch(ctx, pilot.Name, false); err == nil {
			return launched, nil
		}
	}
	// If it is not known whether it was launched, it stays: only a draft can be removed here.
	ctx, cancel := route.StepTimeout(context.WithoutCancel(ctx))
	defer cancel()
	if is, readErr := s.pilots.SurveyByID(ctx, pilot.ID); readErr == nil && is.State == surveys.Draft {
		_ = s.pilots.RemoveSurvey(ctx, pilot.ID) // what stays of it is replaced by the next request
	}
	return pilot, err
}

// reply shows a pilot with its respondents.
func (s pilotRoutes) reply(c *route.Call, status int, v, pilot surveys.Survey) (route.Reply, error) {
	view := api.PilotView{PilotSummary: pilotSummary(v, pilot), Respondents: []api.RespondentView{}, Warnings: pilot.Warnings}
	list, _, err := s.store.Respondents(c, surveys.Filter{Survey: pilot.ID, Limit: surveys.MaxPiloting + 1})
	if err != nil {
		return route.Reply{}, err
	}
	how := progressOf(pilot)
	for i := range list {
		shown := shownRespondent(c, s.tokens, how, &list[i])
		if shown.Answers, err = s.answersOf(c, pilot, &list[i]); err != nil {
			return route.Reply{}, err
		}
		view.Respondents = append(view.Respondents, shown)
	}
	return route.Reply{Status: status, Body: view}, nil
}

func pilotSummary(v, pilot surveys.Survey) api.PilotSummary {
	_, n := surveys.PilotOf(pilot.Name)
	return api.PilotSummary{Pilot: n, Current: sameDefinition(v.Definition.Pilot(), pilot.Definition), SurveySummary: surveySummary(pilot)}
}

// sameDefinition reports whether two definitions are stored as the same.
func sameDefinition(a, b surveys.Definition) bool {
	was, errA := json.Marshal(a)
	is, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(was, is)
}

// pilotNumber returns the number of a pilot in a path; 0: there is none.
func pilotNumber(c *route.Call) int {
	_, n := surveys.PilotOf(surveys.PilotPrefix("") + c.Request.PathValue("pilot"))
	return n
}

// pilotsOf returns the pilots of a survey, the newest first.
func pilotsOf(ctx context.Context, store surveyStore, survey string) (list []surveys.Survey, _ error) {
	const most = 100
	byNumber := func(a, b surveys.Survey) int {
		_, m := surveys.PilotOf(a.Name)
		_, n := surveys.PilotOf(b.Name)
		return cmp.Compare(n, m)
	}
	for after := surveys.PilotPrefix(survey); ; {
		page, err := store.Surveys(ctx, nil, after, most)
		if err != nil {
			return nil, err
		}
		// Their names follow each other.
		end := slices.IndexFunc(page, func(s surveys.Survey) bool { of, _ := surveys.PilotOf(s.Name); return of != survey })
		if end >= 0 {
			page = page[:end]
		}
		list = append(list, page...)
		if len(page) < most {
			slices.SortFunc(list, byNumber)
			return list, nil
		}
		after = page[most-1].Name
	}
}
