package surveys

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/surveys/pacing"
)

// explainer explains surveys to the API: their progress, and why they wait. It decides as a
// round does, from the present state of the store. Its methods are safe for concurrent use.
type explainer struct {
	io        *access
	byChannel atomic.Pointer[runningByChannel]
}

// runningByChannel are the running surveys by the names of their channels, as read
// at an instant.
type runningByChannel struct {
	at      time.Time
	surveys map[string][]string
}

// Stats returns the progress of a survey.
func (s *explainer) Stats(ctx context.Context, survey surveys.Survey) (surveys.Stats, error) {
	plan, wrong := s.io.compile(&survey)
	if plan == nil {
		return surveys.Stats{}, surveys.Invalid(wrong)
	}
	sums, err := s.io.Store.Counts(ctx, survey.ID)
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
	if n, ok := plan.NumbersNeeded(out.Tally); ok {
		out.Needed = &n
	}
	pace := paceOf(plan, &survey, sums, now)
	out.Rate = pace.Ended
	if survey.State == surveys.Running || survey.State == surveys.Paused {
		list, err := s.io.Store.LatestDue(ctx, survey.ID, latestForEnd)
		if err != nil {
			return out, err
		}
		latest := make([]surveys.Progress, len(list))
		for i := range list {
			latest[i] = list[i].Progress
		}
		out.EndsAt, _ = plan.EndsAt(now, out.Tally, pace, latest)
	}
	out.Brake = s.io.brakes.figures(&survey)
	if use, ok := s.io.budgetOf(&survey); ok {
		out.Budget = &use
	}
	if out.Zoneless, err = s.io.zoneless(ctx, survey.ID); err != nil {
		return out, err
	}
	if out.Using, err = s.channelUses(ctx, plan); err != nil {
		return out, err
	}
	if survey.State != surveys.Running {
		out.Why = whyNotRun(&survey, nil)
		return out, nil
	}
	out.Why, err = s.whyRunning(ctx, &survey, plan, out.Tally, now)
	return out, err
}

// Course returns how a survey goes in the days and the zone of q.
func (s *explainer) Course(ctx context.Context, survey surveys.Survey, q surveys.CourseQuery) (*surveys.Plan, surveys.Course, error) {
	plan, wrong := s.io.compile(&survey)
	if plan == nil {
		return nil, surveys.Course{}, surveys.Invalid(wrong)
	}
	sums, err := s.io.Store.Counts(ctx, survey.ID)
	if err != nil {
		return nil, surveys.Course{}, err
	}
	q.Now, q.Launched, q.Capacity = time.Now(), survey.Launched, map[string]int{}
	q.Over = survey.State == surveys.Stopping || survey.State == surveys.Done
	q.Tally = sums.Tally(len(plan.Quotas))
	for _, n := range sums.Respondents {
		q.Respondents += n
	}
	for _, name := range plan.Channels {
		ch, err := s.io.Store.Channel(ctx, name)
		if notFoundIsNone(err) != nil {
			return nil, surveys.Course{}, err
		}
		if err == nil {
			q.Capacity[name] = ch.Capacity - channels.ReplyReserve(ch.Settings)
		}
	}
	if q.Activity, err = s.io.Store.Activity(ctx, survey.ID); err != nil {
		return nil, surveys.Course{}, err
	}
	return plan, surveys.CourseOf(plan, q), nil
}

// latestForEnd is how many active respondents the estimate of a survey's end examines:
// those whose next steps are the latest.
const latestForEnd = 100

// paceOf returns how many respondents were started and became final per minute in which
// the survey was open.
func paceOf(plan *surveys.Plan, survey *surveys.Survey, sums surveys.Sums, now time.Time) (pace surveys.Pace) {
	until := now
	if !survey.Ended.IsZero() {
		until = survey.Ended
	}
	open := plan.Schedule.OpenBetween(survey.Launched, until).Minutes()
	if survey.Launched.IsZero() || open <= 0 {
		return pace
	}
	for g, n := range sums.Respondents {
		if g.Status != surveys.Pending {
			pace.Started += float64(n) / open
		}
		if g.Status.Final() {
			pace.Ended += float64(n) / open
		}
	}
	return pace
}

// channelUses returns the state of the survey's channels, as far as it is known.
func (s *explainer) channelUses(ctx context.Context, plan *surveys.Plan) ([]surveys.ChannelUse, error) {
	known, err := s.io.channelStates(ctx)
	if err != nil {
		return nil, err
	}
	var out []surveys.ChannelUse
	for _, mode := range slices.Sorted(maps.Keys(plan.Channels)) {
		use := surveys.ChannelUse{Mode: mode, Channel: plan.Channels[mode], Health: weir.Up}
		ch, err := s.io.Store.Channel(ctx, use.Channel)
		switch {
		case weir.CodeOf(err) == weir.CodeNotFound:
			use.Health, use.Reason = weir.Down, "the channel does not exist any more"
		case err != nil:
			return nil, err
		case s.io.mismatch(mode, ch) != "":
			use.Health, use.Reason = weir.Erring, s.io.mismatch(mode, ch)
		case ch.Paused:
			use.Health = weir.Paused
			if ch.Braked != nil {
				use.Reason = ch.Braked.Text
			}
		// A stored pause may be outdated; the channel's own flag, above, is not.
		case known[ch.ID].Health != weir.Paused && known[ch.ID].Health != "":
			use.Health, use.Reason, use.Since = known[ch.ID].Health, known[ch.ID].Reason, known[ch.ID].Since
		}
		if err == nil && use.Health == weir.Up {
			f, err := s.io.Channels.Figures(ctx, ch)
			if err != nil {
				return nil, err
			}
			use.Health, use.Reason = f.Health, f.HealthReason
		}
		out = append(out, use)
	}
	return out, nil
}

// maxDueForWhy is the max number of due respondents that are read for a reason.
const maxDueForWhy = 20

// Why explains why a survey contacts no respondent now; it is zero if it does,
// or is done. It decides as a round does, from the present state of the store.
func (s *explainer) Why(ctx context.Context, survey surveys.Survey) (operators.Why, error) {
	plan, wrong := s.io.compile(&survey)
	if plan == nil || survey.State != surveys.Running {
		return whyNotRun(&survey, wrong), nil
	}
	sums, err := lookup(ctx, s.io.Store.Counts, survey.ID)
	if err != nil {
		return operators.Why{}, err
	}
	return s.whyRunning(ctx, &survey, plan, sums.Tally(len(plan.Quotas)), time.Now())
}

// whyNotRun explains why a survey is not run. wrong are the errors of its
// definition.
func whyNotRun(survey *surveys.Survey, wrong []weir.FieldError) operators.Why {
	switch state := survey.State; {
	case state == surveys.Done:
		return operators.Why{}
	case state == surveys.Draft:
		return operators.NewWhy(operators.WhyDraft, operators.TextDraft)
	case state == surveys.Stopping:
		return operators.NewWhy(operators.WhySurveyStopping, operators.TextSurveyStopping)
	case len(wrong) > 0:
		return whyBroken(wrong)
	case state == surveys.Paused && survey.Braked != nil:
		return operators.WhySurveyBraked(survey.Braked)
	case state == surveys.Paused:
		return operators.NewWhy(operators.WhySurveyPaused, operators.TextSurveyPaused)
	default:
		return operators.Why{}
	}
}

// maxMistakes is how many errors of a definition are said of a survey; its definition's page has all.
const maxMistakes = 10

// whyBroken says what is wrong with a definition.
func whyBroken(wrong []weir.FieldError) operators.Why {
	why := operators.NewWhy(operators.WhyBroken, operators.TextBroken)
	for _, e := range wrong[:min(len(wrong), maxMistakes)] {
		why = why.And(operators.NewClause(operators.TextMistake, "pointer", e.Pointer, "mistake", e.Detail))
	}
	if more := len(wrong) - maxMistakes; more > 0 {
		why = why.And(operators.NewClause(operators.TextMoreMistakes, "count", more))
	}
	return why
}

// whyRunning is Why for a running survey.
func (s *explainer) whyRunning(ctx context.Context, survey *surveys.Survey, plan *surveys.Plan, t surveys.Tally, now time.Time) (operators.Why, error) {
	// Only the process that runs the rounds knows this. Others explain what a round would do.
	if until := s.io.findings.skippedUntil(survey.ID); until.After(now) {
		return operators.NewWhy(operators.WhyBroken, operators.TextRulesFailed, "at", until), nil
	}
	decision := plan.Decide(now, t)
	window, open := plan.Schedule.Window(now)
	if decision.Done || decision.Stop || !open || window.Open.After(now) {
		return decision.Why, nil
	}
	if why := s.io.whySpent(survey); !why.IsZero() {
		return why, nil
	}
	if decision.ToStart > 0 {
		full := plan.Quotas.FullBuckets(t.Buckets)
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
			// One row shows that there are some.
			return s.io.Store.Startable(ctx, survey.ID, now, full, 1)
		})
		if err != nil {
			return operators.Why{}, err
		}
		if len(page) == 0 {
			decision.ToStart, decision.Why = 0, operators.NewWhy(operators.WhyDelayed, operators.TextAllDelayed)
		}
	}
	modes, next, err := s.dueModes(ctx, survey, plan, decision, now)
	if err != nil {
		return operators.Why{}, err
	}
	if len(modes) == 0 {
		if !next.IsZero() {
			return decision.Why.And(operators.NewClause(operators.TextNextStep, "at", next)), nil
		}
		return decision.Why, nil
	}
	if why, err := s.whyNoRoom(ctx, plan, modes, window, now); err != nil || !why.IsZero() {
		return why, err
	}
	return s.whyRateLimited(ctx, survey, plan, now)
}

// dueModes lists the modes by which the survey would contact respondents
// now, and returns when the next one is due.
func (s *explainer) dueModes(ctx context.Context, survey *surveys.Survey, plan *surveys.Plan, v surveys.Decision, now time.Time) ([]surveys.Mode, time.Time, error) {
	modes := map[surveys.Mode]bool{}
	if v.ToStart > 0 {
		for _, arm := range plan.Arms {
			modes[arm.Modes[0]] = true
		}
	}
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, time.Time, error) {
		return s.io.Store.DueRespondents(ctx, survey.ID, now, maxDueForWhy)
	})
	for i := range page {
		if p := page[i].Progress; p.Contact == surveys.Idle && plan.Covers(p) {
			if _, e := plan.Timeout(p, now); e.Enqueue != nil {
				modes[e.Enqueue.Mode] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(modes)), next, err
}

// whyNoRoom explains why no channel of the given modes has room; it is zero if
// one has.
func (s *explainer) whyNoRoom(ctx context.Context, plan *surveys.Plan, modes []surveys.Mode, window calendar.Span, now time.Time) (first operators.Why, _ error) {
	states, err := s.io.channelStates(ctx)
	if err != nil {
		return operators.Why{}, err
	}
	running, err := s.runningByChannel(ctx)
	if err != nil {
		return operators.Why{}, err
	}
	for _, mode := range modes {
		why, err := s.whyChannel(ctx, plan, mode, states, running, window, now)
		if err != nil || why.IsZero() {
			return operators.Why{}, err
		}
		if first.IsZero() {
			first = why
		}
	}
	return first, nil
}

func (s *explainer) whyChannel(ctx context.Context, plan *surveys.Plan, mode surveys.Mode, states map[weir.ChannelID]surveys.ChannelState,
	running map[string][]string, window calendar.Span, now time.Time,
) (operators.Why, error) {
	name := plan.Channels[mode]
	ch, err := lookup(ctx, s.io.Store.Channel, name)
	if weir.CodeOf(err) == weir.CodeNotFound {
		return operators.NewWhy(operators.WhyChannelGone, operators.TextChannelGone, "channel", name), nil
	}
	if err != nil {
		return operators.Why{}, err
	}
	if wrong := s.io.mismatch(mode, ch); wrong != "" {
		return operators.NewWhy(operators.WhyChannelUnsuitable, operators.TextUnfit, "mistake", wrong), nil
	}
	if why := whyUnavailable(ch, states[ch.ID]); !why.IsZero() {
		return why, nil
	}
	perMinute := s.io.findings.rate(ch.ID)
	t := &channelLoad{channel: ch, queueLimit: queueLimitFor(ch, perMinute)}
	for _, survey := range running[name] {
		t.addSurvey(survey)
	}
	readLoad(ctx, s.io, t)
	return t.whyNoRoom(plan.Size(mode), perMinute, now, window.Close), nil
}

// runningByChannel lists the running surveys by the channels that they use. The list is
// cached for Options.RoundInterval, because a page of surveys asks for each of them.
func (s *explainer) runningByChannel(ctx context.Context) (map[string][]string, error) {
	now := time.Now()
	if kept := s.byChannel.Load(); kept != nil && now.Sub(kept.at) < s.io.RoundInterval {
		return kept.surveys, nil
	}
	out := map[string][]string{}
	err := s.io.eachSurvey(ctx, []surveys.State{surveys.Running}, func(survey surveys.Survey) {
		if plan, _ := s.io.compile(&survey); plan != nil {
			for _, name := range plan.Channels {
				out[name] = append(out[name], survey.Name)
			}
		}
	})
	if err == nil {
		s.byChannel.Store(&runningByChannel{now, out})
	}
	return out, err
}

// whyRateLimited explains that the limit per minute is reached; zero if it is not.
func (s *explainer) whyRateLimited(ctx context.Context, survey *surveys.Survey, plan *surveys.Plan, now time.Time) (operators.Why, error) {
	var minute pacing.MinuteLimit
	if err := s.io.loadMinute(ctx, survey.ID, &minute, now); err != nil {
		return operators.Why{}, err
	}
	if minute.Left(now, plan.LimitPerMinute) > 0 {
		return operators.Why{}, nil
	}
	return operators.NewWhy(operators.WhyRate, operators.TextMinute, "limit", plan.LimitPerMinute, "at", minute.Next(now, plan.LimitPerMinute)), nil
}

// WhyRespondent explains why a respondent waits: for its next step, for its
// contact, or for its survey. It is zero for a final respondent.
func (s *explainer) WhyRespondent(ctx context.Context, survey surveys.Survey, r surveys.Respondent) (operators.Why, error) {
	if r.Status.Final() {
		return operators.Why{}, nil
	}
	if r.Progress.Contact != surveys.Idle && r.Contact != (weir.Ref{}) {
		why, err := s.whyContact(ctx, r.Contact)
		if err == nil && why.IsZero() {
			why = operators.NewWhy(operators.WhyTurn, operators.TextContactEnded)
		}
		return why, err
	}
	plan, _ := s.io.compile(&survey)
	if plan != nil && survey.State == surveys.Running && plan.Covers(r.Progress) {
		if why := plan.Why(r.Progress, time.Now()); !why.IsZero() {
			return why, nil
		}
		if full, err := s.bucketFull(ctx, plan, &r); err != nil || full {
			return operators.NewWhy(operators.WhyQuota, operators.TextQuotaFull), err
		}
	}
	why, err := s.Why(ctx, survey)
	if err == nil && why.IsZero() {
		why = operators.NewWhy(operators.WhyTurn, operators.TextNotItsTurn)
	}
	return why, err
}

// whyContact explains why a respondent's contact waits; zero if it is done.
func (s *explainer) whyContact(ctx context.Context, ref weir.Ref) (operators.Why, error) {
	contact, err := s.io.readContact(ctx, ref)
	if err != nil || contact.State == weir.Done {
		return operators.Why{}, notFoundIsNone(err)
	}
	ch, err := lookup(ctx, s.io.Store.ChannelByID, ref.Channel)
	if err != nil {
		return operators.Why{}, notFoundIsNone(err)
	}
	list, err := s.io.Channels.WaitReasons(ctx, ch, []weir.Contact{contact})
	if err != nil || len(list) != 1 {
		return operators.Why{}, err
	}
	return operators.NewWhy(list[0].Code, operators.TextItsContact).And(list[0].Clauses...), nil
}

// bucketFull reports whether a pending respondent is in a full bucket.
func (s *explainer) bucketFull(ctx context.Context, plan *surveys.Plan, r *surveys.Respondent) (bool, error) {
	if r.Status != surveys.Pending || len(plan.Quotas) == 0 {
		return false, nil
	}
	sums, err := lookup(ctx, s.io.Store.Counts, r.Survey)
	return err == nil && slices.Contains(plan.Quotas.FullBuckets(sums.Tally(len(plan.Quotas)).Buckets), r.Bucket), err
}
