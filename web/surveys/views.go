package surveys

import (
	"cmp"
	"slices"

	"weir"
	"weir/api"
	"weir/limits"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/web/auth"
	"weir/web/httpjson"
)

func surveySummary(s surveys.Survey) api.SurveySummary {
	of, _ := surveys.PilotOf(s.Name)
	return api.SurveySummary{
		Survey: s.Name, PilotOf: of, Title: s.Title, State: s.State, Cause: s.Cause, Braked: s.Braked, Locked: s.Locked, Version: s.Version,
		CreatedAt: s.Created.UTC(), UpdatedAt: s.Updated.UTC(), LaunchedAt: httpjson.Instant(s.Launched), EndedAt: httpjson.Instant(s.Ended),
	}
}

func surveyView(s surveys.Survey) api.SurveyView {
	v := api.SurveyView{SurveySummary: surveySummary(s), SurveyDefinition: api.SurveyDefinition(s.Definition), Warnings: s.Warnings}
	if s.Application != (surveys.Application{}) {
		v.Application = &api.ApplicationView{URL: s.Application.URL, HasSecret: s.Application.Secret != ""}
	}
	return v
}

// surveyProgress interprets the progress of respondents by their survey's definition.
// It never fails: a definition that no longer compiles, because its time zone
// was removed, still names its arms.
type surveyProgress struct {
	survey string
	arms   []surveys.Arm
	plan   *surveys.Plan
}

func progressOf(s surveys.Survey) surveyProgress {
	c := surveyProgress{survey: s.Name, arms: s.Definition.Arms}
	if plan, wrong := s.Definition.Compile(surveys.Defaults{}); len(wrong) == 0 {
		c.plan, c.arms = plan, plan.Arms
	}
	return c
}

// arm returns the arm of a respondent; ok is false before the respondent is
// started.
func (c surveyProgress) arm(r *surveys.Respondent) (arm surveys.Arm, ok bool) {
	if r.Started.IsZero() && r.Attempts.Total() == 0 || r.Arm < 0 || r.Arm >= len(c.arms) {
		return surveys.Arm{}, false
	}
	return c.arms[r.Arm], true
}

func (c surveyProgress) mode(r *surveys.Respondent) surveys.Mode {
	if arm, ok := c.arm(r); ok && r.Step >= 0 && r.Step < len(arm.Modes) {
		return arm.Modes[r.Step]
	}
	return ""
}

// made counts the attempts that are known to have been made.
func (c surveyProgress) made(r *surveys.Respondent) surveys.Counts {
	if c.plan != nil && c.mode(r) != "" {
		return c.plan.AttemptsMade(r.Progress)
	}
	return r.Attempts
}

func (c surveyProgress) view(r *surveys.Respondent) api.RespondentView {
	v := api.RespondentView{
		ID: r.ID.String(), Survey: c.survey, Phone: r.Phone, Attributes: r.Attributes, Status: string(r.Status), Disposition: string(r.Disposition),
		Mode: c.mode(r), Attempts: api.Counts(c.made(r)), Counted: r.Counted, OptedOut: r.OptedOut, Serial: r.Serial,
		MessagesSent: r.Totals.Sent, MessagesReceived: r.Totals.Received, CallSeconds: r.Totals.CallSeconds,
		DueAt: httpjson.Instant(r.DueAt), ReachedAt: httpjson.Instant(r.Reached), AddedAt: r.Added.UTC(), StartedAt: httpjson.Instant(r.Started), FinishedAt: httpjson.Instant(r.Finished), UpdatedAt: r.LastChange().UTC(),
	}
	if v.Attributes == nil {
		v.Attributes = map[string]string{}
	}
	if arm, ok := c.arm(r); ok {
		v.Arm, v.Questionnaire = &r.Arm, arm.Questionnaire
	}
	if r.Bucket >= 0 {
		v.Bucket = &r.Bucket
	}
	if r.Contact != (weir.Ref{}) {
		v.Contact = r.Contact.String()
	}
	return v
}

// statsView lists every status and disposition, including zero counts.
func statsView(s surveys.Survey, st surveys.Stats) api.StatsView {
	v := api.StatsView{
		Survey: s.Name, State: s.State, Counted: st.Tally.Counted, Target: st.Target,
		Statuses: map[string]int{}, Dispositions: map[string]int{},
		Quotas: []api.QuotaView{}, Attempts: []api.AttemptsView{}, Channels: []api.ChannelUseView{},
		RatePerMinute: st.Rate, SuccessRate: st.Success, NumbersNeeded: st.Needed, EndsAt: httpjson.Instant(st.EndsAt), Open: st.Open,
	}
	for _, status := range surveys.Statuses() {
		v.Statuses[string(status)] = 0
	}
	for _, d := range surveys.Dispositions() {
		v.Dispositions[string(d)] = 0
	}
	for g, n := range st.Sums.Respondents {
		v.Respondents += n
		v.Statuses[string(g.Status)] += n
		v.Dispositions[string(g.Disposition)] += n
	}
	for i, n := range st.Sums.Funnel() {
		v.Funnel = append(v.Funnel, api.StepView{Step: string(surveys.Funnel()[i]), Respondents: n})
	}
	for made, n := range st.Sums.Attempts {
		v.Attempts = append(v.Attempts, api.AttemptsView{Mode: made.Mode, Outcome: string(made.Outcome), Count: n})
	}
	slices.SortFunc(v.Attempts, func(a, b api.AttemptsView) int {
		return cmp.Or(cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Outcome, b.Outcome))
	})
	for _, q := range st.Quotas {
		if q.Where == nil {
			q.Where = map[string]surveys.Match{} // a bucket that matches everyone
		}
		v.Quotas = append(v.Quotas, api.QuotaView{Bucket: q.Bucket, Counted: q.Counted})
	}
	for _, u := range st.Using {
		v.Channels = append(v.Channels, api.ChannelUseView{Mode: u.Mode, Channel: u.Channel, State: string(u.Health), Reason: u.Reason, Since: httpjson.Instant(u.Since)})
	}
	v.Brake = st.Brake
	if st.Zoneless != 0 {
		v.Zoneless = st.Zoneless.String()
	}
	if b := st.Budget; b != nil {
		view := budgetView(*b)
		v.Budget = &view
	}
	v.WhyView = st.Why.View()
	if st.Next != (calendar.Span{}) {
		v.Window = &api.SpanView{OpensAt: st.Next.Open.UTC(), ClosesAt: st.Next.Close.UTC()}
	}
	return v
}

func budgetView(b limits.BudgetUse) api.BudgetView {
	return api.BudgetView{Money: b.Most.String(), Spent: b.Spent.String(), Left: b.Left().String(), Currency: b.Currency}
}

func maskRespondent(v *api.RespondentView) {
	number := v.Phone
	v.Token = "" // a bearer of the token can act for the respondent
	v.Phone, v.Attributes = auth.MaskNumber(number), auth.MaskValues(v.Attributes, number)
}
