package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
)

// inTurn makes the dispatches end in the manners given, one after the other, and every
// later one as accepted.
func (r *rig) inTurn(manners ...manner) {
	n := 0
	r.manner = func(channels.Attempt) manner {
		n++
		if n > len(manners) {
			return accepts
		}
		return manners[n-1]
	}
}

// oneByOne dispatches one contact at a time.
func oneByOne(r *rig) { r.cfg.SendConcurrency = 1 }

func TestBreaker_OpensOnFailuresOfTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manners []manner
		opens   bool
	}{
		"four failures in a row":        {slices.Repeat([]manner{isDown}, 4), false},
		"a success between":             {[]manner{isDown, isDown, isDown, isDown, accepts, isDown, isDown, isDown, isDown}, false},
		"half of 19 fail":               {append(slices.Repeat([]manner{accepts, isDown}, 9), accepts), false},
		"half of 20 fail":               {slices.Repeat([]manner{accepts, isDown}, 10), true},
		"a third of 60 fail":            {slices.Repeat([]manner{accepts, accepts, isDown}, 20), false},
		"half fail, of their own fault": {slices.Repeat([]manner{accepts, cannotNow}, 10), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 100, oneByOne)
			r.inTurn(c.manners...)
			n := 0
			plan := r.manner
			r.manner = func(a channels.Attempt) manner { // nothing is dispatched after them
				if n++; n == len(c.manners) {
					r.hold["receive"] = true
				}
				return plan(a)
			}
			r.accept(calls(80)...)
			r.pass(2 * time.Second)
			if opened := r.core.Figures().Breaker != operators.BreakerClosed; opened != c.opens || n != len(c.manners) {
				t.Errorf("after %d dispatches it is open: %v, want %v after %d", n, opened, c.opens, len(c.manners))
			}
		})
	}
}

// Failures are weighed over half a minute: what failed before does not count.
func TestBreaker_WeighsRecentFailuresOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, oneByOne)
	r.inTurn(slices.Repeat([]manner{accepts, isDown}, 9)...)
	r.accept(calls(10)...)
	r.pass(31 * time.Second)
	r.inTurn(isDown, isDown)
	r.accept(calls(1)...)
	if f := r.core.Figures(); f.Breaker != operators.BreakerClosed {
		t.Errorf("it is %v", f.Breaker)
	}
}

// A success ends a row of openings: the next opening is as short as the first.
func TestBreaker_SuccessShortensTheNextOpening(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, takes(isDown), oneByOne)
	r.accept(calls(1)...)
	opening := func() time.Duration {
		for r.core.Figures().Breaker != operators.BreakerOpen {
			r.pass(time.Second)
		}
		return r.core.Figures().BreakerUntil.Sub(r.now)
	}
	first := opening()
	r.pass(20 * time.Second)
	if later := opening(); later <= 2*first {
		t.Fatalf("after 20 seconds of failures it is open for %v, at first for %v", later, first)
	}
	takes(accepts)(r)
	r.pass(time.Minute)
	wantState(t, r, 1, weir.Active)
	takes(isDown)(r)
	r.hold["receive"] = true
	r.accept(calls(1)...)
	delete(r.hold, "receive")
	r.settle()
	for r.core.Figures().Breaker != operators.BreakerOpen {
		r.pass(100 * time.Millisecond)
	}
	if again := r.core.Figures().BreakerUntil.Sub(r.now); again > first {
		t.Errorf("after a success it is open for %v, want at most %v", again, first)
	}
}

// The provider asks for a long pause, then, about another dispatch, for a shorter one; a
// third is accepted. The long one is kept.
func TestBreaker_KeepsTheLongerRetryAfter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.settle()
	r.manner = func(a channels.Attempt) manner {
		r.prov.retry = []time.Duration{100 * time.Second, 10 * time.Second, 0}[min(a.ID.ID-1, 2)]
		if a.ID.ID <= 2 {
			return isDown
		}
		return accepts
	}
	r.accept(calls(3)...)
	wantState(t, r, 3, weir.Active)
	if left := r.core.Figures().BreakerUntil.Sub(r.now); left != 100*time.Second {
		t.Errorf("the pause lasts %v, want 100 s", left)
	}
	n := len(r.sent)
	r.pass(100*time.Second - 1)
	if len(r.sent) != n {
		t.Errorf("%d dispatches during the pause", len(r.sent)-n)
	}
}

// Contacts whose dispatch fails in a way that may be their own fault are not the
// probe: another contact shows that the provider works.
func TestBreaker_PoisonIsNotTheProbe(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.manner = func(a channels.Attempt) manner {
		if a.ID.ID <= 5 {
			return stumbles
		}
		return accepts
	}
	r.accept(calls(6)...)
	wantSent(t, r, 1, 2, 3, 4, 5)
	r.pass(2 * time.Second)
	if r.sent[5].ID != 6 {
		t.Fatalf("contact %d was the probe, want 6", r.sent[5].ID)
	}
	wantState(t, r, 6, weir.Active)
}

// retriesWithin counts the contacts that may be retried within a time.
func (r *rig) retriesWithin(d time.Duration) int {
	n := 0
	for _, c := range r.store.waiting() {
		if !c.DueAt.After(r.now.Add(d)) {
			n++
		}
	}
	return n
}

// Of retries at one moment ten are free, each ten dispatches allow another, and then
// there is one a second. What was used up fills again.
func TestRetryBudget_PacesRetries(t *testing.T) {
	t.Parallel()
	const contacts = 40
	r := newRig(t, 100, takes(cannotNow))
	for _, pause := range []time.Duration{0, time.Hour} {
		r.pass(pause)
		before := r.retriesWithin(24 * time.Hour)
		first := r.nextID
		r.accept(calls(contacts)...)
		if n := r.retriesWithin(24*time.Hour) - before; n != contacts {
			t.Fatalf("%d contacts wait for a retry, want %d", n, contacts)
		}
		for s := range 40 {
			most := 10 + contacts/10 + s
			got := r.retriesWithin(time.Duration(s) * time.Second)
			if got > most {
				t.Errorf("%d retries within %d s, want at most %d", got, s, most)
			}
			if least := min(contacts, 9+s); s > 0 && got < least {
				t.Errorf("%d retries within %d s, want at least %d", got, s, least)
			}
		}
		for id := first; id < r.nextID; id++ { // the next round begins without them
			r.cancelContact(id)
		}
	}
}

// Results that arrive after a pause find what the budget has gained meanwhile.
func TestRetryBudget_FillsWhileCallsAreUnderWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, takes(cannotNow))
	r.accept(calls(30)...)
	r.hold["answer"] = true
	r.accept(calls(r.cfg.SendConcurrency)...)
	r.pass(time.Minute)
	clear(r.hold)
	r.settle()
	if wait := r.store[31].DueAt.Sub(r.now); wait > time.Second {
		t.Errorf("a minute after the other retries it waits %v", wait)
	}
}

// The earliest of the delayed contacts determines when the store is read, whichever was
// delayed last.
func TestDelayed_EarliestFirst(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) func(*weir.Spec) {
		return func(s *weir.Spec) { s.NotBefore = start.Add(d) }
	}
	t.Run("accepted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 5)
		r.accept(calls(1, at(10*time.Minute))...)
		r.accept(calls(1, at(time.Hour))...)
		r.pass(10 * time.Minute)
		wantSent(t, r, 1)
		r.pass(50 * time.Minute)
		wantSent(t, r, 1, 2)
	})
	t.Run("returned by the provider", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 5)
		r.manner = func(a channels.Attempt) manner {
			r.prov.retry = []time.Duration{10 * time.Second, 5 * time.Minute}[a.ID.ID-1]
			return later
		}
		r.accept(calls(2)...)
		r.manner = func(channels.Attempt) manner { return accepts }
		r.pass(10 * time.Second)
		wantSent(t, r, 1, 2, 1)
	})
}
