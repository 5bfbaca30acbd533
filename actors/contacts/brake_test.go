package contacts_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/operators"
)

// braking sets a brake that acts on more than a fifth of 10 contacts.
func braking(r *rig) { r.ch.Brake = &weir.Brake{Over: 10, Minimum: 5, Failed: 20, OptedOut: 20} }

const textsBraked = "channel c paused itself: 2 of the last 5 contacts failed, the bound is 20 %"

// fails sends contacts one after the other; the first so many fail.
func (r *rig) fails(failed, all int) {
	r.t.Helper()
	for n := range all {
		o := weir.Completed
		if n < failed {
			o = weir.Failed
		}
		r.ends(r.accept(text(1))[0], o)
	}
}

// store stores what the brake has done, as the shell does.
func (r *rig) brakeStored() {
	r.ch.Paused, r.ch.Braked = true, &r.braked[len(r.braked)-1]
	ch := r.ch
	r.tell(func(c *contacts.Core, now time.Time) { c.BrakeDone(ch, now) })
	r.settle()
}

func TestBrake_NothingIsDispatchedFromTheMomentItActs(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, braking)
	r.settle()
	r.fails(2, 4)
	if len(r.braked) != 0 {
		t.Fatalf("before the minimum it acts: %+v", r.braked)
	}
	ids := r.accept(text(1), text(1), text(1))
	r.ends(ids[0], weir.Completed) // the fifth
	if len(r.braked) != 1 || r.braked[0].Text != "paused itself: 2 of the last 5 contacts failed, the bound is 20 %" {
		t.Fatalf("it is %+v", r.braked)
	}
	if n := len(r.sent); n != 6 {
		t.Errorf("%d were dispatched, want the two that were in flight", n)
	}
	wantWhy(t, r.why(ids[2]), operators.WhyBraked, textsBraked)
	if f := r.core.Figures(); f.Health != weir.Paused || f.HealthReason != r.braked[0].Text || f.Brake.Failed != 2 {
		t.Errorf("its figures are %+v", f)
	}
	// A change of an operator that did not see the pause does not start it.
	r.configure(func(ch *weir.Channel) { ch.Capacity = 5 })
	r.ends(ids[1], weir.Failed)
	if n := len(r.sent); n != 6 || len(r.braked) != 1 {
		t.Errorf("%d dispatched, braked %d times", n, len(r.braked))
	}
	r.brakeStored()
	wantWhy(t, r.why(ids[2]), operators.WhyBraked, textsBraked)
	if n := len(r.sent); n != 6 {
		t.Errorf("%d are dispatched while it is paused", n)
	}
	// Resumed, it counts anew.
	r.configure(func(ch *weir.Channel) { ch.Paused, ch.Braked = false, nil })
	r.settle()
	r.ends(ids[2], weir.Failed)
	r.fails(3, 3)
	if len(r.braked) != 1 {
		t.Errorf("after a resume it acts at once: %+v", r.braked)
	}
	if r.fails(1, 1); len(r.braked) != 2 || r.braked[1].Count != 5 {
		t.Errorf("then it is %+v", r.braked)
	}
}

func TestBrake_ActsOnOptOuts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, braking)
	r.settle()
	to := func(n int, change func(*weir.Spec)) weir.Spec {
		s := text(1)
		s.To = "+1 555 010" + strconv.Itoa(n)
		if change != nil {
			change(&s)
		}
		return s
	}
	r.fails(0, 3)
	r.ends(r.accept(to(1, nil))[0], weir.Completed)
	r.ends(r.accept(to(3, func(s *weir.Spec) { s.Priority = weir.Reply }))[0], weir.Completed)
	r.accept(to(2, func(s *weir.Spec) { s.Priority, s.Survey = weir.Reply, "s" })) // it is in flight
	stop := func(n int) {
		r.tell(func(c *contacts.Core, now time.Time) { c.OptedOut("+1555010"+strconv.Itoa(n), now) })
	}
	for _, n := range []int{1, 1, 1, 3, 4, 5} { // one person, who was only answered, and strangers
		stop(n)
	}
	if len(r.braked) != 0 {
		t.Fatalf("one of five is the bound, and it acts: %+v", r.braked)
	}
	if stop(2); len(r.braked) != 1 || r.braked[0].Cause != weir.BrakeOptedOut || r.braked[0].Count != 2 {
		t.Errorf("it is %+v", r.braked)
	}
}

// A claim whose commit was under way when the brake acted is not dispatched.
func TestBrake_ClaimsUnderWayAreUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, braking)
	r.settle()
	r.fails(2, 4)
	last := r.accept(text(1))[0]
	r.hold["commit"] = true
	claimed := r.accept(text(1))[0]
	r.ends(last, weir.Completed)
	delete(r.hold, "commit")
	r.settle()
	if len(r.braked) != 1 || len(r.sent) != 5 || r.store[claimed].State != weir.Queued {
		t.Errorf("braked %d times, %d dispatched, and the claimed one is %v", len(r.braked), len(r.sent), r.store[claimed].State)
	}
}

// The broker restarts before the pause is stored: with what it has counted it acts again.
// After a crash of the process the count begins anew.
func TestBrake_OutlivesTheBrokerAndNotTheProcess(t *testing.T) {
	t.Parallel()
	for actor, want := range map[bool]int{true: 2, false: 1} {
		r := newRig(t, 2, braking)
		r.settle()
		r.fails(2, 5)
		r.crash(actor, 100, nil)
		r.settle()
		if len(r.braked) != want {
			t.Errorf("the actor alone %v: braked %d times, want %d", actor, len(r.braked), want)
		}
	}
}

func TestBrake_PausedChannelsStayPausedAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, braking)
	r.settle()
	r.fails(2, 5)
	r.brakeStored()
	ids := r.accept(text(1))
	r.crash(false, 100, nil)
	r.pass(time.Hour)
	if slices.ContainsFunc(r.sent, func(ref weir.AttemptRef) bool { return ref.ID == ids[0] }) {
		t.Error("after a crash it is released")
	}
	wantWhy(t, r.why(ids[0]), operators.WhyBraked, textsBraked)
}

// The store paused nothing because an operator has removed the brake meanwhile.
func TestBrake_GoesOnWithoutABrake(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, braking)
	r.settle()
	r.fails(2, 5)
	ids := r.accept(text(1))
	r.ch.Brake = nil
	ch := r.ch
	r.tell(func(c *contacts.Core, now time.Time) { c.BrakeDone(ch, now) })
	r.settle()
	if !slices.ContainsFunc(r.sent, func(ref weir.AttemptRef) bool { return ref.ID == ids[0] }) {
		t.Error("it waits although it has no brake")
	}
}
