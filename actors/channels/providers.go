package channels

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/failpoint"
	"weir/internal/tracing"
)

// providers calls the providers of channels: it bounds each call, counts and traces it,
// and reports a result that is true whatever a driver that panicked had done.
type providers struct {
	directory   *channels.Directory
	logger      *slog.Logger
	metrics     *Metrics
	tracing     *tracing.Tracer // nil: traces are off
	sendTimeout time.Duration
	askTimeout  time.Duration
	valid       func() bool     // this process owns the database
	ctx         context.Context // ends when no work may continue
}

// call bounds one provider call and counts it.
func (p *providers) call(f *channelSeries, operation string, timeout time.Duration, do func(context.Context) string) {
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	begun := time.Now()
	result := do(ctx)
	f.called(operation, result, time.Since(begun))
}

// traceCall exports a call of a provider. begun is zero if it was not called.
func (p *providers) trace(f *channelSeries, operation string, a *channels.Attempt, begun time.Time, reason string, result func() (label string, failed bool)) {
	if p.tracing == nil {
		return
	}
	c := tracing.Call{Operation: operation, Channel: f.name, Type: f.typ, Attempt: a.ID, Trace: a.Trace, Begun: begun, Reason: reason}
	if operation == "send" {
		c.ClaimedAt = a.ClaimedAt
	}
	c.Result, c.Failed = result()
	p.tracing.Called(&c)
}

// driverPanicked logs a driver's panic, if r is one. The caller, which alone can recover
// it, reports a result that is true whatever the driver had done.
func (p *providers) panicked(r any, channel, operation string) {
	if r != nil {
		supervise.LogPanic(p.logger, p.metrics.panics, "driver panicked", r, "channel", channel, "operation", operation)
	}
}

// send dispatches an attempt.
func (p *providers) send(d channels.Driver, f *channelSeries, a channels.Attempt) (result channels.SendResult) {
	result = channels.SendResult{Status: channels.Unclear, Reason: "the driver failed while sending", Answered: true}
	var begun time.Time
	defer func() {
		p.panicked(recover(), f.name, "send")
		p.trace(f, "send", &a, begun, result.Reason, func() (string, bool) { return fateLabel(result), result.Status != channels.Accepted })
	}()
	if !p.owned() {
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the lease of the database ran out before it was sent"}
	}
	failpoint.Hit("send.before")
	begun = time.Now()
	p.call(f, "send", p.sendTimeout, func(ctx context.Context) string {
		result = d.Send(ctx, a)
		return fateLabel(result)
	})
	failpoint.Hit("send.answered")
	return result
}

// owned reports whether this process owns the database. A lease that expired while the
// store was down is renewed soon after the store returns and is worth a wait: the stored
// claim shows that no other process had taken it by then.
func (p *providers) owned() bool {
	limit := time.Now().Add(p.sendTimeout)
	for !p.valid() {
		if time.Now().After(limit) {
			return false
		}
		select {
		case <-p.ctx.Done():
			return false
		case <-time.After(leasePoll):
		}
	}
	return true
}

func fateLabel(s channels.SendResult) string {
	switch {
	case s.Status == channels.Accepted:
		return "accepted"
	case s.Status == channels.Refused:
		return "refused"
	case s.Status == channels.NotSent && s.Later: // no fault, so no alert
		return "later"
	case s.Status == channels.NotSent:
		return "not_sent"
	default:
		return "unclear"
	}
}

// ask requests what became of an attempt.
func (p *providers) ask(d channels.Driver, f *channelSeries, a channels.Attempt) (answer channels.Answer) {
	answer = channels.Answer{Status: channels.QueryFailed, Reason: "the driver failed while asking"}
	begun := time.Now()
	defer func() {
		p.panicked(recover(), f.name, "ask")
		p.trace(f, "ask", &a, begun, answer.Reason, func() (string, bool) { return knowledgeLabel(answer.Status), answer.Status == channels.QueryFailed })
	}()
	p.call(f, "ask", p.askTimeout, func(ctx context.Context) string {
		answer = d.Query(ctx, a)
		return knowledgeLabel(answer.Status)
	})
	failpoint.Hit("ask.answered")
	return answer
}

func knowledgeLabel(k channels.QueryStatus) string {
	switch k {
	case channels.Underway:
		return "underway"
	case channels.Finished:
		return "over"
	case channels.Absent:
		return "absent"
	case channels.CannotTell:
		return "cannot_tell"
	default:
		return "failed"
	}
}

// cancel asks the provider to cancel an attempt, after waiting for one of the channel's
// turns: a channel that is being deleted may have very many contacts to cancel. It gives up
// when life ends.
func (p *providers) cancel(life context.Context, turns chan struct{}, d channels.Driver, f *channelSeries, a channels.Attempt) (done channels.Cancellation) {
	done = channels.Cancellation{Failed: true, Reason: "the driver failed while canceling"}
	var begun time.Time
	defer func() {
		p.panicked(recover(), f.name, "cancel")
		p.trace(f, "cancel", &a, begun, done.Reason, func() (string, bool) { return cancelLabel(done), done.Failed })
	}()
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-life.Done():
		return done
	}
	failpoint.Hit("take.before")
	begun = time.Now()
	p.call(f, "cancel", p.askTimeout, func(ctx context.Context) string {
		done = d.Cancel(ctx, a)
		return cancelLabel(done)
	})
	failpoint.Hit("take.answered")
	return done
}

func cancelLabel(c channels.Cancellation) string {
	switch {
	case c.Failed:
		return "failed"
	case c.Canceled:
		return "gone"
	default:
		return "too_late"
	}
}

// prepare sets the provider up for a channel's broker.
func (p *providers) prepare(d channels.Driver, f *channelSeries) (err error) {
	err = errors.New("the driver failed while preparing")
	defer func() { p.panicked(recover(), f.name, "prepare") }()
	p.call(f, "prepare", p.askTimeout, func(ctx context.Context) string {
		if err = d.Prepare(ctx); err != nil {
			return "failed"
		}
		return "ok"
	})
	return err
}

// status requests the provider's health for a channel's broker.
func (p *providers) status(d channels.Driver, f *channelSeries) (status channels.Status) {
	status = channels.Status{Health: weir.Erring, Reason: "the driver failed while requesting the status"}
	defer func() { p.panicked(recover(), f.name, "status") }()
	p.call(f, "status", p.askTimeout, func(ctx context.Context) string {
		status = d.Status(ctx)
		return string(status.Health)
	})
	return status
}

// statusOf requests the provider's health for a channel whose broker need not run.
// answered is false if the time ran out.
func (p *providers) statusOf(ctx context.Context, ch weir.Channel) (status channels.Status, answered bool) {
	driver, err := p.directory.Driver(ch)
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: "this program has no driver for the channel"}, false
	}
	defer func() {
		if r := recover(); r != nil {
			p.panicked(r, ch.Name, "status")
			status, answered = channels.Status{Health: weir.Erring, Reason: "the driver failed while requesting the status"}, false
		}
	}()
	ctx, cancel := background(ctx, p.askTimeout)
	defer cancel()
	status = driver.Status(ctx)
	return status, ctx.Err() == nil
}

// Prepare sets a channel's provider up, as its broker does before the first
// contact. It may be called at any time.
func (p *providers) Prepare(ctx context.Context, ch weir.Channel) (err error) {
	driver, err := p.directory.Driver(ch)
	if err != nil {
		return errors.New("this program has no driver for the channel")
	}
	defer func() {
		if r := recover(); r != nil {
			p.panicked(r, ch.Name, "prepare")
			err = errors.New("the driver failed while preparing")
		}
	}()
	ctx, cancel := background(ctx, p.askTimeout)
	defer cancel()
	return driver.Prepare(ctx)
}
