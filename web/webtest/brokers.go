package webtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/operators"
	"weir/people"
	"weir/surveys"
)

// Broker stores what it is asked for, and sends nothing.
type Broker struct {
	store     *Store
	now       func() time.Time
	mu        sync.Mutex
	Reports   []weir.Report
	Announced []weir.Contact
	Changes   []weir.ChannelID
	Deleting  bool
	Current   []operators.Minute
}

func (b *Broker) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	return b.store.Accept(ctx, ch.ID, specs)
}

func (*Broker) CallOff(context.Context, *people.Withdrawal) int { return 0 }

func (*Broker) OptedOut(weir.ChannelID, string) {}

func (b *Broker) Requeue(ctx context.Context, channel weir.ChannelID, list []weir.ContactID, token string) (operators.Requeued, error) {
	return b.store.Requeue(ctx, channel, list, token)
}

func (b *Broker) Announce(_ weir.ChannelID, fresh []weir.Contact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Announced = append(b.Announced, fresh...)
}

func (b *Broker) Changed(_ context.Context, id weir.ChannelID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Changes = append(b.Changes, id)
}

func (b *Broker) CurrentMinutes() []operators.Minute { return b.Current }

// Report applies the first report of each attempt.
func (b *Broker) Report(ctx context.Context, _ weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	var out []weir.Verdict
	for _, r := range reports {
		_, _, err := b.store.Contact(ctx, r.Attempt.Ref)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return nil, err
		}
		b.mu.Lock()
		switch {
		case err != nil:
			out = append(out, weir.UnknownAttempt)
		case slices.ContainsFunc(b.Reports, func(have weir.Report) bool { return have.Attempt == r.Attempt }):
			out = append(out, weir.Duplicate)
		default:
			out = append(out, weir.Applied)
		}
		b.Reports = append(b.Reports, r)
		b.mu.Unlock()
	}
	return out, nil
}

func (b *Broker) Cancel(ctx context.Context, ref weir.Ref) (weir.State, error) {
	c, _, err := b.store.Contact(ctx, ref)
	if err != nil {
		return 0, err
	}
	var p weir.Progress
	switch {
	case c.State == weir.Done:
		return 0, weir.Errorf(weir.CodeConflict, "done")
	case c.State.InFlight():
		p, err = c.RequestCancel()
	default:
		p, err = c.Finish(b.now(), weir.Canceled, "")
	}
	if err == nil {
		err = b.store.move(ctx, c, p)
	}
	return p.State, err
}

func (b *Broker) Delete(ctx context.Context, id weir.ChannelID) (bool, error) {
	if b.Deleting {
		return false, nil
	}
	list, _, err := b.store.Contacts(ctx, weir.ContactFilter{Channel: id, States: []weir.State{weir.Queued}, Limit: 100})
	for i := range list {
		if _, err := b.Cancel(ctx, list[i].Ref); err != nil {
			return false, err
		}
	}
	return true, cmp.Or(err, b.store.DeleteChannel(ctx, id))
}

func (*Broker) WaitReasons(_ context.Context, _ weir.Channel, contacts []weir.Contact) ([]operators.Why, error) {
	return make([]operators.Why, len(contacts)), nil
}

func (b *Broker) Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error) {
	all, err := b.store.Flights(ctx, []weir.ChannelID{ch.ID})
	f := all[ch.ID]
	if f.Health = weir.Up; ch.Paused {
		f.Health = weir.Paused
	}
	return f, err
}

func (b *Broker) FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error) {
	out := make([]operators.Figures, len(list))
	for i, ch := range list {
		var err error
		if out[i], err = b.Figures(ctx, ch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SurveyBroker stores what it is asked for, and contacts nobody.
type SurveyBroker struct {
	store     *Store
	mu        sync.Mutex
	Reports   []surveys.Report
	Changes   []int64
	Statistic surveys.Stats
	Wrong     []weir.FieldError // errors that depend on the channels
	Refusal   error             // of reports and messages
}

func (b *SurveyBroker) Check(_ context.Context, d surveys.Definition) (*surveys.Plan, []weir.FieldError) {
	plan, wrong := d.Compile(surveys.Defaults{Batch: 100, LimitPerMinute: 60, InitialSuccessRate: 1})
	return plan, append(wrong, b.Wrong...)
}

func (b *SurveyBroker) Step(ctx context.Context, name string, step surveys.Step) (surveys.Survey, error) {
	s, err := b.store.Survey(ctx, name)
	if err != nil {
		return s, err
	}
	next, err := s.Command(step)
	if err != nil || next.State == s.State && next.Locked == s.Locked {
		return s, err
	}
	return b.store.UpdateSurvey(ctx, next)
}

func (b *SurveyBroker) Launch(ctx context.Context, name string, _ bool) (surveys.Survey, error) {
	return b.Step(ctx, name, surveys.Launch)
}

// capacity is that of the channels of a survey.
func capacity(s *surveys.Survey) map[string]int {
	out := map[string]int{}
	for _, mode := range s.Definition.Modes {
		out[mode.Channel] = 10
	}
	return out
}

// CheckLaunch finds all respondents of the survey in order.
func (b *SurveyBroker) CheckLaunch(ctx context.Context, s surveys.Survey) (out surveys.LaunchCheck, err error) {
	out.Plan, out.Refusal = s.Definition.Compile(surveys.Defaults{Batch: 1, LimitPerMinute: 1})
	out.Capacity = capacity(&s)
	out.First, _, err = b.store.Respondents(ctx, surveys.Filter{Survey: s.ID, Limit: 1000})
	out.Checked = len(out.First)
	return out, err
}

// Course returns the course of a survey with one respondent, who completed at its launch.
func (*SurveyBroker) Course(_ context.Context, s surveys.Survey, q surveys.CourseQuery) (*surveys.Plan, surveys.Course, error) {
	plan, wrong := s.Definition.Compile(surveys.Defaults{Batch: 1, LimitPerMinute: 1})
	if plan == nil {
		return nil, surveys.Course{}, surveys.Invalid(wrong)
	}
	q.Now, q.Launched, q.Respondents, q.Tally, q.Capacity = time.Now(), s.Launched, 2, surveys.Tally{Pending: 1}, capacity(&s)
	q.Activity = []surveys.Activity{{At: q.Now, Mode: plan.Arms[0].Modes[0], Passed: surveys.Passed{Started: 1, Answered: 1, Completed: 1}}}
	return plan, surveys.CourseOf(plan, q), nil
}

// move changes a respondent.
func (b *SurveyBroker) move(ctx context.Context, was surveys.Respondent, change func(*surveys.Respondent), log ...surveys.LogEntry) (surveys.Respondent, error) {
	is := was
	change(&is)
	is.Rev = was.Rev + 1
	_, err := b.store.Work(ctx, surveys.Work{Survey: was.Survey, Moves: []surveys.Move{{Was: was, Is: is, Log: log}}})
	return is, err
}

func (b *SurveyBroker) StopRespondent(ctx context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error) {
	r, err := b.store.Respondent(ctx, s.ID, id)
	if err != nil {
		return r, err
	}
	return b.move(ctx, r, func(r *surveys.Respondent) { r.Status = surveys.Canceled })
}

func (b *SurveyBroker) Report(ctx context.Context, s surveys.Survey, id surveys.RespondentID, h surveys.Report) (surveys.Respondent, error) {
	b.Reports = append(b.Reports, h)
	r, err := b.store.Respondent(ctx, s.ID, id)
	if err = cmp.Or(b.Refusal, err); err != nil {
		return r, err
	}
	return b.move(ctx, r, func(r *surveys.Respondent) { r.Disposition = cmp.Or(h.Disposition, surveys.Contacted) })
}

func (*SurveyBroker) Why(context.Context, surveys.Survey) (why operators.Why, err error) { return }

func (*SurveyBroker) WhyRespondent(context.Context, surveys.Survey, surveys.Respondent) (why operators.Why, err error) {
	return
}

func (b *SurveyBroker) Stats(context.Context, surveys.Survey) (surveys.Stats, error) {
	return b.Statistic, nil
}

func (b *SurveyBroker) Changed(survey int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Changes = append(b.Changes, survey)
}

// Incoming implements web.Surveys.
func (b *SurveyBroker) Incoming(_ context.Context, _ weir.ChannelID, m weir.Incoming) (surveys.Heard, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Reports = append(b.Reports, surveys.Report{Key: m.GUID, Messages: []string{m.Body}})
	return surveys.Heard{}, b.Refusal
}
