package surveybroker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/surveys"
)

// Check validates a definition, by itself and against the channels that it
// names.
func (s *System) Check(ctx context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError) {
	plan, wrong := d.Compile(s.defaults)
	wrong = append(wrong, s.checkChannels(ctx, d)...)
	if len(wrong) > 0 {
		return nil, wrong
	}
	return plan, nil
}

// checkChannels reports channels that do not exist, or that cannot carry what
// their mode needs.
func (s *System) checkChannels(ctx context.Context, d surveys.Definition) []weir.FieldError {
	var wrong []weir.FieldError
	for _, mode := range slices.Sorted(maps.Keys(d.Modes)) {
		name := d.Modes[mode].Channel
		if name == "" || !slices.Contains(surveys.Modes(), mode) {
			continue // an error of the definition itself
		}
		at := "/modes/" + string(mode) + "/channel"
		ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return s.store.Channel(ctx, name) })
		switch {
		case weir.CodeOf(err) == weir.CodeNotFound || err == nil && (ch.Deleting || ch.Deleted):
			wrong = append(wrong, weir.FieldError{Pointer: at, Code: "unknown", Detail: fmt.Sprintf("there is no channel %q", clip(name))})
		case err != nil:
			s.logger.Warn("a channel of a survey could not be read", "error", err)
			wrong = append(wrong, weir.FieldError{Pointer: at, Code: "unavailable", Detail: "the store cannot say whether there is such a channel; try again"})
		default:
			wrong = append(wrong, s.fits(at, mode, ch)...)
		}
	}
	return wrong
}

// fits returns an error if a channel cannot carry what a mode needs.
func (s *System) fits(at string, mode surveys.Mode, ch weir.Channel) []weir.FieldError {
	if why := s.unfit(mode, ch); why != "" {
		return []weir.FieldError{{Pointer: at, Code: "content", Detail: why}}
	}
	return nil
}

// Step applies a command of a user to a survey. A command that has been applied
// already changes nothing.
func (s *System) Step(ctx context.Context, name string, step surveys.Step) (surveys.Survey, error) {
	if step == surveys.Finish {
		return surveys.Survey{}, weir.Errorf(weir.CodeInvalid, "a survey finishes by itself")
	}
	for tries := 0; ; tries++ {
		survey, err := s.store.Survey(ctx, name)
		if err != nil {
			return survey, err
		}
		take := s.step
		if step == surveys.Launch && survey.State == surveys.Draft {
			take = s.launch
		}
		out, err := take(ctx, survey, step)
		if weir.CodeOf(err) != weir.CodeConflict || tries >= 3 {
			return out, err
		}
		// If the survey was changed in between, its new state may allow the
		// step.
		if fresh, e := s.store.Survey(ctx, name); e != nil || fresh.Version == survey.Version {
			return out, err
		}
	}
}

func (s *System) step(ctx context.Context, survey surveys.Survey, step surveys.Step) (surveys.Survey, error) {
	to, err := survey.State.Take(step)
	if err != nil || to == survey.State {
		return survey, err
	}
	now := time.Now()
	var warnings []weir.FieldError
	if step == surveys.Launch {
		if warnings, err = s.ready(ctx, &survey, now); err != nil {
			return survey, err
		}
		survey.Launched = now
	}
	if step == surveys.Stop {
		survey.Cause = surveys.ByUser
	}
	survey.State = to
	out, err := s.store.UpdateSurvey(ctx, survey, stateEvent(&survey, now))
	if err != nil {
		return survey, err
	}
	s.logger.Info("a survey was told what to do", "survey", survey.Name, "step", string(step), "state", string(to))
	s.Changed(out.ID)
	out.Warnings = warnings
	return out, nil
}

// ready returns an error with everything that prevents a survey from being
// launched. If nothing does, it prepares the channels. The warnings name
// attributes of quotas that no respondent has and no application can supply.
func (s *System) ready(ctx context.Context, survey *surveys.Survey, now time.Time) (warnings []weir.FieldError, _ error) {
	plan, wrong := s.Check(ctx, survey.Definition)
	if plan == nil {
		return nil, surveys.Invalid(wrong)
	}
	for _, f := range plan.Schedule.CheckAhead(now) {
		f.Pointer = "/schedule" + f.Pointer
		wrong = append(wrong, f)
	}
	people, err := s.inspect(ctx, survey.ID, plan)
	if err != nil {
		return nil, err
	}
	if people.count == 0 {
		wrong = append(wrong, weir.FieldError{Pointer: "/respondents", Code: "required", Detail: "the survey has no respondents"})
	}
	if e, ok := errors.AsType[*weir.Error](people.gaps.Err()); ok {
		e.Fields = append(wrong, e.Fields...)
		return nil, e
	}
	if err := surveys.Invalid(wrong); err != nil {
		return nil, err
	}
	if survey.Application.URL == "" {
		warnings = plan.Quotas.CheckKnown(slices.Sorted(maps.Keys(people.attributes)))
	}
	return warnings, s.prepare(ctx, plan)
}

// people summarizes the respondents for the launch checks.
type people struct {
	count      int
	attributes map[string]bool
	gaps       surveys.Gaps
}

const inspectPage = 1000

// inspect reads every respondent, page by page.
func (s *System) inspect(ctx context.Context, survey int64, plan *surveys.Plan) (people, error) {
	out := people{attributes: map[string]bool{}, gaps: surveys.Gaps{Needs: plan.Needs()}}
	for after := surveys.RespondentID(0); ; {
		page, next, err := s.inspected(ctx, surveys.Filter{Survey: survey, After: after, Limit: inspectPage})
		if err != nil {
			return out, err
		}
		for i := range page {
			out.count++
			out.gaps.Check(page[i].ID.String(), page[i].Attributes)
			for name := range page[i].Attributes {
				out.attributes[name] = true
			}
		}
		if next == 0 {
			return out, nil
		}
		after = next
	}
}

// inspected returns one page of respondents.
func (s *System) inspected(ctx context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return s.store.Respondents(ctx, f)
}

// clip bounds untrusted text in an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
