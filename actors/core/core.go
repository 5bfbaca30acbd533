// Package core decides what the broker of one channel does. It is pure: every
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
package core

import (
	"time"

	"weir"
	"weir/channels"
)

// Snapshot is the stored state that a broker starts from.
type Snapshot struct {
	Channel  weir.Channel
	InFlight []weir.Contact
	Lanes    []weir.Lane
	Queued   int64
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
	c.ledger.Capacity, c.ledger.Reserve = ch.Capacity, channels.ReplyReserve(ch.Settings)
	rate, burst := channels.Pace(ch.Settings)
	c.pace.configure(rate, burst, now)
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
