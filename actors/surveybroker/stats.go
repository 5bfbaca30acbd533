package surveybroker

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

// Stats returns the progress of a survey.
func (s *System) Stats(ctx context.Context, survey surveys.Survey) (surveys.Stats, error) {
	plan, wrong := s.library.plan(&survey, s.defaults)
	if plan == nil {
		return surveys.Stats{}, surveys.Invalid(wrong)
	}
	sums, err := s.store.Counts(ctx, survey.ID)
	if err != nil {
		return surveys.Stats{}, err
	}
	now := time.Now()
	out := surveys.Stats{Sums: sums, Tally: sums.Tally(len(plan.Quotas)), Target: plan.Target()}
	for i, b := range plan.Quotas {
		out.Quotas = append(out.Quotas, surveys.BucketStats{Bucket: b, Counted: out.Tally.Buckets[i]})
	}
	if out.Tally.Final > 0 {
		out.Success = out.Tally.SuccessRate()
	}
	if w, ok := plan.Schedule.Window(now); ok {
		out.Next, out.Open = w, !w.Open.After(now)
	}
	out.Rate = rate(plan, &survey, sums, now)
	if survey.State == surveys.Running || survey.State == surveys.Paused {
		out.EndsAt, _ = plan.EndsAt(now, out.Tally, out.Rate)
	}
	if out.Using, err = s.uses(ctx, plan); err != nil {
		return out, err
	}
	if survey.State != surveys.Running {
		out.Why = whyNotRun(survey.State, nil)
		return out, nil
	}
	out.Why, err = s.whyRunning(ctx, &survey, plan, out.Tally, now)
	return out, err
}

// rate returns how many respondents became final per minute in which the survey
// was open.
func rate(plan *surveys.Plan, survey *surveys.Survey, sums surveys.Sums, now time.Time) float64 {
	if survey.Launched.IsZero() {
		return 0
	}
	until, ended := now, 0
	if !survey.Ended.IsZero() {
		until = survey.Ended
	}
	for g, n := range sums.Respondents {
		if g.Status.Final() {
			ended += n
		}
	}
	open := plan.Schedule.OpenBetween(survey.Launched, until).Minutes()
	if open <= 0 {
		return 0
	}
	return float64(ended) / open
}

// uses returns the state of the survey's channels, as far as it is known.
func (s *System) uses(ctx context.Context, plan *surveys.Plan) ([]surveys.ChannelUse, error) {
	states, err := s.store.ChannelStates(ctx)
	if err != nil {
		return nil, err
	}
	known := map[weir.ChannelID]surveys.ChannelState{}
	for _, st := range states {
		known[st.Channel] = st
	}
	var out []surveys.ChannelUse
	for _, mode := range slices.Sorted(maps.Keys(plan.Channels)) {
		use := surveys.ChannelUse{Mode: mode, Channel: plan.Channels[mode], Health: weir.Up}
		ch, err := s.store.Channel(ctx, use.Channel)
		switch {
		case weir.CodeOf(err) == weir.CodeNotFound:
			use.Health, use.Reason = weir.Down, "there is no such channel any more"
		case err != nil:
			return nil, err
		case s.unfit(mode, ch) != "":
			use.Health, use.Reason = weir.Erring, s.unfit(mode, ch)
		case ch.Paused:
			use.Health = weir.Paused
		case known[ch.ID].Health != weir.Paused && known[ch.ID].Health != "":
			use.Health, use.Reason, use.Since = known[ch.ID].Health, known[ch.ID].Reason, known[ch.ID].Since
		}
		if err == nil && use.Health == weir.Up {
			f, err := s.channels.Figures(ctx, ch)
			if err != nil {
				return nil, err
			}
			use.Health, use.Reason = f.Health, f.HealthReason
		}
		out = append(out, use)
	}
	return out, nil
}
