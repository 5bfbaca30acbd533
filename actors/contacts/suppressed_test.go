package contacts_test

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
)

// A contact whose claim was refused for the sake of the person is done: it holds no slot,
// nothing is kept of its attempt, and the next contact takes its place.
func TestClaimsCommitted_SuppressedContactFreesItsSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.refuse = map[weir.ContactID]bool{1: true, 3: true} })
	r.settle()
	r.accept(calls(4)...)
	r.settle()
	wantSent(t, r, 2)
	for _, id := range []weir.ContactID{1, 3} {
		if c := r.store[id]; id == 1 && c.Outcome != weir.Suppressed {
			t.Errorf("contact %d is %+v", id, c.Progress)
		}
	}
	if got := r.cancelContact(1); got.State != weir.Done || weir.CodeOf(got.Err) != weir.CodeConflict {
		t.Errorf("a cancel is answered %+v", got)
	}
	r.pass(time.Second)
}

// It may have been the breaker's probe: another contact is.
func TestClaimsCommitted_SuppressedProbeIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.refuse = map[weir.ContactID]bool{}; r.prov.retry = time.Minute }, takes(isDown))
	r.accept(calls(2)...)
	r.hold["commit"] = true
	r.pass(time.Minute)
	r.refuse[1] = true
	delete(r.hold, "commit")
	r.pass(time.Minute)
	if r.store[1].Outcome != weir.Suppressed {
		t.Fatalf("the probe is %+v", r.store[1].Progress)
	}
	if c := r.store[2]; c.Attempt == 0 {
		t.Errorf("the other contact was not dispatched: %+v", c.Progress)
	}
}

// A contact that a rule delays holds no slot and holds nobody up. It says until when it waits
// and why, and is claimed then, as its first attempt.
func TestClaimsCommitted_DelayedContactHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.postpone = map[weir.ContactID]time.Duration{1: time.Hour} })
	r.settle()
	r.accept(calls(2)...)
	r.settle()
	wantSent(t, r, 2)
	c := r.store[1]
	if c.State != weir.Delayed || c.Attempt != 0 || c.Receipt.Rule == "" {
		t.Fatalf("the delayed contact is %+v", c.Progress)
	}
	if why := r.core.Why(&c, r.now); why.Code != operators.WhyPerson || !strings.Contains(why.Text(), "quiet") {
		t.Errorf("why: %+v", why)
	}
	r.pass(59 * time.Minute)
	if c := r.store[1]; c.Attempt != 0 {
		t.Fatalf("it was claimed too early: %+v", c.Progress)
	}
	r.ends(2, weir.Completed)
	r.pass(time.Hour)
	if c := r.store[1]; c.Attempt != 1 || c.Receipt.Rule != "" {
		t.Errorf("it was not claimed when it was due: %+v", c.Progress)
	}
}

// A limit that the channel shares has no room: the claims are undone, the contacts keep their
// places, nothing is tried until then, and then they go in their order.
func TestClaimsCommitted_ASharedLimitHoldsTheChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.settle()
	r.full = time.Minute
	ids := r.accept(calls(4)...)
	r.settle()
	if why := r.core.WhyNext(r.now); why.Code != operators.WhyLimit || why.Text() != "full" {
		t.Errorf("why: %+v", why)
	}
	for _, id := range ids {
		if c := r.store[id]; c.State != weir.Queued || c.Attempt != 0 || c.Rev != 0 {
			t.Errorf("contact %d is %+v", id, c.Progress)
		}
	}
	written := r.written
	r.pass(50 * time.Second)
	if r.written != written {
		t.Errorf("%d changes while the channel had to wait", r.written-written)
	}
	r.full = 0
	r.pass(time.Minute)
	wantSent(t, r, 1, 2, 3)
}

// A commit may take long: whoever's hours ended meanwhile is not contacted. The provider is
// asked not to dispatch a contact after the hours.
func TestClaimsCommitted_NobodyIsContactedAfterTheirHours(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.settle()
	r.hours = r.now.Add(time.Minute)
	r.hold["written"] = true
	r.accept(calls(1)...)
	r.pass(2 * time.Minute)
	r.hours = r.now.Add(time.Hour) // of the next day
	delete(r.hold, "written")
	r.settle()
	c := r.store[1]
	if c.Attempt != 1 || !c.Receipt.Until.Equal(r.hours) {
		t.Errorf("it was claimed before its hours ended and is %+v", c.Progress)
	}
	wantSent(t, r, 1)
}
