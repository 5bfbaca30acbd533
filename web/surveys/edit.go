package surveys

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/surveys/questions"
	"weir/web/httpjson"
	"weir/web/route"
)

// definition decodes the body of a survey after the schema check, as far as it
// fits the schema. It adds the errors that the survey rules find, unless a
// schema error explains them; with none there is a plan.
func (s surveyRoutes) definition(c *route.Call, body map[string]any) (b api.SurveyBody, plan *surveys.Plan) {
	raw, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(raw, &b) // skips values of a wrong type; the schema check has reported them
	}
	if _, partly := errors.AsType[*json.UnmarshalTypeError](err); err != nil && (!partly || len(c.Errors) == 0) {
		c.Errors.Add("", "type", "is no survey")
		return b, nil
	}
	bySchema := slices.Clone(c.Errors)
	if b.Application != nil && b.Application.URL != "" {
		if !webAddress(b.Application.URL) {
			c.Errors.Add("/application/url", "format", "must be an http or https URL with a host and without a password")
		} else if s.mayCall != nil {
			if err := s.mayCall(b.Application.URL); err != nil {
				c.Errors.Add("/application/url", "not_allowed", "%v; WEIR_OUTBOUND_ALLOW has the exceptions", err)
			}
		}
	}
	if b.Answer != nil && b.Answer.Attribute == "" {
		b.Answer.Attribute = surveys.DefaultAnswer
	}
	if b.Answer != nil && b.Application != nil && b.Application.URL != "" {
		c.Errors.Add("/answer", "conflict", "cannot be combined with an application, which evaluates the answers; leave one of the two out")
	}
	if b.Questions != nil && b.Application != nil && b.Application.URL != "" {
		c.Errors.Add("/application", "conflict", "cannot be combined with questions, which Weir itself asks; leave one of the two out")
	}
	checkExempt(c, s.purposes, b.Purpose)
	checked := surveys.Definition(b.SurveyDefinition)
	usable, outside := usableChannels(c, b.Modes)
	checked.Modes = usable
	c.Errors.Append(outside...)
	plan, wrong := s.broker.Check(c, checked)
	for _, f := range wrong {
		explained := func(g weir.FieldError) bool { return implies(g, f) }
		if !slices.ContainsFunc(bySchema, explained) && !slices.ContainsFunc(outside, explained) {
			c.Errors.Append(f)
		}
	}
	return b, plan
}

// checkExempt refuses a purpose that reaches people who refused, unless the token may use such.
func checkExempt(c *route.Call, known people.Purposes, purpose string) {
	if known == nil || c.Principal.Has(operators.ScopeContactsExempt) {
		return
	}
	if p := known.Purposes()[cmp.Or(purpose, people.DefaultPurpose)]; p != nil && p.Exempt() {
		c.Errors.Add("/purpose", "exempt", "reaches people who refused, so that the token also needs %s", operators.ScopeContactsExempt)
	}
}

// usableChannels returns the modes without the channels that the token may not use, so that nothing is found out about these, and the
// mistakes that they are.
func usableChannels(c *route.Call, modes map[surveys.Mode]surveys.ModeSpec) (usable map[surveys.Mode]surveys.ModeSpec, list []weir.FieldError) {
	users := []operators.Scope{operators.ScopeContactsWrite, operators.ScopeChannelsAdmin, operators.ScopeSurveysAdmin}
	usable = maps.Clone(modes)
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		spec := modes[mode]
		if spec.Channel == "" || c.Principal.May(users, operators.Channel(spec.Channel)) {
			continue
		}
		spec.Channel = ""
		usable[mode] = spec
		list = append(list, weir.FieldError{
			Pointer: "/modes/" + httpjson.PointerToken(string(mode)) + "/channel", Code: "outside",
			Detail: "must begin with " + strings.Join(c.Principal.Prefixes(users), " or ") + ": the token may use only such channels",
		})
	}
	return usable, list
}

// implies reports whether f follows from g: f is about the same field, a part
// of it, or a value that is incomplete without it.
func implies(g, f weir.FieldError) bool {
	within := func(a, b string) bool { return a == b || strings.HasPrefix(a, b+"/") }
	return within(f.Pointer, g.Pointer) || g.Code != "unknown" && within(g.Pointer, f.Pointer)
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https")
}

func applicationOf(b *api.ApplicationBody) surveys.Application {
	if b == nil {
		return surveys.Application{}
	}
	return surveys.Application{URL: b.URL, Secret: b.Secret}
}

func (s surveyRoutes) putSurvey(c *route.Call) (route.Reply, error) {
	name := c.Request.PathValue("survey")
	if !surveyName.MatchString(name) {
		c.Errors.Add("/survey", "format", "the name in the path must be 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, and begin with a letter or digit")
	}
	b, plan := s.definition(c, c.Body)
	have, err := s.store.Survey(c, name)
	on := c.Condition("survey", "/survey")
	if err == nil && !have.Deleting && on.Create {
		return route.Reply{}, c.Taken(on, name)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	switch {
	case err != nil && weir.CodeOf(err) != weir.CodeNotFound:
		return route.Reply{}, err
	case err == nil && !have.Deleting && have.State != surveys.Draft:
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "survey %s is %s; only a draft can be replaced", name, have.State)
	}
	want := surveys.Survey{Name: name, Title: b.Title, State: surveys.Draft, Definition: surveys.Definition(b.SurveyDefinition), Application: applicationOf(b.Application)}
	if c.DryRun() {
		return s.checked(have, want, plan)
	}
	v, created, err := s.store.PutSurvey(c, want, on)
	if err != nil {
		return route.Reply{}, err
	}
	s.broker.Changed(v.ID)
	view := surveyView(v)
	view.Warnings = plan.Warnings()
	out := route.Reply{Status: http.StatusOK, Body: view}
	if created {
		have, out.Status, out.Location = surveys.Survey{}, http.StatusCreated, "/v1/surveys/"+name
	}
	out.Changes = surveyChanges(have, v)
	return out, nil
}

// checked is the reply to a dry run that finds nothing wrong: with warnings, the survey as it would be.
func (s surveyRoutes) checked(have, want surveys.Survey, plan *surveys.Plan) (route.Reply, error) {
	warnings := plan.Warnings()
	if len(warnings) == 0 {
		return route.Checked(nil)
	}
	want.Created, want.Updated = s.now(), s.now()
	if have.ID != 0 && !have.Deleting {
		want.Version, want.Created, want.Updated = have.Version, have.Created, have.Updated
	}
	view := surveyView(want)
	view.Warnings = warnings
	return route.Reply{Status: http.StatusOK, Body: view}, nil
}

// bodyOf returns the body that would write the survey.
func bodyOf(v surveys.Survey) api.SurveyBody {
	b := api.SurveyBody{Title: v.Title, SurveyDefinition: api.SurveyDefinition(v.Definition)}
	if v.Application != (surveys.Application{}) {
		b.Application = &api.ApplicationBody{URL: v.Application.URL, Secret: v.Application.Secret}
	}
	return b
}

// patchSurvey merges a patch into the body that would write the survey, and
// processes the result like a PUT, except for fields that can no longer change.
func (s surveyRoutes) patchSurvey(c *route.Call, have surveys.Survey, schema *httpjson.Checker) (route.Reply, error) {
	if v := c.Query.Int("version"); v != 0 && int64(v) != have.Version {
		return route.Reply{}, errOtherVersion()
	}
	if err := have.CheckUnlocked(); err != nil {
		return route.Reply{}, err
	}
	if of, n := surveys.PilotOf(have.Name); n != 0 {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "a pilot asks as survey %s was when it began; change that, and begin another pilot", of)
	}
	before, err := documentOf(bodyOf(have))
	if err != nil {
		return route.Reply{}, err
	}
	for name := range c.Body {
		if !schema.Has(name) {
			c.Errors.Add("/"+httpjson.PointerToken(name), "unknown", "there is no such field")
			delete(c.Body, name)
		}
	}
	after, _ := httpjson.Merge(before, c.Body).(map[string]any)
	schema.Check(after, "", &c.Errors)
	is, _ := s.definition(c, after)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if after, err = documentOf(is); err != nil {
		return route.Reply{}, err
	}
	if err := checkFrozen(have.State, before, after); err != nil {
		return route.Reply{}, err
	}
	if !reflect.DeepEqual(before["schedule"], after["schedule"]) {
		s.checkStaysOpen(c, have.State, is.Schedule)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(nil)
	}
	if reflect.DeepEqual(before, after) {
		return route.Reply{Status: http.StatusOK, Body: surveyView(have)}, nil
	}
	next := have
	next.Title, next.Definition, next.Application = is.Title, surveys.Definition(is.SurveyDefinition), applicationOf(is.Application)
	stored, err := s.store.UpdateSurvey(c, next)
	if weir.CodeOf(err) == weir.CodeConflict {
		return route.Reply{}, errOtherVersion()
	}
	if err != nil {
		return route.Reply{}, err
	}
	s.broker.Changed(stored.ID)
	return route.Reply{Status: http.StatusOK, Body: surveyView(stored), Changes: route.ChangesOf(before, after, surveySecret)}, nil
}

// checkStaysOpen rejects a schedule that would end a launched survey because of a
// wrong date: all of its respondents would be canceled at once.
func (s surveyRoutes) checkStaysOpen(c *route.Call, state surveys.State, spec calendar.ScheduleSpec) {
	schedule, _ := calendar.Compile(spec)
	if schedule == nil || state != surveys.Running && state != surveys.Paused {
		return
	}
	for _, f := range schedule.CheckAhead(s.now()) {
		c.Errors.Add("/schedule"+f.Pointer, f.Code, "%s; to end the survey, :stop it", f.Detail)
	}
}

func errOtherVersion() error {
	return weir.Errorf(weir.CodeConflict, "the survey was changed meanwhile; read it and decide anew")
}

// documentOf converts a value to decoded JSON.
func documentOf(v any) (map[string]any, error) {
	var out map[string]any
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("web: a stored survey as JSON: %w", err)
	}
	return out, nil
}

// checkFrozen rejects changes that the survey's state does not allow, and names the
// fields: the launch fixes the questions, apart from corrected texts, and the channels.
func checkFrozen(state surveys.State, was, is map[string]any) error {
	if state == surveys.Draft {
		return nil
	}
	over := state != surveys.Running && state != surveys.Paused
	out := &weir.Error{Code: weir.CodeConflict, Message: fmt.Sprintf("the survey is %s; this cannot change any more", state)}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		a, b := was[name], is[name]
		detail := "may change only in a draft"
		switch {
		case name == "title", name == "application":
			continue
		case over:
			detail = "may not change when the survey is over"
		case name == "modes":
			a, b, detail = without(a, "retries"), without(b, "retries"), detail+", apart from the retries"
		case name == "quotas":
			a, b, detail = without(a, "quota"), without(b, "quota"), detail+", apart from the numbers"
		case name == "questions" && a != nil && b != nil:
			for _, f := range questions.Uncorrectable(a, b) {
				f.Pointer = "/questions" + f.Pointer
				out.Fields = append(out.Fields, f)
			}
			continue
		case name != "arms" && name != "breakdowns" && name != "questionnaires" && name != "questions" && name != "region":
			continue
		}
		if !reflect.DeepEqual(a, b) {
			out.Fields = append(out.Fields, weir.FieldError{Pointer: "/" + name, Code: "conflict", Detail: detail})
		}
	}
	if len(out.Fields) > 0 {
		return out
	}
	return nil
}

// without returns a copy of a list or object of objects, with one member
// removed from each.
func without(v any, member string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, httpjson.Merge(e, map[string]any{member: nil}))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = httpjson.Merge(e, map[string]any{member: nil})
		}
		return out
	default:
		return nil
	}
}

// surveyChanges lists the differences between two versions of a survey. An
// empty name in before means that there was none.
func surveyChanges(before, after surveys.Survey) []operators.FieldChange {
	was := map[string]any{}
	if before.Name != "" {
		was, _ = documentOf(bodyOf(before)) // cannot fail: it was encoded when stored
	}
	is, _ := documentOf(bodyOf(after))
	return route.ChangesOf(was, is, surveySecret)
}
