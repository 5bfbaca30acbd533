package surveys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/events"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys"
	"weir/surveys/respondents"
)

// commands carries out what users command surveys to do. Its methods are safe for
// concurrent use.
type commands struct {
	io       *access
	launches *launches
	tasks    *sync.WaitGroup // holds the launches
	ctx      context.Context // ends when all work must end
	changed  func(survey int64)
}

// Check validates a definition, by itself and against the channels that it
// names.
func (c *commands) Check(ctx context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError) {
	plan, wrong := d.Compile(c.io.Defaults)
	wrong = append(wrong, c.checkChannels(ctx, d)...)
	if c.io.People != nil {
		wrong = append(wrong, people.CheckPurpose("/purpose", d.Purpose, c.io.People.Purposes())...)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return plan, nil
}

// checkChannels reports channels that do not exist, or that cannot carry what
// their mode needs.
func (c *commands) checkChannels(ctx context.Context, d surveys.Definition) []weir.FieldError {
	var wrong validation.Errors
	for _, mode := range slices.Sorted(maps.Keys(d.Modes)) {
		name := d.Modes[mode].Channel
		if name == "" || !slices.Contains(surveys.Modes(), mode) {
			continue // an error of the definition itself
		}
		at := "/modes/" + string(mode) + "/channel"
		ch, err := lookup(ctx, c.io.Store.Channel, name)
		switch {
		case weir.CodeOf(err) == weir.CodeNotFound || err == nil && (ch.Deleting || ch.Deleted):
			wrong.Add(at, "unknown", "channel %q does not exist", validation.Clip(name))
		case err != nil:
			c.io.Logger.Warn("channel of a survey not read", "error", err)
			wrong.Add(at, "unavailable", "the channel could not be read; try again")
		default:
			if why := c.io.mismatch(mode, ch); why != "" {
				wrong.Add(at, "content", "%s", why)
			}
		}
	}
	return wrong
}

// Step applies a command of a user to a survey. A command that has been applied
// already changes nothing.
func (c *commands) Step(ctx context.Context, name string, step surveys.Step) (surveys.Survey, error) {
	return c.apply(ctx, name, step, false)
}

// Launch launches a survey. With skip, respondents that are missing a value used in the
// texts do not prevent the launch: the warnings name them, and they are given up when
// it is their turn, unless they are corrected before.
func (c *commands) Launch(ctx context.Context, name string, skip bool) (surveys.Survey, error) {
	return c.apply(ctx, name, surveys.Launch, skip)
}

func (c *commands) apply(ctx context.Context, name string, step surveys.Step, skip bool) (surveys.Survey, error) {
	if step == surveys.Finish {
		return surveys.Survey{}, weir.Errorf(weir.CodeInvalid, "a survey finishes by itself; allowed are launch, pause, resume, stop, lock and unlock")
	}
	for tries := 0; ; tries++ {
		survey, err := c.io.Store.Survey(ctx, name)
		if err != nil {
			return survey, err
		}
		var out surveys.Survey
		if step == surveys.Launch && survey.State == surveys.Draft {
			out, err = c.launch(ctx, survey, skip)
		} else {
			out, err = c.step(ctx, survey, step, skip)
		}
		if weir.CodeOf(err) != weir.CodeConflict || tries >= 3 {
			return out, err
		}
		// If the survey was changed in between, its new state may allow the
		// step.
		if fresh, e := c.io.Store.Survey(ctx, name); e != nil || fresh.Version == survey.Version {
			return out, err
		}
	}
}

func (c *commands) step(ctx context.Context, survey surveys.Survey, step surveys.Step, skip bool) (surveys.Survey, error) {
	next, err := survey.Command(step)
	if err != nil || next.State == survey.State && next.Locked == survey.Locked {
		return survey, err
	}
	now := time.Now()
	var warnings []weir.FieldError
	if step == surveys.Launch {
		if warnings, err = c.checkLaunch(ctx, &survey, now, skip); err != nil {
			return survey, err
		}
		next.Launched = now
	}
	if step == surveys.Stop {
		next.Cause = surveys.ByUser
	}
	var tell []events.Event
	if next.State != survey.State {
		tell = append(tell, surveys.StateChanged(&next, now))
	}
	// After the checks and after the channels were prepared. A crash before this leaves a draft,
	// and preparing a channel again is harmless. The store refuses it if the survey was locked
	// meanwhile: that is another version.
	out, err := c.io.Store.UpdateSurvey(ctx, next, tell...)
	if err != nil {
		return survey, err
	}
	c.io.Logger.Info("survey command applied", "survey", survey.Name, "step", string(step), "state", string(next.State))
	c.changed(out.ID)
	out.Warnings = warnings
	return out, nil
}

// checkLaunch returns an error with everything that prevents a survey from being
// launched. If nothing does, it prepares the channels. The warnings name
// respondents that the launch skips, and the doubts.
func (c *commands) checkLaunch(ctx context.Context, survey *surveys.Survey, now time.Time, skip bool) (warnings []weir.FieldError, _ error) {
	plan, wrong := c.Check(ctx, survey.Definition)
	if plan == nil {
		return nil, surveys.Invalid(wrong)
	}
	found, err := c.inspectRespondents(ctx, survey, plan, now, math.MaxInt)
	if err != nil {
		return nil, err
	}
	_, unpaid, err := c.io.refusesBudget(ctx, survey)
	if err != nil {
		return nil, err
	}
	wrong = append(refusals(plan, &found, now), unpaid...)
	if found.count == found.gaps.Respondents {
		skip = false // none would be contacted
	}
	if e, ok := errors.AsType[*weir.Error](found.gaps.Err()); ok && skip {
		warnings = e.Fields
	} else if ok {
		e.Fields = append(wrong, e.Fields...)
		return nil, e
	}
	if err := surveys.Invalid(wrong); err != nil {
		return nil, err
	}
	return append(warnings, doubts(survey, plan, &found)...), c.prepareChannels(ctx, plan)
}

// refusals returns what a launch is refused for, apart from missing values.
func refusals(plan *surveys.Plan, found *launchSummary, now time.Time) (wrong []weir.FieldError) {
	for _, f := range plan.Schedule.CheckAhead(now) {
		f.Pointer = "/schedule" + f.Pointer
		wrong = append(wrong, f)
	}
	wrong = append(wrong, found.hours...)
	if n := found.zoneless.count; n > 0 {
		wrong = append(wrong, weir.FieldError{Pointer: "/respondents", Code: "format", Detail: fmt.Sprintf(
			"respondents whose time_zone is not an IANA time zone, like Africa/Nairobi: %d, the first of them %v; correct them, or remove the attribute", n, found.zoneless.first)})
	}
	if found.count == 0 {
		wrong = append(wrong, weir.FieldError{Pointer: "/respondents", Code: "required", Detail: "the survey has no respondents; add some before the launch"})
	}
	return wrong
}

// doubts returns the warnings of a launch: attributes that no respondent has, or that some lack, and what
// is strange about the definition itself.
func doubts(survey *surveys.Survey, plan *surveys.Plan, found *launchSummary) []weir.FieldError {
	warnings := plan.CheckCompared(found.attributes, found.count)
	if survey.Application.URL == "" { // which may supply any attribute
		warnings = append(warnings, plan.Quotas.CheckKnown(append(slices.Sorted(maps.Keys(found.attributes)), plan.AnswerNames()...))...)
	}
	return append(warnings, plan.Warnings()...)
}

// Bounds of a check before the launch.
const (
	maxChecked = 200_000 // respondents, so that the check of a large survey ends within a request
	maxFirst   = 2       // respondents in the result
)

// CheckLaunch returns what a launch would find, as far as that can be known without asking
// providers. It changes nothing.
func (c *commands) CheckLaunch(ctx context.Context, survey surveys.Survey) (surveys.LaunchCheck, error) {
	plan, wrong := c.Check(ctx, survey.Definition)
	out := surveys.LaunchCheck{Plan: plan, Refusal: wrong, Capacity: map[string]int{}}
	if plan == nil {
		return out, nil
	}
	now := time.Now()
	found, err := c.inspectRespondents(ctx, &survey, plan, now, maxChecked)
	if err != nil {
		return out, err
	}
	use, unpaid, err := c.io.refusesBudget(ctx, &survey)
	if err != nil {
		return out, err
	}
	if survey.Definition.Budget != nil {
		out.Budget = &surveys.BudgetForecast{BudgetUse: use, Average: found.cost.average()}
	}
	out.Checked, out.Partial, out.Missing, out.First = found.count, found.partial, found.gaps.Respondents, found.first
	out.Refusal = append(refusals(plan, &found, now), unpaid...)
	if e, ok := errors.AsType[*weir.Error](found.gaps.Err()); ok {
		out.Refusal = append(out.Refusal, e.Fields...)
	}
	out.Warnings = doubts(&survey, plan, &found)
	for _, name := range plan.Channels {
		ch, err := lookup(ctx, c.io.Store.Channel, name)
		if err != nil {
			return out, err
		}
		out.Capacity[name] = ch.Capacity - channels.ReplyReserve(ch.Settings)
		if ch.Paused {
			out.Warnings = append(out.Warnings, weir.FieldError{Code: "paused", Detail: fmt.Sprintf("channel %q is paused: nothing is dispatched on it until it is resumed", name)})
		}
	}
	return out, nil
}

// unknownZones are respondents with an attribute time_zone that is no zone.
type unknownZones struct {
	count int
	first surveys.RespondentID
}

// launchSummary summarizes the respondents for the launch checks.
type launchSummary struct {
	count      int
	attributes map[string]int // how many have each
	gaps       surveys.MissingAttributes
	zoneless   unknownZones
	hours      []weir.FieldError    // people whom the schedule and the rules of the purpose leave no time for
	first      []surveys.Respondent // that lack nothing
	partial    bool                 // there are more respondents than limit
	cost       *costSum
}

const respondentPage = 1000

// inspectRespondents reads the respondents, page by page, until it has read limit.
func (c *commands) inspectRespondents(ctx context.Context, survey *surveys.Survey, plan *surveys.Plan, now time.Time, limit int) (launchSummary, error) {
	hours := c.io.hoursOf(plan)
	out := launchSummary{attributes: map[string]int{}, cost: c.io.newCostSum(survey, plan, now), gaps: surveys.MissingAttributes{Needs: plan.RequiredAttributes()}}
	for after := surveys.RespondentID(0); ; {
		page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
			return c.io.Store.Respondents(ctx, surveys.Filter{Survey: survey.ID, After: after, Limit: respondentPage})
		})
		if err != nil {
			return out, err
		}
		for i := range page {
			out.count++
			if out.gaps.Check(page[i].ID.String(), page[i].Attributes) && len(out.first) < maxFirst {
				out.first = append(out.first, page[i])
			}
			if zone := page[i].Attributes[respondents.FieldTimeZone]; zone != "" {
				if _, ok := c.io.zones.Load(zone); !ok {
					out.zoneless = unknownZones{out.zoneless.count + 1, cmp.Or(out.zoneless.first, page[i].ID)}
				}
			}
			hours.Add(&page[i])
			out.cost.add(&page[i])
			for name := range page[i].Attributes {
				out.attributes[name]++
			}
		}
		if out.partial = next != 0 && out.count >= limit; next == 0 || out.partial {
			out.hours = hours.Check(now)
			return out, nil
		}
		after = next
	}
}

// launch launches a survey and waits for the result as long as the client does.
func (c *commands) launch(ctx context.Context, survey surveys.Survey, skip bool) (surveys.Survey, error) {
	x, ok := c.launches.join(survey, skip, func(x *launchRun) {
		c.tasks.Go(func() {
			out, err := c.runLaunch(survey, skip)
			c.launches.finish(x, out, err)
		})
	})
	if !ok {
		return survey, weir.Errorf(weir.CodeDraining, "this process is shutting down")
	}
	defer c.launches.leave(x)
	select {
	case <-x.done:
		return x.result, x.err
	case <-ctx.Done():
		return survey, &weir.Error{
			Code: weir.CodeUnavailable, RetryAfter: launchRetryAfter, Cause: ctx.Err(),
			Message: "the launch is still running, because there are many respondents; it continues, repeat the request for its result",
		}
	}
}

// runLaunch launches a survey, independent of any waiting client.
func (c *commands) runLaunch(survey surveys.Survey, skip bool) (out surveys.Survey, err error) {
	defer func() {
		if p := recover(); p != nil {
			supervise.LogPanic(c.io.Logger, c.io.Metrics.panics, "survey launch panicked", p, "survey", survey.Name)
			out, err = survey, weir.Errorf(weir.CodeInternal, "the launch failed")
		}
	}()
	ctx, cancel := context.WithTimeout(c.ctx, launchTimeout)
	defer cancel()
	return c.step(ctx, survey, surveys.Launch, skip)
}

// prepareChannels sets up all channels of a survey at their providers, concurrently,
// and returns an error that names each failure, because the survey would stand
// still. A channel that its user has paused is prepared when it resumes. A
// channel that its provider reports as down for now does not prevent the
// launch: the survey waits for it.
func (c *commands) prepareChannels(ctx context.Context, plan *surveys.Plan) error {
	modes := slices.Sorted(maps.Keys(plan.Channels))
	wrong := make([]string, len(modes))
	concurrently(modes, func(i int, mode surveys.Mode) { wrong[i] = c.prepareChannel(ctx, plan.Channels[mode]) })
	out := &weir.Error{Code: weir.CodeConflict, Message: "the survey was not launched: a channel cannot be used"}
	for i, mode := range modes {
		if wrong[i] != "" {
			out.Fields = append(out.Fields, weir.FieldError{
				Pointer: "/modes/" + string(mode) + "/channel", Code: "unavailable", Detail: fmt.Sprintf("channel %q %s", plan.Channels[mode], wrong[i]),
			})
		}
	}
	if len(out.Fields) > 0 {
		return out
	}
	return nil
}

// prepareChannel returns what prevents a channel from being used, or "".
func (c *commands) prepareChannel(ctx context.Context, name string) (wrong string) {
	ch, err := lookup(ctx, c.io.Store.Channel, name)
	if err != nil {
		c.io.Logger.Warn("channel of a survey not read", "error", err)
		return "could not be read; try again"
	}
	if ch.Paused {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, c.io.CheckTimeout)
	defer cancel()
	if err := c.io.Channels.Prepare(ctx, ch); err != nil {
		return "could not be prepared: " + err.Error()
	}
	if status := c.io.Channels.Status(ctx, ch); status.Health == weir.Erring {
		return "does not work: " + status.Reason
	}
	return ""
}
