package workers

import (
	"context"
	"errors"
	"time"

	"weir"
	"weir/channels"
	"weir/routing"
)

// driver reaches workers through the router. It has no state.
type driver struct {
	settings
	router routing.Engine
}

// closedRetry is how long a hand-over waits when the queue is closed.
const closedRetry = 30 * time.Second

var errTaken = errors.New("the router has another job of this name")

// nothing is the command of a question that turned out to need none.
func nothing() routing.Command { return routing.Tick{} }

// Send makes the attempt's job. One that is there already is left as it is.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.Sent {
	id, begun := a.ID.String(), false
	var refused error // of the contact itself
	err := d.router.Do(ctx, func(s *routing.State, now time.Time) (routing.Command, error) {
		begun = true
		if j, ok := s.Job(id); ok {
			if !ours(&j, a.ID) {
				refused = errTaken
			}
			return nothing(), refused
		}
		var spec routing.JobSpec
		spec, refused = d.job(a, now)
		return routing.PutJob{ID: id, Spec: spec}, refused
	}, nil)
	switch {
	case refused != nil:
		return channels.Sent{Fate: channels.Refused, Outcome: weir.Failed, Reason: refused.Error()}
	case err != nil:
		return failed(ctx, err, begun)
	}
	return channels.Sent{Fate: channels.Accepted, ProviderRef: id}
}

// failed says what an error means for a job that was to be made. A job of which
// the router had not begun to think was certainly not made.
func failed(ctx context.Context, err error, begun bool) channels.Sent {
	s := channels.Sent{Fate: channels.NotSent, Reason: unreachable(ctx), ChannelFault: !errors.Is(ctx.Err(), context.Canceled)}
	e, _ := errors.AsType[*weir.Error](err)
	if e != nil {
		s.RetryAfter = e.RetryAfter
	}
	switch code := weir.CodeOf(err); {
	case !begun, code == weir.CodeDraining:
	case code == weir.CodeConflict:
		s.Reason, s.RetryAfter = "the queue is closed", closedRetry
	case code == weir.CodeInvalid && namesNothing(e):
		s.Reason = "the router has no such queue or policy"
	case code == weir.CodeInvalid:
		return channels.Sent{Fate: channels.Refused, Outcome: weir.Failed, Reason: "the router refused the job"}
	default:
		s.Fate = channels.Unclear
	}
	return s
}

// namesNothing says that a refusal is about what the channel's settings name,
// and so of every contact.
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

// Ask looks the job up. A worker who has had it for longer than the channel
// allows loses it here.
func (d *driver) Ask(ctx context.Context, a channels.Attempt) channels.Answer {
	var answer channels.Answer
	var overdue routing.Command
	look := func(s *routing.State, now time.Time) {
		answer, overdue = d.look(s, a.ID, now)
	}
	err := d.router.View(ctx, look)
	if err == nil && overdue != nil {
		err = d.router.Do(ctx, func(s *routing.State, now time.Time) (routing.Command, error) {
			if _, c := d.look(s, a.ID, now); c != nil {
				return c, nil
			}
			return nothing(), nil
		}, nil)
		if err == nil {
			err = d.router.View(ctx, look)
		}
	}
	if err != nil {
		return channels.Answer{Knowledge: channels.AskFailed, Reason: unreachable(ctx)}
	}
	return answer
}

// look says how a job stands and, if a worker has had it for too long, what
// ends it: the wrap-up if that is all that is left, and else the job.
func (d *driver) look(s *routing.State, a weir.AttemptRef, now time.Time) (answer channels.Answer, overdue routing.Command) {
	j, ok := s.Job(a.String())
	if !ok || !ours(&j, a) {
		return channels.Answer{Knowledge: channels.Absent, Reason: "the router has no such job"}, nil
	}
	if r, over := d.ended(a, &j, now); over {
		return channels.Answer{Knowledge: channels.Over, ProviderRef: r.ProviderRef, Reports: []weir.Report{r}}, nil
	}
	for _, has := range j.Assignments {
		switch {
		case d.work == 0 || !has.ClosedAt.IsZero() || now.Before(has.AssignedAt.Add(d.work)):
		case j.Status == routing.JobCompleted:
			overdue = routing.CloseJob{JobID: j.ID, AssignmentID: has.AssignmentID}
		default:
			overdue = routing.CancelJob{ID: j.ID, DispositionCode: codeOverdue}
		}
	}
	return channels.Answer{Knowledge: channels.Underway, ProviderRef: referenceAt(&j), Bounded: true}, overdue
}

// Cancel takes a job back that nobody has. One that a worker has is theirs to
// end, as the person may be on the line.
func (d *driver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	var done channels.Cancellation
	err := d.router.Do(ctx, func(s *routing.State, _ time.Time) (routing.Command, error) {
		j, ok := s.Job(a.ID.String())
		switch {
		case !ok || !ours(&j, a.ID):
			done = channels.Cancellation{Gone: true, Reason: "the router has no such job"}
		case j.Status == routing.JobAssigned || j.Status == routing.JobCompleted:
			done = channels.Cancellation{Reason: "a worker has it"}
		case j.Status == routing.JobClosed || j.Status == routing.JobCancelled || j.Status == routing.JobScheduleFailed:
			done = channels.Cancellation{Reason: "it has ended"}
		default:
			done = channels.Cancellation{Gone: true}
			return routing.CancelJob{ID: a.ID.String(), DispositionCode: codeCanceled}, nil
		}
		return nothing(), nil
	}, nil)
	if err != nil {
		return channels.Cancellation{Failed: true, Reason: unreachable(ctx)}
	}
	return done
}

// Read refuses everything: the router does not call back over HTTP.
func (d *driver) Read(channels.Callback) (channels.Reading, error) {
	return channels.Reading{}, errors.New("workers are heard of through the router, which does not call back")
}

// Prepare has nothing to set up: queues and workers are made through the
// router's API.
func (d *driver) Prepare(context.Context) error { return nil }

// Status says whether the router answers and would take jobs.
func (d *driver) Status(ctx context.Context) channels.Status {
	up := channels.Status{Health: weir.Up}
	err := d.router.View(ctx, func(s *routing.State, _ time.Time) {
		q, ok := s.Queue(d.queue)
		_, policy := s.Classification(d.policy)
		switch {
		case d.queue != "" && !ok, d.policy != "" && !policy:
			up = channels.Status{Health: weir.Erring, Reason: "the router has no such queue or policy"}
		case q.Spec.Closed == routing.ClosedRefuse:
			up = channels.Status{Health: weir.Down, Reason: "the queue is closed"}
		}
	})
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: unreachable(ctx)}
	}
	return up
}
