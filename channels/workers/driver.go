package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/channels"
	routing "weir/router"
	"weir/router/resource"
)

// Name is the name of the channel type.
const Name = "workers"

// Type returns the channel type over a running router, for the table of types.
func Type(router routing.Engine) channels.Type {
	return channels.Type{
		Name: Name, Content: channels.Any, Shared: true,
		Summary: "people, through Weir's own router",
		SetUp: []string{
			"Create the queue and its workers in the router first: each contact becomes a job that is offered to them.",
			"The capacity bounds the jobs that wait or are in hand, so it is usually larger than the number of workers.",
		},
		Settings: []channels.Setting{
			{Key: "queue", Kind: channels.String, Help: "the router's queue that the jobs join; this or classification_policy"},
			{Key: "classification_policy", Kind: channels.String, Help: "policy that finds queue, priority and selectors by the labels of the contact"},
			{Key: "router_channel", Kind: channels.String, Help: "the router's channel of the jobs, which workers have among their channels", Default: usualChannel},
			{Key: "selectors", Kind: channels.String, Help: "which labels of a contact choose the worker, joined by commas: region (the worker's region must be the same), lang=* (the worker must have the label that is named by the value), lang=speaks_*, level>=level, level<=level; with ! at the end the contact must have the label"},
			{Key: "require", Kind: channels.String, Help: "what every worker must have, whatever the contact: cati,level>=2"},
			{Key: "priority", Kind: channels.Integer, Help: "of the jobs of contacts of priority normal, -100 to 100; high ones have 10 more, replies 20", Default: "1"},
			{Key: "wait_minutes", Kind: channels.Integer, Help: "how long a job waits for a worker before the contact ends as expired (default: until its window closes)"},
			{Key: "work_minutes", Kind: channels.Integer, Help: "how long a worker may have a job before the job is revoked and the contact ends as failed (default: as long as it lasts)"},
			{Key: "outcomes", Kind: channels.String, Help: "what disposition codes mean, joined by commas: wrong_number=failed,callback=no_answer; completed, busy, no_answer and failed mean themselves"},
			{Key: "dispositions", Kind: channels.String, Help: "the disposition of a survey's respondent for each disposition code, joined by commas: too_young=ineligible,later=call_back,done=none; dispositions are completed, refused, ineligible, partial, call_back and none. These codes, and callback, need no entry. A code may have an instant after @: callback@2026-11-24T15:00:00Z"},
			{Key: "other_outcome", Kind: channels.String, Help: "what any other disposition code means", Default: string(weir.Completed), Values: outcomeTexts()},
		},
		Check: check,
		New:   func(c channels.Config) (channels.Driver, error) { return newDriver(c, router) },
	}
}

func check(s weir.Settings) []weir.FieldError {
	_, wrong := readSettings(s)
	return wrong
}

func newDriver(c channels.Config, router routing.Engine) (channels.Driver, error) {
	if router == nil {
		return nil, errors.New("this program runs no router")
	}
	s, wrong := readSettings(c.Settings)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s: %s", wrong[0].Pointer, wrong[0].Detail)
	}
	return &driver{settings: s, router: router}, nil
}

// driver reaches workers through the router. It has no state.
type driver struct {
	settings
	router routing.Engine
}

// closedRetry is the retry delay of a dispatch to a closed queue.
const closedRetry = 30 * time.Second

var errTaken = errors.New("the router has another job with this id")

// nothing returns the command for a request that needs no change.
func nothing() routing.Command { return routing.Tick{} }

// Send creates the attempt's job. One that exists already is left unchanged.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	id, begun := a.ID.String(), false
	var refused error // caused by the contact itself
	err := d.router.Do(ctx, func(s *routing.State, now time.Time) (routing.Command, error) {
		begun = true
		if j, ok := s.Job(id); ok {
			if !ours(&j, a.ID) {
				refused = errTaken
			}
			return nothing(), refused
		}
		var spec resource.JobSpec
		spec, refused = d.job(a, now)
		return routing.PutJob{ID: id, Spec: spec}, refused
	}, nil)
	switch {
	case refused != nil:
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: refused.Error()}
	case err != nil:
		return failed(ctx, err, begun)
	}
	return channels.SendResult{Status: channels.Accepted, ProviderRef: id}
}

// failed interprets an error for a job that was to be created. If the router had
// not begun to handle the request, the job certainly was not created.
func failed(ctx context.Context, err error, begun bool) channels.SendResult {
	s := channels.SendResult{Status: channels.NotSent, Reason: unreachable(ctx), ChannelFault: !errors.Is(ctx.Err(), context.Canceled)}
	e, _ := errors.AsType[*weir.Error](err)
	if e != nil {
		s.RetryAfter = e.RetryAfter
	}
	switch code := weir.CodeOf(err); {
	case !begun, code == weir.CodeDraining:
	case code == weir.CodeConflict && e != nil && slices.ContainsFunc(e.Fields, func(f weir.FieldError) bool { return f.Code == routing.QuotaExceeded }):
		s.Reason, s.RetryAfter = "the router is full", closedRetry
	case code == weir.CodeConflict:
		s.Reason, s.RetryAfter = "the queue is closed", closedRetry
	case code == weir.CodeInvalid && namesNothing(e):
		s.Reason = "the router has no such queue or policy"
	case code == weir.CodeInvalid:
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "the router refused the job"}
	default:
		s.Status = channels.Unclear
	}
	return s
}

// namesNothing reports whether a refusal is about something that the channel's
// settings name, and so applies to every contact.
func namesNothing(e *weir.Error) bool {
	for _, f := range e.Fields {
		if f.Pointer == "/queueId" || f.Pointer == "/classificationPolicyId" {
			return true
		}
	}
	return false
}

func unreachable(ctx context.Context) string {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "given up by us"
	case ctx.Err() != nil:
		return "timeout"
	}
	return "the router is not available"
}

// Query looks up the job. A worker who has had it for longer than the channel
// allows loses it here.
func (d *driver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	var answer channels.Answer
	var overdue routing.Command
	look := func(s *routing.State, now time.Time) {
		answer, overdue = d.jobState(s, a.ID, now)
	}
	err := d.router.View(ctx, look)
	if err == nil && overdue != nil {
		err = d.router.Do(ctx, func(s *routing.State, now time.Time) (routing.Command, error) {
			if _, c := d.jobState(s, a.ID, now); c != nil {
				return c, nil
			}
			return nothing(), nil
		}, nil)
		if err == nil {
			err = d.router.View(ctx, look)
		}
	}
	if err != nil {
		return channels.Answer{Status: channels.QueryFailed, Reason: unreachable(ctx)}
	}
	return answer
}

// jobState returns the state of a job and, if a worker has had it for too long, the
// command that ends it: closing it if only the wrap-up is left, otherwise
// canceling it.
func (d *driver) jobState(s *routing.State, a weir.AttemptRef, now time.Time) (answer channels.Answer, overdue routing.Command) {
	j, ok := s.Job(a.String())
	if !ok || !ours(&j, a) {
		return channels.Answer{Status: channels.Absent, Reason: "the router has no such job"}, nil
	}
	if r, over := d.ended(a, &j, now); over {
		return channels.Answer{Status: channels.Finished, ProviderRef: r.ProviderRef, Reports: []weir.Report{r}}, nil
	}
	for _, has := range j.Assignments {
		switch {
		case d.work == 0 || !has.ClosedAt.IsZero() || now.Before(has.AssignedAt.Add(d.work)):
		case j.Status == resource.JobCompleted:
			overdue = routing.CloseJob{JobID: j.ID, AssignmentID: has.AssignmentID}
		default:
			overdue = routing.CancelJob{ID: j.ID, DispositionCode: codeOverdue}
		}
	}
	return channels.Answer{Status: channels.Underway, ProviderRef: referenceAt(&j), Bounded: true}, overdue
}

// Cancel cancels a job that no worker has. A worker who has one must end it,
// because the person may be on the line.
func (d *driver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	var done channels.Cancellation
	err := d.router.Do(ctx, func(s *routing.State, _ time.Time) (routing.Command, error) {
		j, ok := s.Job(a.ID.String())
		switch {
		case !ok || !ours(&j, a.ID):
			done = channels.Cancellation{Canceled: true, Reason: "the router has no such job"}
		case j.Status == resource.JobAssigned || j.Status == resource.JobCompleted:
			done = channels.Cancellation{Reason: "a worker has it"}
		case j.Status == resource.JobClosed || j.Status == resource.JobCancelled || j.Status == resource.JobScheduleFailed:
			done = channels.Cancellation{Reason: "it has ended"}
		default:
			done = channels.Cancellation{Canceled: true}
			return routing.CancelJob{ID: a.ID.String(), DispositionCode: codeCanceled}, nil
		}
		return nothing(), nil
	}, nil)
	if err != nil {
		return channels.Cancellation{Failed: true, Reason: unreachable(ctx)}
	}
	return done
}

// ParseCallback refuses everything: the router does not call back over HTTP.
func (d *driver) ParseCallback(channels.Callback) (channels.CallbackResult, error) {
	return channels.CallbackResult{}, errors.New("workers report through the router, which makes no callbacks")
}

// Prepare has nothing to set up: queues and workers are created through the
// router's API.
func (d *driver) Prepare(context.Context) error { return nil }

// Status reports whether the router answers and would accept jobs.
func (d *driver) Status(ctx context.Context) channels.Status {
	up := channels.Status{Health: weir.Up}
	err := d.router.View(ctx, func(s *routing.State, _ time.Time) {
		q, ok := s.Queue(d.queue)
		_, policy := s.Classification(d.policy)
		switch {
		case d.queue != "" && !ok, d.policy != "" && !policy:
			up = channels.Status{Health: weir.Erring, Reason: "the router has no such queue or policy"}
		case q.Spec.Closed == resource.ClosedRefuse:
			up = channels.Status{Health: weir.Down, Reason: "the queue is closed"}
		}
	})
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: unreachable(ctx)}
	}
	return up
}
