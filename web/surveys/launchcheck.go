package surveys

import (
	"net/http"
	"time"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/route"
)

// launchCheckRoute shows what a launch would find.
type launchCheckRoute struct {
	finder
	broker surveyBroker
	tokens surveys.Tokens
	now    func() time.Time
}

func (s launchCheckRoute) routes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: Path + "/launch-check", ID: "get-launch-check", Tag: "surveys",
		Summary: "What a launch would find",
		Description: "Of a draft: what its launch would be refused for, how many respondents each mode is for, the first contacts of two respondents with their values filled in, and when it ends at best. " +
			"It changes nothing and calls no provider. At most 200,000 respondents are checked.",
		Handle:  s.onSurvey(s.check),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "what a launch would find", Body: route.TypeOf[api.LaunchCheckView]()}},
		Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
	}}
}

func (s launchCheckRoute) check(c *route.Call, v surveys.Survey) (route.Reply, error) {
	if v.State != surveys.Draft {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "survey %s is %s; only a draft can be launched", v.Name, v.State)
	}
	found, err := s.broker.CheckLaunch(c, v)
	if err != nil {
		return route.Reply{}, err
	}
	out := api.LaunchCheckView{
		Survey: v.Name, Respondents: found.Checked, Partial: found.Partial, Missing: found.Missing,
		Errors: append([]weir.FieldError{}, found.Refusal...), Warnings: append([]weir.FieldError{}, found.Warnings...),
		Modes: []api.ModeUseView{}, Samples: []api.SampleView{},
	}
	if found.Plan == nil {
		return route.Reply{Status: http.StatusOK, Body: out}, nil
	}
	forecast := found.Plan.Forecast(s.now(), found.Checked, found.Capacity)
	for _, use := range forecast.Modes {
		out.Modes = append(out.Modes, api.ModeUseView{Mode: use.Mode, Channel: found.Plan.Channels[use.Mode], First: use.First, Later: use.Later})
	}
	if !found.Partial {
		out.Forecast = forecastView(&forecast)
	}
	if b := found.Budget; b != nil {
		out.Budget = &api.BudgetForecastView{BudgetView: budgetView(b.BudgetUse)}
		if n, ok := b.Attempts(); ok {
			out.Budget.PerAttempt, out.Budget.Attempts = b.Average.String(), &n
		}
	}
	for i := range found.First {
		out.Samples = append(out.Samples, s.samples(c, v, found.Plan, &found.First[i])...)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

// samples fills in the texts for one respondent, without pii:read from masked values.
func (s launchCheckRoute) samples(c *route.Call, v surveys.Survey, plan *surveys.Plan, r *surveys.Respondent) (list []api.SampleView) {
	person := surveys.Person{ID: r.ID.String(), Token: s.tokens.Of(r.ID), Phone: r.Phone, Attributes: r.Attributes}
	own := func(text string) string { return text }
	if !c.PII() {
		person.Token = r.ID.String() // a bearer of the token can act for the respondent
		person.Attributes = auth.MaskValues(r.Attributes, r.Phone)
		own = func(text string) string { return auth.MaskOwn(text, r.Phone) }
		person.Phone = auth.MaskNumber(r.Phone)
	}
	for _, sample := range plan.Samples(v.Name, person) {
		view := api.SampleView{Respondent: person.ID, Phone: person.Phone, Questionnaire: sample.Questionnaire, Mode: sample.Mode}
		for _, text := range sample.Contact.Messages {
			view.Messages = append(view.Messages, own(text))
		}
		if call := sample.Contact.Call; call != nil {
			view.Call = &weir.Call{CallbackURL: own(call.CallbackURL), CallFlowID: call.CallFlowID, TwiML: own(call.TwiML)}
		}
		list = append(list, view)
	}
	return list
}
