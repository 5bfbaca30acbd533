package contacts

import (
	"cmp"
	"time"

	"weir"
)

// yields remembers the contacts whose last dispatch failed as the channel's fault, so that
// another contact is the next probe: the fault may be of the one contact after all. It is in
// memory only. What a crash forgets costs such a contact's next failure, and no order.
type yields struct {
	of        map[weir.ContactID]yield
	failures  int // ever
	successes int // ever
	// suspect had all the failures since the last success; 0: several did, or there is none.
	suspect weir.ContactID
}

// yield holds the failures of one contact.
type yield struct {
	turn      int // of its last failure
	successes int // until then
	times     int // it failed, not counting a failure that no success of another came before
}

// succeeded records that the provider handled a dispatch.
func (y *yields) succeeded() { y.successes, y.suspect = y.successes+1, 0 }

// failed records a failure of the channel; first: none came since the last success.
func (y *yields) failed(id weir.ContactID, first bool) {
	if first {
		y.suspect = id
	} else if y.suspect != id {
		y.suspect = 0
	}
}

// add records that a contact goes back into the queue, and returns how often it failed although
// other contacts succeeded in between: 0 after the first failure, and while no contact succeeds.
func (y *yields) add(id weir.ContactID) int {
	if y.of == nil {
		y.of = map[weir.ContactID]yield{}
	}
	e, again := y.of[id]
	if again && y.successes > e.successes {
		e.times++
	}
	y.failures++
	e.turn, e.successes = y.failures, y.successes
	y.of[id] = e
	return e.times
}

func (y *yields) remove(id weir.ContactID) { delete(y.of, id) }

// behindOthers returns the earliest instant at which a contact may be tried again that failed
// as the channel's fault. While no contact succeeds, it keeps its place. When others succeed, it
// waits behind them, longer each time.
func (c *Core) behindOthers(f *flight, now time.Time) time.Time {
	wait := time.Duration(0)
	for i := c.yields.add(f.c.ID); i > 0 && wait < maxProbeWait; i-- {
		wait = max(probeTime, 4*wait)
	}
	if wait == 0 {
		return time.Time{}
	}
	return latest(now, c.breaker.until).Add(min(wait, maxProbeWait))
}

// nextToClaim returns the contact that is claimed next. While the breaker is not closed it is a
// probe: one that has not failed, else the one whose failure is longest ago.
func (c *Core) nextToClaim() *weir.Contact {
	if c.breaker.closed() {
		return c.window.next(&c.ledger)
	}
	return c.window.probe(&c.ledger, &c.yields)
}

// probeWithAnother lets a probe through at once if only one contact has failed and another
// waits: that the one keeps failing implies nothing about the other.
func (c *Core) probeWithAnother(now time.Time) {
	if c.yields.suspect != 0 && now.Before(c.breaker.until) && !c.breaker.probing && c.window.hasOther(c.yields.suspect) {
		c.breaker.openings = min(c.breaker.openings, 1) // the others were of the one contact
		c.breaker.probeNow(now)
	}
}

// probe returns the contact that is the next probe, without taking it; nil: none waits that fits.
func (w *window) probe(led *weir.Ledger, y *yields) *weir.Contact {
	var best *weir.Contact
	for _, l := range w.lanes {
		l.removeBlocked(led)
		for _, e := range l.entries {
			if !led.Fits(e.Priority, e.Size()) && !(e.Priority == weir.Reply && led.FitsReserve(e.Size())) {
				continue
			}
			if best == nil || w.compareProbes(e, best, y) < 0 {
				best = e
			}
		}
	}
	return best
}

// compareProbes orders contacts as probes: first contacts without a failure, in queue order, then
// the others, the earliest failure first.
func (w *window) compareProbes(a, b *weir.Contact, y *yields) int {
	return cmp.Or(
		cmp.Compare(y.of[a.ID].turn, y.of[b.ID].turn), cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(w.lanes[a.Lane()].turn, w.lanes[b.Lane()].turn), cmp.Compare(a.ID, b.ID),
	)
}

// hasOther reports whether a contact other than one is in the window.
func (w *window) hasOther(than weir.ContactID) bool {
	for _, l := range w.lanes {
		if len(l.entries) > 1 || len(l.entries) == 1 && l.entries[0].ID != than {
			return true
		}
	}
	return false
}
