package contacts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
)

// Windows, pauses, and channels that are not set up yet: when nothing may be
// sent although slots are free.

// Scenarios 20 and 21.
func TestSendingWindow_HeldUntilNotBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.accept(with(text(1), func(s *weir.Spec) { s.NotBefore = start.Add(50 * time.Second) }), text(1))
	wantSent(t, r, 2)
	r.pass(50*time.Second - 1)
	wantSent(t, r, 2)
	r.pass(1)
	wantSent(t, r, 2, 1)
}

// Contacts that become due at once are before the window's horizon, and must not
// all be held in memory.
func TestSendingWindow_ManyDueAtOnceKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.accept(slices.Repeat([]weir.Spec{with(text(1), func(s *weir.Spec) { s.NotBefore = start.Add(time.Minute) })}, 300)...)
	r.accept(text(1))
	r.ends(301, weir.Completed)
	r.pass(time.Minute)
	for len(r.prov.busy()) > 0 {
		r.ends(r.prov.busy()[0].ref.ID, weir.Completed)
	}
	wantCounts(t, r, 301, 0)
	for i, ref := range r.sent[1:] {
		if want := weir.ContactID(i + 1); ref.ID != want {
			t.Fatalf("after %d came %d", want-1, ref.ID)
		}
	}
}

// Scenario 22.
func TestSendingWindow_ExpiryIsReportedOnceAndFreesItsSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.ch.Paused = true })
	r.accept(with(text(1), func(s *weir.Spec) { s.NotAfter = start.Add(time.Second) }), text(1))
	r.now = start.Add(time.Second)
	r.pause(false)
	wantSent(t, r, 2)
	wantDone(t, r, 1, weir.Expired)
	r.pass(time.Minute)
	if len(r.finished) != 1 {
		t.Fatalf("%d ends were counted, want 1", len(r.finished))
	}
}

// Scenario 22.
func TestSendingWindow_MayCloseBetweenClaimAndDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.settle()
	r.hold["commit"] = true
	r.accept(with(text(1), func(s *weir.Spec) { s.NotAfter = start.Add(time.Second) }), text(1))
	r.now = start.Add(time.Second)
	delete(r.hold, "commit")
	r.settle()
	wantSent(t, r, 2)
	wantDone(t, r, 1, weir.Expired)
}

// Scenario 25.
func TestSendingWindow_ManyThatExpireAtOnceHoldUpNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(r *rig) { r.ch.Paused = true })
	closes := start.Add(time.Hour)
	r.accept(slices.Repeat([]weir.Spec{with(text(1), func(s *weir.Spec) { s.Survey, s.NotAfter = "a", closes })}, 1600)...)
	r.accept(with(text(1), func(s *weir.Spec) { s.Survey = "b" }))
	r.pass(time.Hour)
	for id := weir.ContactID(1); id <= 1600; id++ {
		wantDone(t, r, id, weir.Expired)
	}
	r.pause(false)
	wantSent(t, r, 1601)
}

// Scenario 71.
func TestPause_SendsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(calls(500)...)
	r.pause(true)
	r.ends(1, weir.Completed)
	r.ends(2, weir.Completed)
	r.pass(10 * time.Minute)
	wantCounts(t, r, 2, 0)
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = r.now.Add(time.Minute) })...)
	r.pass(2 * time.Minute)
	wantDone(t, r, 501, weir.Expired)
	r.pause(false)
	wantSent(t, r, 1, 2, 3, 4)
}

// Scenario 71.
func TestPause_BetweenClaimAndDispatchSendsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.settle()
	r.hold["written"] = true
	r.accept(calls(2)...)
	r.configure(func(ch *weir.Channel) { ch.Paused = true })
	delete(r.hold, "written")
	r.settle()
	wantCounts(t, r, 0, 0)
	r.pause(false)
	wantSent(t, r, 1, 2)
}

func TestPrepare_NothingIsSentBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, func(r *rig) { r.prepErr = fmt.Errorf("no such account") })
	r.accept(calls(1)...)
	r.pass(5 * time.Minute)
	if f := r.core.Figures(); f.Health != weir.Erring || f.HealthReason != "no such account" {
		t.Fatalf("health is %v, %q", f.Health, f.HealthReason)
	}
	if r.prepares < 5 || r.prepares > 15 {
		t.Fatalf("it was tried %d times in 5 minutes", r.prepares)
	}
	wantCounts(t, r, 0, 0)
	r.prepErr = nil
	r.pass(time.Minute)
	wantCounts(t, r, 1, 1)
	if f := r.core.Figures(); f.Health != weir.Up {
		t.Fatalf("health is %v", f.Health)
	}
}

// If the settings change while the provider is being set up, it is set up again:
// the first call used the old ones.
func TestPrepare_IsRepeatedIfSettingsChangeMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.tell(func(c *contacts.Core, now time.Time) { c.Configure(r.ch, true, now) })
	r.accept(calls(1)...)
	if r.prepares != 2 {
		t.Fatalf("the provider was set up %d times, want 2", r.prepares)
	}
	wantCounts(t, r, 1, 1)
}
