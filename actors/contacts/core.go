// Package contacts decides what the broker of one channel does. It is pure: every
// event comes with the instant at which it happened, and the resulting actions
// are returned as Effects for a shell to carry out. It uses no clock, store,
// provider or goroutine.
//
// Invariants, whatever the order of events:
//   - the slots of contacts in flight never exceed the capacity, unless the
//     capacity was lowered below them; then nothing starts
//   - a provider is called for an attempt only after its claim was committed
//   - no more is dispatched per second than the channel's rate limit allows
//   - transitions are issued in the order in which they were decided
//   - a contact holds its slots until the provider is certainly done with it
package contacts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/backoff"
	"weir/operators"
	"weir/people"
)

// Config holds a broker's parameters.
type Config struct {
	IdleAfter       time.Duration // silence after which the provider is asked about a contact
	ReconcileEvery  time.Duration // pause between reconciliations
	SettleAfter     time.Duration // wait after an unclear dispatch before the provider is asked
	LostAfter       time.Duration // how long an attempt of unknown outcome keeps its slots
	StopAfter       time.Duration // idle time after which the broker may stop
	SendConcurrency int           // concurrent claims and provider calls; 0: as many as the capacity
	AskConcurrency  int           // concurrent status requests to the provider
	Chance          func() float64
}

// Fixed parameters.
const (
	cancelGrace     = 2 * time.Second  // after a successful cancel: a call may have begun at that moment
	deleteGrace     = 10 * time.Second // for contacts in flight when their channel is deleted
	maxSilence      = 24 * time.Hour   // how long an attempt that the provider neither ends nor reports on keeps its slots
	statusEvery     = 5 * time.Minute
	sweepEvery      = 30 * time.Second // interval at which the queue is read even without a hint
	readRetry       = time.Second
	pageLimit       = 500 // rows of a read that is not a page of the window
	deadLetterAfter = 5   // failures caused by the contact itself before it becomes a dead letter
	minWindow       = 32
	maxWindow       = 1000
)

// Snapshot is the stored state that a broker starts from.
type Snapshot struct {
	Channel  weir.Channel
	InFlight []weir.Contact
	Lanes    []weir.Lane
	Queued   int64
	// Brake counts the contacts that ended, for the channel's brake. It outlives the core;
	// nil: it begins anew.
	Brake *weir.BrakeWindow
	// LocalAttempts are the attempts that this process itself had begun before the
	// broker was restarted. How far any other attempt in state sending got is
	// unknown.
	LocalAttempts map[weir.AttemptRef]LocalProgress
}

// New returns the core of a channel, restored from the stored state.
func New(cfg Config, s Snapshot, now time.Time) *Core {
	c := &Core{
		cfg: cfg, flights: map[weir.ContactID]*flight{}, sends: map[weir.AttemptRef]struct{}{},
		asks: map[weir.AttemptRef]struct{}{}, queued: s.Queued, status: channels.Status{Health: weir.Up},
		reconcileAt: now.Add(cfg.ReconcileEvery), sweepAt: now.Add(sweepEvery), prepareAt: now, statusAt: now,
		dueAt: now, overdueAt: now, idleSince: now,
	}
	if c.brake.window = s.Brake; c.brake.window == nil {
		c.brake.window = &weir.BrakeWindow{}
	}
	c.window = newWindow(0)
	for _, id := range s.Lanes {
		c.window.lane(id).more = true
	}
	c.restore(s, now)
	c.applyChannel(s.Channel, now)
	c.Tick(now)
	return c
}

// restore rebuilds the flights. What happens to an attempt in the middle of its
// dispatch depends on what this process knows of it.
func (c *Core) restore(s Snapshot, now time.Time) {
	var ts []weir.Transition
	for _, contact := range s.InFlight {
		f := c.addFlight(contact)
		switch {
		case contact.State == weir.Sending && s.LocalAttempts[contact.AttemptRef()] == LocalSending:
			c.sends[contact.AttemptRef()] = struct{}{}
		case contact.State == weir.Sending && s.LocalAttempts[contact.AttemptRef()] == LocalClaimed:
			ts = append(ts, c.unclaim(f))
		case contact.State == weir.Sending:
			p, _ := f.c.MarkUnknown("the program stopped while it was being sent")
			ts = append(ts, c.apply(f, p))
			// Counted from now, not from the claim: its commit may have been slow, and
			// the call of the process that is gone may still be under way at the
			// provider.
			c.askUnknown(f, now.Add(c.unclearDelay()))
		case contact.State == weir.Unknown:
			c.askUnknown(f, latest(now, contact.ClaimedAt.Add(c.unclearDelay())))
		}
		if contact.CancelRequested && f.c.State == weir.Active {
			c.cancelAtProvider(f)
		}
	}
	c.commit(Commit{Transitions: ts})
}

// applyChannel applies the channel's row.
func (c *Core) applyChannel(ch weir.Channel, now time.Time) {
	grown := ch.Capacity > c.ch.Capacity || channels.ReplyReserve(ch.Settings) < c.ledger.Reserve
	c.ch = ch
	c.brake.window.Configure(ch.Brake, ch.Paused)
	for _, f := range c.flights {
		c.brake.contacts(&f.c)
	}
	c.ledger.Capacity, c.ledger.Reserve = ch.Capacity, channels.ReplyReserve(ch.Settings)
	rate, burst := channels.Pace(ch.Settings)
	c.pace.configure(rate, burst, now)
	c.onlyTo = nil
	for _, address := range channels.OnlyTo(ch.Settings) {
		c.onlyTo = append(c.onlyTo, people.CanonicalIn(address, channels.Region(ch.Settings)))
	}
	c.window.limit = min(max(2*ch.Capacity, minWindow), maxWindow)
	if grown && c.window.blocked() > 0 || ch.Deleting {
		c.window.rescan()
	}
	if ch.Deleting && c.deleteAt.IsZero() {
		c.beginDelete(now)
	}
}

// Configure applies a changed channel row. reconnect means that the provider has
// to be set up again.
func (c *Core) Configure(ch weir.Channel, reconnect bool, now time.Time) {
	c.idleSince = now // the effect of the change is shown for a while
	c.applyChannel(ch, now)
	if reconnect {
		c.prepared, c.prepareAt, c.statusAt, c.reconnect = false, now, now, c.preparing
		c.breaker.probeNow(now)
	}
	c.run(now)
}

// BrakeDone applies the channel's row after a brake: it is paused, unless an operator has
// removed the brake or paused the channel meanwhile.
func (c *Core) BrakeDone(ch weir.Channel, now time.Time) {
	c.brake.acted = nil
	c.idleSince = now
	c.applyChannel(ch, now)
	c.run(now)
}

// flight is a contact that holds slots.
type flight struct {
	c         weir.Contact
	slots     int
	units     int  // reserved for it in the pace, while it is claimed
	claiming  bool // the claim is not committed yet
	askQueued bool // queued for a status request
	asks      int  // consecutive status requests that failed
	// askFailedAt is when the first of them failed. Silence alone does not end a
	// contact that could not be asked about: Weir itself may have been down.
	askFailedAt   time.Time
	askAt         time.Time // earliest instant of the next status request; zero: when silent for too long
	cancelTooLate bool      // a cancel came too late
	canceledAt    time.Time // canceled at the provider; done at this instant unless a report comes before
	canceling     bool      // a cancel is under way
}

func (f *flight) lastHeard() time.Time { return lastHeard(&f.c) }

// askDue returns the instant from which a reconciliation asks about an active contact.
func (f *flight) askDue(idleAfter time.Duration) time.Time {
	return latest(f.lastHeard().Add(idleAfter), f.askAt)
}

// lastHeard returns when a contact was last heard of.
func lastHeard(c *weir.Contact) time.Time { return latest(c.ClaimedAt, latest(c.SentAt, c.HeardAt)) }

// Core is the state of one channel's broker. It is not safe for concurrent
// use.
type Core struct {
	cfg         Config
	ch          weir.Channel
	ledger      weir.Ledger
	window      *window
	revisions   revisions
	flights     map[weir.ContactID]*flight
	counts      [weir.Done + 1]int           // flights by state
	sends       map[weir.AttemptRef]struct{} // provider calls under way
	claims      int                          // claims issued or reserved, and not committed
	reserved    int                          // slots of contacts that are being accepted
	asks        map[weir.AttemptRef]struct{}
	askFailed   bool // since the last reconciliation
	reconciled  operators.Reconciliation
	askQueue    []weir.ContactID
	loads       int // reads of single contacts under way
	breaker     breaker
	yields      yields
	retryBudget budget
	pace        pace
	brake       brake
	limitedBy   string   // why a shared limit has no room, until limitedUntil
	limitedRule string   // the same as a rule
	onlyTo      []string // canonical addresses that alone are contacted; nil: all
	queued      int64

	prepared, preparing, checking   bool
	prepareFails                    int
	status                          channels.Status
	dueBusy, overdueBusy, lanesBusy bool // reads under way
	woken                           bool // list the lanes regardless of what is known
	reconnect                       bool // the set-up under way uses the old settings
	statusAsked                     bool // the status was requested at least once
	draining, drained               bool
	deleteAt                        time.Time // end of the flights' grace period while the channel is being deleted
	storeEmpty                      bool      // the store reported an empty queue
	removing                        bool      // Remove was issued to the shell

	dueAt, overdueAt, reconcileAt, unknownAt, sweepAt, prepareAt, statusAt, retryAt, confirmCancelAt, limitedUntil time.Time
	idleSince                                                                                                      time.Time

	out Effects
}

// Take returns the pending effects and clears them. The shell calls it after
// every event.
func (c *Core) Take() Effects {
	out := c.out
	c.out = Effects{}
	return out
}

// addFlight adds a contact to the flights and takes its slots.
func (c *Core) addFlight(contact weir.Contact) *flight {
	f := &flight{c: contact, slots: contact.Slots(contact.Size())}
	c.ledger.Take(contact.Priority, f.slots)
	c.flights[contact.ID] = f
	c.brake.contacts(&f.c)
	c.counts[contact.State]++
	return f
}

// outdated reports whether a waiting contact has changed since its row was read.
func (c *Core) outdated(contact *weir.Contact) bool {
	return c.flights[contact.ID] != nil || c.revisions.outdated(contact)
}

// inOrder lists the flights, oldest contact first.
func (c *Core) inOrder() []*flight {
	return slices.SortedFunc(maps.Values(c.flights), func(a, b *flight) int { return cmp.Compare(a.c.ID, b.c.ID) })
}

// apply replaces a flight's progress and frees the slots that it no longer
// holds. A flight that is done or back in the queue is removed.
func (c *Core) apply(f *flight, p weir.Progress) weir.Transition {
	t := weir.Transition{From: f.c.Rev, Was: f.c.State}
	slots := p.Slots(f.c.Size())
	f.c.Progress = p
	t.Contact = f.c
	c.ledger.Give(f.c.Priority, f.slots-slots)
	f.slots = slots
	c.counts[t.Was]--
	c.counts[p.State]++
	if p.State != weir.Queued && p.State != weir.Delayed {
		c.yields.remove(f.c.ID)
	}
	if !p.State.InFlight() {
		delete(c.flights, f.c.ID)
		c.revisions.record(&f.c)
	}
	return t
}

// finish ends a contact in flight.
func (c *Core) finish(f *flight, now time.Time, o weir.Outcome, reason string) weir.Transition {
	p, err := f.c.Finish(now, o, reason)
	if err != nil {
		panic("core: a flight was done already")
	}
	c.out.Finished = append(c.out.Finished, Finished{Outcome: o, Active: now.Sub(f.c.ClaimedAt)})
	c.brake.ended(&f.c, o, reason)
	return c.apply(f, p)
}

// finishWaiting ends a contact that is waiting.
func (c *Core) finishWaiting(contact *weir.Contact, now time.Time, o weir.Outcome, reason string) weir.Transition {
	t := weir.Transition{From: contact.Rev, Was: contact.State}
	p, err := contact.Finish(now, o, reason)
	if err != nil {
		panic("core: a waiting contact was done already")
	}
	if !c.window.remove(contact.ID, contact.Lane()) && c.ledger.Blocked(contact.Priority, contact.Size()) {
		c.window.unblock(contact)
	}
	c.queued--
	c.yields.remove(contact.ID)
	t.Contact = *contact
	t.Contact.Progress = p
	c.revisions.record(&t.Contact)
	c.out.Finished = append(c.out.Finished, Finished{Outcome: o})
	return t
}

// commit issues transitions together with the replies that wait for them.
func (c *Core) commit(k Commit) {
	if len(k.Transitions) > 0 {
		c.out.Commits = append(c.out.Commits, k)
		return
	}
	c.out.Replies = append(c.out.Replies, k.Replies...)
}

// backoff returns the jittered delay before the nth retry.
func (c *Core) backoff(n int) time.Duration {
	return backoff.Jitter(backoff.Delay(n, minBackoff, maxBackoff), c.cfg.Chance())
}

// unclearDelay returns how long an unclear dispatch may still be under way.
func (c *Core) unclearDelay() time.Duration { return min(c.cfg.SettleAfter, c.cfg.IdleAfter) }

// windowOver reports whether a contact's time window has closed.
func windowOver(s *weir.Spec, now time.Time) bool {
	return !s.NotAfter.IsZero() && !now.Before(s.NotAfter)
}

// load requests the row of a contact.
func (c *Core) load(l Load) {
	c.loads++
	c.out.Loads = append(c.out.Loads, l)
}

// reply commits the changes that an event made, if any, and then replies to its origin.
func (c *Core) reply(to Origin, r Reply, changes ...weir.Transition) {
	k := Commit{Transitions: changes}
	if to.Waiter != nil {
		r.Waiter = to.Waiter
		k.Replies = []Reply{r}
	}
	c.commit(k)
}

// answer commits the change that a report made, if any, and then replies.
func (c *Core) answer(t *weir.Transition, v weir.Verdict, from Origin) {
	if t == nil {
		c.reply(from, Reply{Verdict: v})
		return
	}
	c.reply(from, Reply{Verdict: v, Trace: t.Contact.Trace}, *t)
}
