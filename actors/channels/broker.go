package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	core "weir/actors/contacts"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/backoff"
	"weir/internal/failpoint"
	"weir/internal/tracing"
	"weir/operators"
	"weir/people"
)

// shared holds the dependencies of all brokers.
type shared struct {
	core        core.Config
	store       Store
	queue       Queue
	directory   *channels.Directory
	providers   *providers
	logger      *slog.Logger
	metrics     *Metrics
	minutes     *minutes
	healths     *healths
	tracing     *tracing.Tracer // nil: traces are off
	root        *actor.RootContext
	restarter   *supervise.Restarter
	goroutines  *goroutines // of turns of brokers and calls of providers
	generations atomic.Int64
	quiet       atomic.Bool     // nothing is claimed any more
	ctx         context.Context // ends when no work may continue
}

// broker is the actor of one channel: it turns messages into events of the core
// and carries out the core's effects.
type broker struct {
	shared *shared
	reader *reader
	state  *channelState
	log    *slog.Logger

	self        *actor.PID
	parent      *actor.PID
	gen         int64
	lifetime    context.Context // of this incarnation's reads
	endLifetime context.CancelFunc
	timer       *time.Timer
	wakeAt      time.Time
	lastWrite   *write // the latest change of this incarnation; nil before the first

	core              *core.Core // nil until it is loaded, and while it rests
	ch                weir.Channel
	driver            channels.Driver
	series            *channelSeries
	by                weir.Incarnation
	failures          int // consecutive failed loads
	rejectedWrites    int // consecutive changes that the store refused
	stash             []any
	acceptedMeanwhile bool  // contacts were accepted while it was loading
	quiet             bool  // nothing is claimed any more
	resting           bool  // idle: without a core until a message comes
	ended             error // why it ends and refuses all messages; nil while it does not
}

// Receive implements actor.Actor.
func (b *broker) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		b.self, b.parent = ctx.Self(), ctx.Parent()
		b.state.actor.Store(b.self)
		b.start()
	case *actor.Stopping, *actor.Restarting:
		b.halt()
	case *actor.Stopped:
	case result:
		if m.gen == b.gen {
			b.onResult(m.msg)
		} else {
			b.onStale(m.msg)
		}
	default:
		b.handle(m)
	}
}

// start starts an incarnation.
func (b *broker) start() {
	b.newIncarnation()
	b.state.setAwake(true, b.shared.metrics.brokers)
	b.work(func(ctx context.Context) any { return b.reader.begin(ctx, b.state) })
}

// rest drops the core of an idle channel. The next message that needs it brings it back.
func (b *broker) rest() {
	if b.core.Busy() || b.quiet || b.ended != nil { // something came in between
		return
	}
	b.newIncarnation()
	b.resting = true
	b.state.setAwake(false, b.shared.metrics.brokers)
}

// newIncarnation ends the incarnation and begins the next one with a new number.
func (b *broker) newIncarnation() {
	b.halt()
	b.gen = b.shared.generations.Add(1)
	b.lifetime, b.endLifetime = context.WithCancel(b.shared.ctx)
	b.core, b.lastWrite, b.resting = nil, nil, false
	b.quiet = b.shared.quiet.Load()
}

// restartLater starts an incarnation after a growing delay: otherwise a change that
// the store refuses permanently would be decided again at once.
func (b *broker) restartLater() {
	b.newIncarnation()
	b.rejectedWrites++
	now := time.Now()
	b.armAt(now, now.Add(backoff.Delay(b.rejectedWrites+1, minReloadDelay, maxReloadDelay)))
}

// halt ends an incarnation: its timer and its reads.
func (b *broker) halt() {
	b.gen = -1
	b.state.claimsAtOnce.Store(false)
	b.state.meter.gauged.Store(false)
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt = time.Time{}
	if b.endLifetime != nil {
		b.endLifetime()
	}
}

func (b *broker) handle(msg any) {
	if b.ended != nil && b.refuse(msg, b.ended) {
		return
	}
	switch m := msg.(type) {
	case accepting:
		b.onAccepting(m.acceptance)
	case sweepHint:
		if b.resting {
			b.start()
		} else if b.core != nil && !b.core.Busy() {
			b.event(func(c *core.Core, now time.Time) { c.Woken(now) })
		}
	case quieten:
		b.onQuieten()
	case changed:
		if b.core == nil {
			b.onWithoutCore(msg)
			return
		}
		b.work(func(ctx context.Context) any { return b.reader.row(ctx, m.done) })
	case optedOut:
		b.onOptedOut(m)
	case figuresRequest:
		b.onFigures(m)
	case callOff:
		b.onCallOff(m)
	case whyRequest:
		b.onWaitReasons(m)
	case observed:
		if b.core != nil && !b.quiet {
			b.event(func(c *core.Core, now time.Time) { c.Observed(m.status, now) })
		}
	default:
		if b.core == nil {
			b.onWithoutCore(msg)
			return
		}
		b.onEvent(msg)
	}
}

// event passes an event to the core and carries out the effects.
func (b *broker) event(apply func(*core.Core, time.Time)) {
	now := time.Now()
	apply(b.core, now)
	b.execute(b.core.Take())
	b.arm(now)
	b.state.claimsAtOnce.Store(b.core.ClaimsAtOnce(now) > 0)
}

// onEvent passes on events from outside, and what became of attempts to send: they
// count whichever incarnation began them.
func (b *broker) onEvent(msg any) {
	switch m := msg.(type) {
	case accepted:
		b.event(func(c *core.Core, now time.Time) { c.Accepted(m.contacts, now) })
	case reported:
		b.event(func(c *core.Core, now time.Time) { c.Report(m.report, m.from, now) })
	case cancelRequest:
		b.event(func(c *core.Core, now time.Time) { c.Cancel(m.ref, m.from, now) })
	case sendDone:
		b.event(func(c *core.Core, now time.Time) { c.SendDone(m.attempt, m.sent, now) })
	default:
		b.log.Error("unknown message dropped", "type", fmt.Sprintf("%T", msg))
	}
}

// onResult passes on the outcome of work that this incarnation started.
func (b *broker) onResult(msg any) {
	switch m := msg.(type) {
	case written:
		b.onWritten(m)
	case acceptedReserved:
		b.event(func(c *core.Core, now time.Time) { c.AcceptedReserved(m.reserved, m.contacts, now) })
	case askDone:
		b.event(func(c *core.Core, now time.Time) { c.AskDone(m.attempt, m.answer, now) })
	case cancelDone:
		b.event(func(c *core.Core, now time.Time) { c.CancelDone(m.attempt, m.done, now) })
	case tick:
		b.onTick()
	case passivate:
		b.rest()
	case loaded:
		b.onLoaded(m)
	case channelRead:
		b.onChannelRead(m)
	case prepareDone:
		b.onPrepared(m)
	case statusDone:
		b.shared.healths.set(&b.ch, m.status)
		b.event(func(c *core.Core, now time.Time) { c.StatusDone(m.status, now) })
	case brakeDone:
		b.onBraked(m)
	case removeDone:
		b.onRemoved(m)
	default:
		b.onRead(msg)
	}
}

// onRead passes on the result of a read of the queue.
func (b *broker) onRead(msg any) {
	switch m := msg.(type) {
	case pageRead:
		b.read(m.err, core.KindPage, m.page, func(c *core.Core, now time.Time) { c.PageRead(m.page, m.contacts, now) })
	case lanesRead:
		b.read(m.err, core.KindLanes, core.Page{}, func(c *core.Core, now time.Time) { c.LanesRead(m.lanes, m.queued, now) })
	case instantRead:
		b.read(m.err, m.kind, core.Page{}, func(c *core.Core, now time.Time) {
			if m.kind == core.KindDue {
				c.DueRead(m.contacts, m.next, now)
			} else {
				c.OverdueRead(m.contacts, m.next, now)
			}
		})
	case contactRead:
		if m.err != nil {
			b.event(func(c *core.Core, now time.Time) { c.LoadFailed(m.load, m.err, now) })
			return
		}
		b.event(func(c *core.Core, now time.Time) { c.Loaded(m.load, m.contact, m.found, now) })
	}
}

// onStale answers callers that wait for the result of an earlier incarnation. The
// result is dropped.
func (b *broker) onStale(msg any) {
	switch m := msg.(type) {
	case contactRead:
		b.reply(core.Reply{Waiter: m.load.Origin.Waiter, Err: errRestarted()})
	case channelRead:
		changed{m.done}.answer(m.err)
	case acceptedReserved:
		b.onAcceptedBefore(m.contacts)
	}
}

func (b *broker) read(err error, kind core.ReadKind, page core.Page, apply func(*core.Core, time.Time)) {
	if err != nil {
		b.log.Warn("queue read failed; retrying", "error", err)
		apply = func(c *core.Core, now time.Time) { c.ReadFailed(kind, page, now) }
	}
	b.event(apply)
}

func (b *broker) onTick() {
	b.wakeAt = time.Time{}
	if b.core == nil {
		b.start() // a load that failed: try again
		return
	}
	b.event(func(c *core.Core, now time.Time) { c.Tick(now) })
}

// arm sets the actor's only timer to the core's next instant.
func (b *broker) arm(now time.Time) {
	at := b.core.NextWake(now)
	if at.Equal(b.wakeAt) && !at.IsZero() {
		return
	}
	b.armAt(now, at)
}

func (b *broker) armAt(now, at time.Time) {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt = at
	if at.IsZero() {
		return
	}
	gen := b.gen
	b.timer = time.AfterFunc(max(at.Sub(now), time.Millisecond), func() { b.post(gen, tick{}) })
}

// onWritten handles a change that failed or that the core waits for.
func (b *broker) onWritten(m written) {
	switch {
	case errors.Is(m.result.Err, weir.ErrSuperseded): // another process owns the database, and this one ends
		b.restartLater()
	case m.result.Err != nil:
		b.log.Error("commit failed; broker reloads its state", "error", m.result.Err)
		b.shared.metrics.reloads.Inc()
		b.restartLater()
	case len(m.claimed) > 0:
		b.rejectedWrites = 0
		b.event(func(c *core.Core, now time.Time) {
			c.ClaimsCommitted(m.claimed, m.result.Stale, m.result.Judged, now)
		})
	case len(m.result.Stale) > 0:
		b.log.Error("contacts stale; broker reloads its state", "contacts", len(m.result.Stale))
		b.shared.metrics.reloads.Inc()
		b.start()
	}
}

// post sends the broker a result of the incarnation gen.
func (b *broker) post(gen int64, msg any) { b.shared.root.Send(b.self, result{gen, msg}) }

// reply answers the waiter, if any, and never blocks.
func (b *broker) reply(r core.Reply) {
	if w, ok := r.Waiter.(chan core.Reply); ok {
		select {
		case w <- r:
		default:
		}
	}
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
	b.log = b.shared.logger.With("channel", b.ch.Name)
	b.series = b.shared.metrics.known(b.ch.Name, b.ch.Type)
	b.core = core.New(b.shared.core, m.snapshot, now)
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
	case figuresRequest, whyRequest, accepting, callOff:
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

// onBraked applies that the brake's pause is stored.
func (b *broker) onBraked(m brakeDone) {
	if m.acted {
		b.log.Warn("channel paused itself", "cause", string(m.braked.Cause), "count", m.braked.Count, "of", m.braked.Of, "bound_percent", m.braked.Percent)
		b.shared.metrics.brakes.WithLabelValues(string(m.braked.Cause)).Inc()
	}
	switch {
	case m.err != nil:
		b.log.Warn("channel read failed; broker reloads its state", "error", m.err)
		b.start()
	case m.ch.Deleted:
		b.onChannelRead(m.channelRead)
	default:
		b.ch, b.driver = m.ch, m.driver
		b.event(func(c *core.Core, now time.Time) { c.BrakeDone(m.ch, now) })
	}
}

// onOptedOut counts a person who opted out for the brake, also while there is no core.
func (b *broker) onOptedOut(m optedOut) {
	if b.core != nil && b.ended == nil {
		b.event(func(c *core.Core, now time.Time) { c.OptedOut(m.address, now) })
		return
	}
	b.state.brake.OptedOut(people.Canonical(m.address))
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
	b.shared.metrics.forget(ch.Name, b.series)
	b.shared.directory.Forget(b.state.channel)
	b.shared.minutes.forget(b.state.channel)
	b.shared.healths.forget(b.state.channel)
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
		b.shared.root.Send(b.parent, brokerQuiet{b.state.channel, self})
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
		b.shared.root.Send(b.parent, brokerEnded{b.state.channel, self})
	}()
}

// onCallOff is answered by a broker that rests or begins, too: it has nothing in flight that it
// knows of.
func (b *broker) onCallOff(m callOff) {
	n := 0
	if b.core != nil && b.ended == nil {
		b.event(func(c *core.Core, now time.Time) { n = c.CallOff(m.unwanted, now) })
	}
	m.answer(n)
}

func (b *broker) onFigures(m figuresRequest) {
	if (b.core == nil || b.ended != nil) && m.absent != nil && !b.shared.restarter.Faulted(b.self.Id) {
		m.absent()
		return
	}
	f := operators.Figures{Health: weir.Up}
	ch := b.ch
	switch {
	case b.core != nil:
		f = b.core.Figures()
		f.Why = b.core.WhyNext(time.Now())
	case b.resting:
		ch = weir.Channel{} // it reports no figures
	}
	if b.shared.restarter.Faulted(b.self.Id) {
		f.Health, f.HealthReason = weir.Faulted, "the channel's broker keeps crashing"
	}
	m.answer(liveReport{ch, f, b.state.mailbox.UserMessageCount()})
}

// onWaitReasons explains why contacts wait.
func (b *broker) onWaitReasons(m whyRequest) {
	if b.core == nil || b.ended != nil {
		m.absent()
		return
	}
	now, list := time.Now(), make([]operators.Why, len(m.contacts))
	for i := range m.contacts {
		list[i] = b.core.Why(&m.contacts[i], now)
	}
	m.answer(list)
}

func errDeleted() error { return weir.Errorf(weir.CodeNotFound, "the channel was deleted") }

// onAccepting submits contacts that are to be accepted.
func (b *broker) onAccepting(a *acceptance) {
	if b.core == nil || b.ended != nil {
		a.Submit(weir.Claims{})
		return
	}
	n := 0
	b.event(func(c *core.Core, now time.Time) { n = c.Reserve(a.specs, now) })
	if n == 0 {
		a.Submit(weir.Claims{})
		return
	}
	failpoint.Hit("accept.claiming")
	gen, series := b.gen, b.series
	before, w := b.lastWrite, &write{done: make(chan struct{})}
	done := func(answers []weir.Accepted, _ error) {
		failpoint.Hit("accept.claimed")
		a.announced = true
		fresh := freshOf(answers)
		for i := range fresh {
			if fresh[i].State == weir.Sending {
				b.state.recordClaims([]weir.AttemptRef{fresh[i].AttemptRef()}, nil)
				series.waited(0)
			}
		}
		b.post(gen, acceptedReserved{a.specs[:n], fresh})
		w.failed = before != nil && before.hasFailed() // contacts that are refused fail nothing else
		close(w.done)
		b.state.writes.end()
	}
	b.state.writes.begin()
	if !a.Submit(weir.Claims{By: b.by, First: n, Done: done}) { // it was submitted without them
		b.state.writes.end()
		b.event(func(c *core.Core, now time.Time) { c.AcceptedReserved(a.specs[:n], nil, now) })
		return
	}
	b.lastWrite = w
}

// onAcceptedBefore handles contacts that an earlier incarnation had submitted. The others
// were loaded with what is in flight: this incarnation began after them.
func (b *broker) onAcceptedBefore(contacts []weir.Contact) {
	waiting := slices.DeleteFunc(contacts, func(c weir.Contact) bool { return !c.State.Waiting() })
	if len(waiting) > 0 {
		b.handle(accepted{waiting})
	}
}

// execute carries out what the core decided.
func (b *broker) execute(e core.Effects) {
	// A local attempt is forgotten once its outcome is durable. The writer keeps
	// the order, so the event's last change covers those before it.
	if len(e.Commits) == 0 {
		b.state.drop(e.Forget)
	}
	for i, k := range e.Commits {
		if i < len(e.Commits)-1 {
			b.commit(k, nil)
		} else {
			b.commit(k, e.Forget)
		}
	}
	b.count(e)
	b.state.meter.gauge(b.core.Load())
	for _, r := range e.Replies {
		b.lastWrite.after(b.lifetime, func(err error) {
			if err != nil {
				r.Err = err
			}
			b.reply(r)
		})
	}
	driver, series, calls := b.driver, b.series, b.shared.providers
	for _, a := range e.Sends {
		b.state.recordSend(a.ID, nil)
		b.shared.goroutines.Schedule(func() { b.send(driver, series, a) })
	}
	for _, a := range e.Asks {
		b.work(func(context.Context) any { return askDone{a.ID, calls.ask(driver, series, a)} })
	}
	for _, a := range e.Cancels {
		b.work(func(life context.Context) any {
			return cancelDone{a.ID, calls.cancel(life, b.state.cancels, driver, series, a)}
		})
	}
	// A read runs even if the change before it failed: its incarnation is over, so the
	// result is dropped.
	for _, read := range b.reader.reads(&e) {
		b.workAfterWrites(read)
	}
	if e.Prepare {
		b.work(func(context.Context) any { return prepareDone{calls.prepare(driver, series)} })
	}
	if e.Status {
		b.work(func(context.Context) any { return statusDone{calls.status(driver, series)} })
	}
	if braked := e.Brake; braked != nil {
		b.work(func(life context.Context) any { return b.reader.pause(life, *braked) })
	}
	switch {
	case e.Remove:
		b.work(b.remove)
	case e.Drained:
		b.reportQuiet()
	case e.Passivate:
		b.post(b.gen, passivate{})
	}
}

// count updates the metrics.
func (b *broker) count(e core.Effects) {
	name := b.ch.Name
	for _, f := range e.Finished {
		b.shared.metrics.finished.WithLabelValues(name, string(f.Outcome)).Inc()
		if c, ok := operators.OutcomeCounter(f.Outcome); ok {
			b.state.meter.count(c, 1)
		}
		if f.Active > 0 {
			b.shared.metrics.active.WithLabelValues(name).Observe(f.Active.Seconds())
		}
		if f.Outcome == weir.DeadLetter {
			b.shared.metrics.deadLetters.WithLabelValues(name).Inc()
		}
	}
	for _, s := range e.Skipped {
		b.shared.metrics.skipped.WithLabelValues(name, s.Rule, s.Effect).Inc()
	}
	if e.ReconcileBegun {
		b.shared.metrics.reconcileRuns.Inc()
		b.state.meter.count(operators.CountReconciliations, 1)
		if e.ReconcileClean {
			b.shared.metrics.reconcileLast.WithLabelValues(name).SetToCurrentTime()
		}
	}
	for _, k := range e.Reconciled {
		if k != channels.QueryFailed {
			b.state.meter.count(operators.CountReconciled, 1)
		}
		b.shared.metrics.reconciled.WithLabelValues(name, knowledgeLabel(k)).Inc()
	}
}

// commit submits a change to the writer. Waiters are answered by the writer's
// goroutine, so that a crash of this actor loses no reply. The attempts in forget
// are dropped when the change is durable.
func (b *broker) commit(k core.Commit, forget []weir.AttemptRef) {
	for i := range k.Transitions {
		if t := &k.Transitions[i]; t.Was == weir.Queued && t.Contact.State == weir.Sending {
			b.series.waited(t.Contact.ClaimedAt.Sub(t.Contact.QueuedAt))
		}
	}
	hitFailpoint(k, "before")
	gen, series := b.gen, b.series
	w := &write{done: make(chan struct{})}
	b.lastWrite = w
	b.state.writes.begin()
	b.shared.queue.Commit(weir.Change{By: b.by, Transitions: k.Transitions}, func(r weir.CommitResult) {
		hitFailpoint(k, "committed")
		if r.Err == nil {
			b.state.drop(forget)
			var notClaimed []weir.Contact
			for i := range r.Judged {
				if !r.Judged[i].State.InFlight() {
					notClaimed = append(notClaimed, r.Judged[i])
				}
			}
			b.state.recordClaims(k.Claimed, append(idsOf(notClaimed), r.Stale...))
			b.traceDone(series, k.Transitions, r.Stale)
			b.traceSuppressed(series, notClaimed)
		}
		if len(k.Claimed) > 0 || r.Err != nil || len(r.Stale) > 0 {
			b.post(gen, written{k.Claimed, r})
		}
		for _, reply := range k.Replies {
			if r.Err != nil || len(r.Stale) > 0 {
				reply.Err = errRestarted()
			}
			b.reply(reply)
		}
		w.failed = r.Err != nil || len(r.Stale) > 0
		close(w.done)
		b.state.writes.end()
	})
}

func idsOf(list []weir.Contact) []weir.ContactID {
	var ids []weir.ContactID
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

// traceSuppressed exports the contacts that ended instead of being claimed.
func (b *broker) traceSuppressed(f *channelSeries, list []weir.Contact) {
	if b.shared.tracing == nil {
		return
	}
	for i := range list {
		if list[i].State == weir.Done {
			b.shared.tracing.Done(&list[i], f.name, f.typ)
		}
	}
}

// traceDone exports the contacts that transitions ended, without the stale ones.
func (b *broker) traceDone(f *channelSeries, list []weir.Transition, stale []weir.ContactID) {
	if b.shared.tracing == nil {
		return
	}
	for i := range list {
		if t := &list[i]; t.Contact.State == weir.Done && t.Was != weir.Done && !slices.Contains(stale, t.Contact.ID) {
			b.shared.tracing.Done(&t.Contact, f.name, f.typ)
		}
	}
}

// remove deletes the channel's row once everything is written.
func (b *broker) remove(life context.Context) any {
	io, cancel := background(life, ioTimeout)
	defer cancel()
	b.state.writes.wait()
	return removeDone{b.shared.queue.DeleteChannel(io, b.state.channel)}
}

// send dispatches an attempt. The result is kept for a later incarnation, and sent to the
// one that runs.
func (b *broker) send(d channels.Driver, f *channelSeries, a channels.Attempt) {
	result := b.shared.providers.send(d, f, a)
	b.state.recordSend(a.ID, &result)
	if result.Status == channels.Accepted {
		b.state.meter.count(operators.CountSent, 1)
	} else {
		b.state.meter.count(operators.CountSendFailed, 1)
	}
	b.shared.root.Send(b.state.actor.Load(), sendDone{a.ID, result}) // may be a later incarnation
}

// work does work of this incarnation outside the mailbox and posts its result.
func (b *broker) work(do func(context.Context) any) {
	gen, life := b.gen, b.lifetime
	go func() { b.post(gen, do(life)) }()
}

// workAfterWrites is work for a read, which follows the changes issued before it.
func (b *broker) workAfterWrites(read func(context.Context) any) {
	gen, life := b.gen, b.lifetime
	b.lastWrite.after(life, func(error) {
		go func() {
			io, cancel := background(life, ioTimeout)
			defer cancel()
			b.post(gen, read(io))
		}()
	})
}
