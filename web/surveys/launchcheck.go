package surveys

import (
	"net/http"
	"time"

	"weir"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/route"
)

// LaunchCheckView is what a launch would find.
type LaunchCheckView struct {
	Survey      string              `json:"survey"`
	Respondents int                 `json:"respondents" doc:"how many were checked"`
	Partial     bool                `json:"partial,omitempty" doc:"there are more than were checked; the launch checks all"`
	Missing     int                 `json:"missing" doc:"respondents that are missing a value used in the texts"`
	Errors      []weir.FieldError   `json:"errors" doc:"what a launch would be refused for, with the first 100 missing values; whether the channels work is only found out by the launch"`
	Warnings    []weir.FieldError   `json:"warnings"`
	Modes       []ModeUseView       `json:"modes"`
	Forecast    *ForecastView       `json:"forecast,omitempty" doc:"absent: there is no estimate"`
	Budget      *BudgetForecastView `json:"budget,omitempty" doc:"absent: it has none"`
	Samples     []SampleView        `json:"samples" doc:"the first contacts of up to two respondents, as they get them"`
}

// ModeUseView is how many of the respondents a mode is for.
type ModeUseView struct {
	Mode    surveys.Mode `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel string       `json:"channel"`
	First   int          `json:"first" doc:"respondents contacted by it first, about: arms are drawn by lot"`
	Later   int          `json:"later" doc:"respondents contacted by it at most if no mode before reached them"`
}

// ForecastView estimates when a survey ends at best.
type ForecastView struct {
	Contacts    int       `json:"contacts" doc:"respondents to contact, as many as the target takes at the expected rate"`
	OpenMinutes int       `json:"open_minutes" doc:"for which the schedule has to be open"`
	Bound       string    `json:"bound,omitempty" doc:"the channel that takes the longest; absent: the limit per minute" example:"calls"`
	EndsAt      time.Time `json:"ends_at" doc:"at best: everybody answers the first attempt, a contact takes two minutes, and no other survey uses the channels"`
	TooShort    bool      `json:"too_short,omitempty" doc:"the schedule ends before; ends_at is when"`
}

// BudgetForecastView is what the budget of a draft pays for.
type BudgetForecastView struct {
	BudgetView
	PerAttempt string `json:"per_attempt,omitempty" doc:"what the first attempt reserves, on average; absent: not known" example:"0.0075"`
	Attempts   *int64 `json:"attempts,omitempty" doc:"about how many attempts the rest of the budget pays for, at that price; absent: not known" example:"333333"`
}

// SampleView is the first contact of a mode with one respondent.
type SampleView struct {
	Respondent    string       `json:"respondent" example:"r2s"`
	Phone         string       `json:"phone" example:"+525512345678"`
	Questionnaire string       `json:"questionnaire"`
	Mode          surveys.Mode `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Messages      []string     `json:"messages,omitempty"`
	Call          *weir.Call   `json:"call,omitempty"`
}

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
		Answers: []route.Answer{{Status: http.StatusOK, Description: "what a launch would find", Body: route.TypeOf[LaunchCheckView]()}},
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
	out := LaunchCheckView{
		Survey: v.Name, Respondents: found.Checked, Partial: found.Partial, Missing: found.Missing,
		Errors: append([]weir.FieldError{}, found.Refusal...), Warnings: append([]weir.FieldError{}, found.Warnings...),
		Modes: []ModeUseView{}, Samples: []SampleView{},
	}
	if found.Plan == nil {
		return route.Reply{Status: http.StatusOK, Body: out}, nil
	}
	forecast := found.Plan.Forecast(s.now(), found.Checked, found.Capacity)
	for _, use := range forecast.Modes {
		out.Modes = append(out.Modes, ModeUseView{use.Mode, found.Plan.Channels[use.Mode], use.First, use.Later})
	}
	if !found.Partial {
		out.Forecast = forecastView(&forecast)
	}
	if b := found.Budget; b != nil {
		out.Budget = &BudgetForecastView{BudgetView: budgetView(b.BudgetUse)}
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
func (s launchCheckRoute) samples(c *route.Call, v surveys.Survey, plan *surveys.Plan, r *surveys.Respondent) (list []SampleView) {
	person := surveys.Person{ID: r.ID.String(), Token: s.tokens.Of(r.ID), Phone: r.Phone, Attributes: r.Attributes}
	own := func(text string) string { return text }
	if !c.PII() {
		person.Token = r.ID.String() // a bearer of the token can act for the respondent
		person.Attributes = auth.MaskValues(r.Attributes, r.Phone)
		own = func(text string) string { return auth.MaskOwn(text, r.Phone) }
		person.Phone = auth.MaskNumber(r.Phone)
	}
	for _, sample := range plan.Samples(v.Name, person) {
		view := SampleView{Respondent: person.ID, Phone: person.Phone, Questionnaire: sample.Questionnaire, Mode: sample.Mode}
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
