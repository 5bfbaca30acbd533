package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/failpoint"
	"weir/internal/tracing"
	"weir/ops"
)

// call bounds one provider call and counts it.
func (b *broker) call(f *channelSeries, operation string, timeout time.Duration, do func(context.Context) string) {
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	begun := time.Now()
	result := do(ctx)
	r := f.request(operation, result)
	r.count.Inc()
	r.seconds.Observe(time.Since(begun).Seconds())
}

// traceCall exports a call of a provider. begun is zero if it was not called.
func (b *broker) traceCall(f *channelSeries, operation string, a *channels.Attempt, begun time.Time, reason string, result func() (label string, failed bool)) {
	if b.tracing == nil {
		return
	}
	c := tracing.Call{Operation: operation, Channel: f.name, Type: f.typ, Attempt: a.ID, Trace: a.Trace, Begun: begun, Reason: reason}
	if operation == "send" {
		c.ClaimedAt = a.ClaimedAt
	}
	c.Result, c.Failed = result()
	b.tracing.Called(&c)
}

// driverPanicked logs a driver's panic, if r is one. The caller, which alone can recover
// it, reports a result that is true whatever the driver had done.
func (s *System) driverPanicked(r any, channel, operation string) {
	if r != nil {
		supervise.LogPanic(s.logger, s.metrics.panics, "driver panicked", r, "channel", channel, "operation", operation)
	}
}

func (b *broker) send(d channels.Driver, f *channelSeries, a channels.Attempt) {
	result := channels.SendResult{Fate: channels.Unclear, Reason: "the driver failed while sending", Answered: true}
	var begun time.Time
	defer func() {
		b.driverPanicked(recover(), f.name, "send")
		b.traceCall(f, "send", &a, begun, result.Reason, func() (string, bool) { return fateLabel(result), result.Fate != channels.Accepted })
		b.state.recordSend(a.ID, &result)
		if result.Fate == channels.Accepted {
			b.state.meter.count(ops.CountSent, 1)
		} else {
			b.state.meter.count(ops.CountSendFailed, 1)
		}
		b.root.Send(b.state.actor.Load(), sendDone{a.ID, result}) // may be a later incarnation
	}()
	if !b.owned() {
		result = channels.SendResult{Fate: channels.NotSent, ChannelFault: true, Reason: "the lease of the database ran out before it was sent"}
		return
	}
	failpoint.Hit("send.before")
	begun = time.Now()
	b.call(f, "send", b.sendTimeout, func(ctx context.Context) string {
		result = d.Send(ctx, a)
		return fateLabel(result)
	})
	failpoint.Hit("send.answered")
}

// owned reports whether this process owns the database. A lease that expired while the
// store was down is renewed soon after the store returns and is worth a wait: the stored
// claim shows that no other process had taken it by then.
func (b *broker) owned() bool {
	limit := time.Now().Add(b.sendTimeout)
	for !b.valid() {
		if time.Now().After(limit) {
			return false
		}
		select {
		case <-b.ctx.Done():
			return false
		case <-time.After(leasePoll):
		}
	}
	return true
}

func fateLabel(s channels.SendResult) string {
	switch {
	case s.Fate == channels.Accepted:
		return "accepted"
	case s.Fate == channels.Refused:
		return "refused"
	case s.Fate == channels.NotSent && s.Later: // no fault, so no alert
		return "later"
	case s.Fate == channels.NotSent:
		return "not_sent"
	default:
		return "unclear"
	}
}

func (b *broker) ask(d channels.Driver, f *channelSeries, gen int64, a channels.Attempt) {
	answer := channels.Answer{Knowledge: channels.AskFailed, Reason: "the driver failed while asking"}
	begun := time.Now()
	defer func() {
		b.driverPanicked(recover(), f.name, "ask")
		b.traceCall(f, "ask", &a, begun, answer.Reason, func() (string, bool) { return knowledgeLabel(answer.Knowledge), answer.Knowledge == channels.AskFailed })
		b.post(gen, askDone{a.ID, answer})
	}()
	b.call(f, "ask", b.askTimeout, func(ctx context.Context) string {
		answer = d.Ask(ctx, a)
		return knowledgeLabel(answer.Knowledge)
	})
	failpoint.Hit("ask.answered")
}

func knowledgeLabel(k channels.Knowledge) string {
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

// cancel waits for its turn: a channel that is being deleted may have very many
// contacts to cancel.
func (b *broker) cancel(life context.Context, d channels.Driver, f *channelSeries, gen int64, a channels.Attempt) {
	done := channels.Cancellation{Failed: true, Reason: "the driver failed while canceling"}
	var begun time.Time
	defer func() {
		b.driverPanicked(recover(), f.name, "cancel")
		b.traceCall(f, "cancel", &a, begun, done.Reason, func() (string, bool) { return cancelLabel(done), done.Failed })
		b.post(gen, cancelDone{a.ID, done})
	}()
	select {
	case b.state.cancels <- struct{}{}:
		defer func() { <-b.state.cancels }()
	case <-life.Done():
		return
	}
	failpoint.Hit("take.before")
	begun = time.Now()
	b.call(f, "cancel", b.askTimeout, func(ctx context.Context) string {
		done = d.Cancel(ctx, a)
		return cancelLabel(done)
	})
	failpoint.Hit("take.answered")
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

func (b *broker) prepare(d channels.Driver, f *channelSeries, gen int64) {
	err := fmt.Errorf("the driver failed while preparing")
	defer func() {
		b.driverPanicked(recover(), f.name, "prepare")
		b.post(gen, prepareDone{err})
	}()
	b.call(f, "prepare", b.askTimeout, func(ctx context.Context) string {
		if err = d.Prepare(ctx); err != nil {
			return "failed"
		}
		return "ok"
	})
}

func (b *broker) status(d channels.Driver, f *channelSeries, gen int64) {
	status := channels.Status{Health: weir.Erring, Reason: "the driver failed while requesting the status"}
	defer func() {
		b.driverPanicked(recover(), f.name, "status")
		b.post(gen, statusDone{status})
	}()
	b.call(f, "status", b.askTimeout, func(ctx context.Context) string {
		status = d.Status(ctx)
		return string(status.Health)
	})
}

// Status requests the health of a channel's provider.
func (s *System) Status(ctx context.Context, ch weir.Channel) (status channels.Status) {
	driver, err := s.directory.Driver(ch)
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: "this program has no driver for the channel"}
	}
	defer func() {
		if r := recover(); r != nil {
			s.driverPanicked(r, ch.Name, "status")
			status = channels.Status{Health: weir.Erring, Reason: "the driver failed while requesting the status"}
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	status = driver.Status(ctx)
	if ctx.Err() == nil {
		s.healths.Store(ch.ID, health{ch.Name, status})
		s.root.Send(s.manager, ifRunning{ch.ID, observed{status}, func() {}})
	}
	return status
}

// health is the last known provider health of a channel: all that is known of a
// channel without a broker.
type health struct {
	channel string
	status  channels.Status
}

// lastHealth returns the last known provider health of a channel; up if it was
// never requested.
func (s *System) lastHealth(id weir.ChannelID) (weir.Health, string) {
	if h, ok := s.healths.Load(id); ok {
		return h.(health).status.Health, h.(health).status.Reason
	}
	return weir.Up, ""
}

// Prepare sets a channel's provider up, as its broker does before the first
// contact. It may be called at any time.
func (s *System) Prepare(ctx context.Context, ch weir.Channel) (err error) {
	driver, err := s.directory.Driver(ch)
	if err != nil {
		return errors.New("this program has no driver for the channel")
	}
	defer func() {
		if r := recover(); r != nil {
			s.driverPanicked(r, ch.Name, "prepare")
			err = errors.New("the driver failed while preparing")
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	return driver.Prepare(ctx)
}
