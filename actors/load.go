package actors

import (
	"context"
	"errors"
	"reflect"
	"time"

	"weir"
	"weir/actors/core"
	"weir/internal/backoff"
	"weir/ops"
)

// load begins an incarnation and reads the state that the core starts from.
func (b *broker) load(ctx context.Context, gen int64) {
	var m loaded
	m.err = func() error {
		io, cancel := background(ctx, ioTimeout)
		defer cancel()
		ch, err := b.store.ChannelByID(io, b.state.channel)
		if err != nil {
			return err
		}
		m.snapshot.Channel = ch
		if ch.Deleted {
			return nil
		}
		if m.driver, err = b.directory.Driver(ch); err != nil {
			return err
		}
		// What an earlier incarnation had in the writer is written, and what it submits later is
		// refused. Once all is answered, each durable claim of ours is a local attempt.
		if m.by, err = b.queue.Incarnate(io, ch.ID); err != nil {
			return err
		}
		b.state.writes.wait()
		if m.snapshot.InFlight, err = b.queue.InFlight(io, ch.ID); err != nil {
			return err
		}
		m.snapshot.LocalAttempts, m.results = b.state.localAttempts()
		if m.snapshot.Lanes, err = b.queue.Lanes(io, ch.ID); err != nil {
			return err
		}
		m.snapshot.Queued, err = b.queue.QueuedCount(io, ch.ID)
		return err
	}()
	b.post(gen, m)
}

func (b *broker) onLoaded(m loaded) {
	now := time.Now()
	switch {
	case m.snapshot.Channel.Deleted, weir.CodeOf(m.err) == weir.CodeNotFound:
		b.forget(m.snapshot.Channel)
		b.refuseStash(errDeleted())
		b.stopSelf(errDeleted())
		return
	case m.err != nil:
		b.failures++
		if !errors.Is(m.err, context.Canceled) {
			b.log.Warn("channel load failed; retrying", "error", m.err)
		}
		b.refuseStash(&weir.Error{Code: weir.CodeUnavailable, Message: "the store cannot be read", RetryAfter: time.Second, Cause: m.err})
		b.armAt(now, now.Add(backoff.Random(b.failures+1, minReloadDelay, maxReloadDelay)))
		if b.quiet {
			b.reportQuiet() // the end is not for a store that cannot be read to delay
		}
		return
	}
	b.failures = 0
	b.ch, b.driver, b.by = m.snapshot.Channel, m.driver, m.by
	b.log = b.logger.With("channel", b.ch.Name)
	b.series = b.metrics.known(b.ch.Name, b.ch.Type)
	b.core = core.New(b.coreConfig, m.snapshot, now)
	if b.quiet {
		b.core.Drain(now)
	}
	b.execute(b.core.Take())
	b.arm(now)
	for ref, sent := range m.results {
		b.event(func(c *core.Core, now time.Time) { c.SendDone(ref, sent, now) })
	}
	if b.acceptedMeanwhile {
		b.acceptedMeanwhile = false
		b.event(func(c *core.Core, now time.Time) { c.Woken(now) })
	}
	b.unstash()
}

// onWithoutCore stashes messages while there is no core. They wake a broker that rests.
func (b *broker) onWithoutCore(msg any) {
	_, hint := msg.(accepted)
	switch {
	case hint:
		b.acceptedMeanwhile = true // the load finds them in the store
	case len(b.stash) < maxStash:
		b.stash = append(b.stash, msg)
	default:
		b.refuse(msg, errRestarted())
	}
	if b.resting {
		b.start()
	}
}

func (b *broker) unstash() {
	stash := b.stash
	b.stash = nil
	for _, msg := range stash {
		b.handle(msg)
	}
}

func (b *broker) refuseStash(err error) {
	stash := b.stash
	b.stash = nil
	for _, msg := range stash {
		if _, ok := msg.(sendDone); ok {
			b.stash = append(b.stash, msg) // its attempt is still open
			continue
		}
		b.refuse(msg, err)
	}
}

// refuse answers the waiter of a message that will not be handled. It returns false for
// a request that is answered all the same.
func (b *broker) refuse(msg any, err error) bool {
	switch m := msg.(type) {
	case figuresRequest, whyRequest, accepting:
		return false
	case reported:
		b.reply(core.Reply{Waiter: m.from.Waiter, Err: err})
	case cancelRequest:
		b.reply(core.Reply{Waiter: m.from.Waiter, Err: err})
	case changed:
		m.answer(err)
	}
	return true
}

// readChannel reads the channel's row after it was changed.
func (b *broker) readChannel(ctx context.Context, gen int64, done chan<- core.Reply) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := channelRead{done: done}
	m.ch, m.err = b.store.ChannelByID(io, b.state.channel)
	if m.err == nil && !m.ch.Deleted {
		m.driver, m.err = b.directory.Driver(m.ch)
	}
	b.post(gen, m)
}

func (b *broker) onChannelRead(m channelRead) {
	defer func() { changed{m.done}.answer(m.err) }()
	switch {
	case m.ch.Version < b.ch.Version:
	case m.err != nil:
		b.log.Warn("channel read failed; broker reloads its state", "error", m.err)
		b.start()
	case m.ch.Deleted:
		b.forget(m.ch)
		b.stopSelf(errDeleted())
	default:
		reconnect := m.ch.Type != b.ch.Type || !reflect.DeepEqual(m.ch.Settings, b.ch.Settings)
		b.ch, b.driver = m.ch, m.driver
		b.event(func(c *core.Core, now time.Time) { c.Configure(m.ch, reconnect, now) })
	}
}

func (b *broker) onPrepared(m prepareDone) {
	if m.err != nil {
		b.log.Warn("provider setup failed; nothing is dispatched until it succeeds", "error", m.err)
	}
	b.event(func(c *core.Core, now time.Time) { c.PrepareDone(m.err, now) })
}

func (b *broker) onRemoved(m removeDone) {
	if m.err != nil {
		b.event(func(c *core.Core, now time.Time) { c.RemoveFailed(now) })
		return
	}
	b.log.Info("channel deleted")
	b.forget(b.ch)
	b.stopSelf(errDeleted())
}

// forget drops what this process keeps about a deleted channel.
func (b *broker) forget(ch weir.Channel) {
	b.metrics.forget(ch.Name)
	b.directory.Forget(b.state.channel)
	b.minutes.forget(b.state.channel)
	b.healths.Delete(b.state.channel)
}

// onQuieten stops claiming. A broker that has no core yet, or rests, claims nothing.
func (b *broker) onQuieten() {
	b.quiet = true
	if b.core == nil {
		b.reportQuiet()
		return
	}
	b.event(func(c *core.Core, now time.Time) { c.Drain(now) })
}

// reportQuiet tells the manager that no provider is being called any more, once what that
// led to is written.
func (b *broker) reportQuiet() {
	self := b.self.Id
	go func() {
		b.state.writes.wait()
		b.root.Send(b.parent, brokerQuiet{b.state.channel, self})
	}()
}

// stopSelf asks the manager to end this actor once everything is written. Until then it
// answers with the error.
func (b *broker) stopSelf(why error) {
	if b.ended != nil {
		return
	}
	b.ended = why
	self := b.self.Id
	go func() {
		b.state.writes.wait()
		b.root.Send(b.parent, brokerEnded{b.state.channel, self})
	}()
}

func errDeleted() error { return weir.Errorf(weir.CodeNotFound, "the channel was deleted") }

func (b *broker) onFigures(m figuresRequest) {
	if (b.core == nil || b.ended != nil) && m.absent != nil && !b.restarter.Faulted(b.self.Id) {
		m.absent()
		return
	}
	f := ops.Figures{Health: weir.Up}
	ch := b.ch
	switch {
	case b.core != nil:
		f = b.core.Figures()
		f.Why = b.core.WhyNext(time.Now())
	case b.resting:
		ch = weir.Channel{} // it reports no figures
	}
	if b.restarter.Faulted(b.self.Id) {
		f.Health, f.HealthReason = weir.Faulted, "the channel's broker keeps crashing"
	}
	m.answer(liveReport{ch, f, b.state.mailbox.UserMessageCount()})
}
