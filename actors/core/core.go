// Package core decides what the broker of one channel does. It is pure: every
// event comes with the instant at which it happened, and what is to be done
// about it comes back as Effects for a shell to carry out. It knows no clock,
// no store, no provider and no goroutine.
//
// Invariants, whatever the order of events:
//   - the slots of contacts in flight never exceed the capacity, unless the
//     capacity was lowered below them; then nothing starts
//   - a provider is called for an attempt only after its claim was committed
//   - every transition is handed out in the order in which it was decided
//   - a contact holds its slots until it is certain that the provider is done
package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/channels"
)

// Config are the figures that a broker works by.
type Config struct {
	IdleAfter       time.Duration // silence after which the provider is asked
	CollectEvery    time.Duration // pause between collections
	SettleAfter     time.Duration // after an unclear hand-over, before the provider is asked
	LostAfter       time.Duration // how long an attempt whose fate nobody can tell keeps its slots
	StopAfter       time.Duration // idle time after which the broker may stop
	SendConcurrency int           // claims and calls of the provider at one time; 0: as many as the capacity
	AskConcurrency  int           // questions to the provider at one time
	Chance          func() float64
}

// Fixed figures.
const (
	cancelGrace = 2 * time.Second  // after a cancel that worked: a call may have begun in that moment
	deleteGrace = 10 * time.Second // for contacts in flight when their channel is deleted
	unheardMost = 24 * time.Hour   // an attempt that the provider neither ends nor speaks of keeps its slots so long
	statusEvery = 5 * time.Minute
	sweepEvery  = 30 * time.Second // the queue is looked at though nobody hinted
	readRetry   = time.Second
	pageLimit   = 500 // rows of a read that is not a page of the window
	poisonAfter = 5   // failures of a contact's own before it is a dead letter
	windowLeast = 32
	windowMost  = 1000
)

// Hand says how far this process had got with an attempt.
type Hand int

// The hands.
const (
	HandClaimed Hand = iota + 1 // the claim went to the writer; the provider was not called
	HandSending                 // the provider was called, or is being called
)

// Snapshot is what a broker starts from.
type Snapshot struct {
	Channel  weir.Channel
	InFlight []weir.Contact
	Lanes    []weir.Lane
	Queued   int64
	// Hands are the attempts that this process itself had begun before the
	// broker was restarted. For any other attempt that the store says is being
	// sent, nobody knows.
	Hands map[weir.AttemptRef]Hand
}

// flight is a contact that holds slots.
type flight struct {
	c       weir.Contact
	slots   int
	claimed bool // the claim is not committed yet
	queued  bool // waits for its turn to be asked about
	asks    int  // questions in a row that failed
	// askFailedAt is when the first of them did. Silence alone does not end a
	// contact that could not be asked about: Weir itself may have been down.
	askFailedAt time.Time
	askAt       time.Time // not to be asked about before; zero: when silent for too long
	refused     bool      // a cancel came too late
	goneAt      time.Time // canceled at the provider; over unless it speaks before then
	taking      bool      // a cancel is under way
}

func (f *flight) lastWord() time.Time { return lastWord(&f.c) }

// askDue is the instant from which a collection asks about an active contact.
func (f *flight) askDue(idleAfter time.Duration) time.Time {
	return latest(f.lastWord().Add(idleAfter), f.askAt)
}

// lastWord is when a contact was last heard of.
func lastWord(c *weir.Contact) time.Time { return latest(c.ClaimedAt, latest(c.SentAt, c.HeardAt)) }

// Core is the state of one channel's broker. It is not safe for concurrent
// use.
type Core struct {
	cfg       Config
	ch        weir.Channel
	led       weir.Ledger
	win       *window
	flights   map[weir.ContactID]*flight
	counts    [weir.Done + 1]int           // flights by state
	sends     map[weir.AttemptRef]struct{} // provider calls under way
	claims    int                          // claims handed out and not committed
	asks      map[weir.AttemptRef]struct{}
	askFailed bool // since the last collection
	collected weir.Collection
	askQueue  []weir.ContactID
	loads     int // reads of single contacts under way
	brk       breaker
	retries   budget
	queued    int64

	prepared, preparing, checking   bool
	prepareFails                    int
	status                          channels.Status
	dueBusy, overdueBusy, lanesBusy bool // reads under way, or waiting for a commit
	dueRead, overdueRead            reading
	woken                           bool // the lanes are to be listed whatever is known
	reconnect                       bool // the provider is being set up as it was before
	checked                         bool // the status was asked for once
	draining, drained               bool
	rested                          bool      // the shell was told that it may stop
	deleteAt                        time.Time // flights end by then when the channel is being deleted
	swept                           bool      // the store said that nothing waits
	removing                        bool      // the shell was told to delete the row

	dueAt, overdueAt, collectAt, unknownAt, sweepAt, prepareAt, statusAt, retryAt, goneAt time.Time
	idleSince                                                                             time.Time

	out Effects
}

// New makes the core of a channel from what the store holds.
func New(cfg Config, s Snapshot, now time.Time) *Core {
	c := &Core{
		cfg: cfg, flights: map[weir.ContactID]*flight{}, sends: map[weir.AttemptRef]struct{}{},
		asks: map[weir.AttemptRef]struct{}{}, queued: s.Queued, status: channels.Status{Health: weir.Up},
		collectAt: now.Add(cfg.CollectEvery), sweepAt: now.Add(sweepEvery), prepareAt: now, statusAt: now,
		dueAt: now, overdueAt: now, idleSince: now,
	}
	c.win = newWindow(0)
	for _, id := range s.Lanes {
		c.win.lane(id).more = true
	}
	c.restore(s, now)
	c.adopt(s.Channel, now)
	c.Tick(now)
	return c
}

// restore rebuilds the flights. An attempt in the middle of its hand-over is
// told apart by what this process knows of it.
func (c *Core) restore(s Snapshot, now time.Time) {
	var ts []weir.Transition
	for _, contact := range s.InFlight {
		f := c.fly(contact)
		switch {
		case contact.State == weir.Sending && s.Hands[contact.AttemptRef()] == HandSending:
			c.sends[contact.AttemptRef()] = struct{}{}
		case contact.State == weir.Sending && s.Hands[contact.AttemptRef()] == HandClaimed:
			ts = append(ts, c.unclaim(f))
		case contact.State == weir.Sending:
			p, _ := f.c.LoseSight("the program stopped while it was being sent")
			ts = append(ts, c.step(f, p))
			// Not from the claim on: its commit may have been slow, and the call of
			// the process that is gone may still be under way at the provider.
			c.askUnknown(f, now.Add(c.settle()))
		case contact.State == weir.Unknown:
			c.askUnknown(f, latest(now, contact.ClaimedAt.Add(c.settle())))
		}
		if contact.CancelAsked && f.c.State == weir.Active {
			c.takeBack(f)
		}
	}
	c.commit(Commit{Transitions: ts})
}

// settle is how long an unclear hand-over may still be under way.
func (c *Core) settle() time.Duration { return min(c.cfg.SettleAfter, c.cfg.IdleAfter) }

// adopt takes over the channel's row.
func (c *Core) adopt(ch weir.Channel, now time.Time) {
	grown := ch.Capacity > c.ch.Capacity || channels.ReplyReserve(ch.Settings) < c.led.Reserve
	c.ch = ch
	c.led.Capacity, c.led.Reserve = ch.Capacity, channels.ReplyReserve(ch.Settings)
	c.win.bound = min(max(2*ch.Capacity, windowLeast), windowMost)
	if grown && c.win.blocked() > 0 || ch.Deleting {
		c.win.rescan()
	}
	if ch.Deleting && c.deleteAt.IsZero() {
		c.beginDelete(now)
	}
}

// Configure is told that the channel's row was changed. reconnect says that
// the provider has to be set up again.
func (c *Core) Configure(ch weir.Channel, reconnect bool, now time.Time) {
	c.touch(now)
	c.adopt(ch, now)
	if reconnect {
		c.prepared, c.prepareAt, c.statusAt, c.reconnect = false, now, now, c.preparing
		c.brk.hope(now)
	}
	c.run(now)
}

// Take hands over what is to be done. The shell calls it after every event.
func (c *Core) Take() Effects {
	out := c.out
	c.out = Effects{}
	return out
}

// touch notes that somebody wanted something.
func (c *Core) touch(now time.Time) { c.idleSince, c.rested = now, false }

// fly counts a contact's slots.
func (c *Core) fly(contact weir.Contact) *flight {
	f := &flight{c: contact, slots: contact.Slots(contact.Size())}
	c.led.Take(contact.Priority, f.slots)
	c.flights[contact.ID] = f
	c.counts[contact.State]++
	return f
}

// inOrder lists the flights, oldest contact first.
func (c *Core) inOrder() []*flight {
	return slices.SortedFunc(maps.Values(c.flights), func(a, b *flight) int { return cmp.Compare(a.c.ID, b.c.ID) })
}

// step replaces a flight's progress and frees the slots that it no longer
// holds. A flight that is over or back in the queue is forgotten.
func (c *Core) step(f *flight, p weir.Progress) weir.Transition {
	t := weir.Transition{From: f.c.Rev, Was: f.c.State}
	slots := p.Slots(f.c.Size())
	f.c.Progress = p
	t.Contact = f.c
	c.led.Give(f.c.Priority, f.slots-slots)
	f.slots = slots
	c.counts[t.Was]--
	c.counts[p.State]++
	if !p.State.InFlight() {
		delete(c.flights, f.c.ID)
		c.win.changes.note(f.c.ID)
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
	return c.step(f, p)
}

// finishWaiting ends a contact that waits.
func (c *Core) finishWaiting(contact *weir.Contact, now time.Time, o weir.Outcome, reason string) (weir.Transition, bool) {
	t := weir.Transition{From: contact.Rev, Was: contact.State}
	p, err := contact.Finish(now, o, reason)
	if err != nil {
		return t, false
	}
	if !c.win.remove(contact.ID, contact.Lane()) && c.led.Blocked(contact.Priority, contact.Size()) {
		c.win.unblock(contact)
	}
	c.queued--
	t.Contact = *contact
	t.Contact.Progress = p
	c.out.Finished = append(c.out.Finished, Finished{Outcome: o})
	return t, true
}

// commit hands transitions out, with the answers that wait for them.
func (c *Core) commit(k Commit) {
	if len(k.Transitions) > 0 || len(k.InboxDone) > 0 {
		c.out.Commits = append(c.out.Commits, k)
		return
	}
	c.out.Replies = append(c.out.Replies, k.Replies...)
}

// windowOver tells whether a contact may no longer go out.
func windowOver(s *weir.Spec, now time.Time) bool {
	return !s.NotAfter.IsZero() && !now.Before(s.NotAfter)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier is the earlier of two instants; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
