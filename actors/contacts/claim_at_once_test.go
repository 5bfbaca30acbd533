package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
)

func yes() bool { return true }

func no() bool { return false }

// atOnce accepts contacts of one message for which the core may reserve slots.
func (r *rig) atOnce(n int, stored func() bool) {
	r.t.Helper()
	r.acceptAtOnce(slices.Repeat([]weir.Spec{text(1)}, n), yes, stored)
}

func TestClaimAtOnce_TakesASlotThatIsFree(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.settle()
	before := r.issued
	r.atOnce(5, yes)
	if f := r.core.Figures(); f.InFlight != 0 {
		t.Errorf("%d slots are shown in use, though nothing is accepted yet", f.InFlight)
	}
	if len(r.sent) > 0 {
		t.Fatalf("%v was sent before it was written", r.sent)
	}
	r.hold["answer"] = true
	r.settle()
	wantSent(t, r, 1, 2, 3)
	if r.issued != before+1 {
		t.Errorf("%d changes were written, want 1: nothing was queued first", r.issued-before)
	}
	r.hold["answer"] = false
	r.settle()
	r.ends(2, weir.Completed)
	wantSent(t, r, 1, 2, 3, 4)
}

func TestClaimAtOnce_NothingIsReservedIfAContactWouldWait(t *testing.T) {
	t.Parallel()
	later := func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) }
	over := func(s *weir.Spec) { s.NotAfter = start }
	for name, c := range map[string]struct {
		prepare func(*rig)
		specs   []weir.Spec
		want    int
	}{
		"free":                    {func(*rig) {}, []weir.Spec{text(1)}, 1},
		"full":                    {func(r *rig) { r.accept(text(2)) }, []weir.Spec{text(1)}, 0},
		"one waits":               {func(r *rig) { r.accept(text(1), text(2)) }, []weir.Spec{text(1)}, 0},
		"two do not fit":          {func(*rig) {}, []weir.Spec{text(1), text(2), text(1)}, 1},
		"window opens later":      {func(*rig) {}, []weir.Spec{with(text(1), later), text(1)}, 0},
		"window closed":           {func(*rig) {}, []weir.Spec{with(text(1), over)}, 0},
		"paused":                  {func(r *rig) { r.pause(true) }, []weir.Spec{text(1)}, 0},
		"the rest is for replies": {func(r *rig) { r.configure(func(ch *weir.Channel) { ch.Settings["reply_reserve"] = 1.0 }) }, []weir.Spec{text(1), text(1)}, 1},
		"too many dispatches":     {func(r *rig) { r.hold["answer"] = true; r.accept(text(1)) }, []weir.Spec{text(1)}, 0},
		"too many reserved":       {func(r *rig) { r.hold["commit"] = true; r.atOnce(1, yes) }, []weir.Spec{text(1)}, 0},
		"stopping":                {func(r *rig) { r.tell((*contacts.Core).Drain) }, []weir.Spec{text(1)}, 0},
		"being deleted":           {func(r *rig) { r.configure(func(ch *weir.Channel) { ch.Deleting = true }) }, []weir.Spec{text(1)}, 0},
		"a probe is due": {func(r *rig) {
			r.prov.retry = time.Second
			takes(isDown)(r)
			r.accept(text(1))
			r.cancelContact(1)
			r.hold["status"] = true
			r.pass(time.Second)
		}, []weir.Spec{text(1)}, 0},
		"the provider is down": {func(r *rig) { takes(isDown)(r); r.accept(text(1)); r.settle() }, []weir.Spec{text(1)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, func(r *rig) {
				if name == "too many dispatches" || name == "too many reserved" {
					r.cfg.SendConcurrency = 1
				}
			})
			r.settle()
			c.prepare(r)
			n := -1
			r.tell(func(c2 *contacts.Core, now time.Time) { n = c2.Reserve(c.specs, now) })
			if n != c.want {
				t.Errorf("slots for %d contacts are reserved, want %d", n, c.want)
			}
		})
	}
}

// The store may refuse contacts, or queue them because the lease is gone: what was
// reserved for them is free again.
func TestClaimAtOnce_ReservationEndsWithItsContacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leased, stored func() bool
		want           []weir.ContactID
	}{
		"not stored": {yes, no, []weir.ContactID{1, 2}},
		"not leased": {no, yes, []weir.ContactID{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.settle()
			r.hold["commit"] = true
			r.acceptAtOnce([]weir.Spec{text(1), text(1)}, c.leased, c.stored)
			r.hold["commit"] = false
			r.settle()
			r.accept(text(1), text(1), text(1))
			wantSent(t, r, c.want...)
		})
	}
}

func TestClaimAtOnce_HoldsACapacityLoweredMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.settle()
	r.hold["commit"] = true
	r.atOnce(2, yes)
	r.configure(func(ch *weir.Channel) { ch.Capacity = 1 })
	r.hold["commit"] = false
	r.settle()
	if len(r.sent) != 1 {
		t.Errorf("%v were sent, the capacity is 1", r.sent)
	}
}

func TestClaimAtOnce_DrainWaitsForWhatIsBeingAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.settle()
	r.hold["commit"] = true
	r.atOnce(1, yes)
	r.tell((*contacts.Core).Drain)
	if r.drained {
		t.Fatal("it is drained, and a contact is about to be claimed")
	}
	r.hold["commit"] = false
	r.settle()
	if !r.drained || len(r.sent) > 0 || r.store[1].State != weir.Queued {
		t.Errorf("drained %v, sent %v, the contact is %v; want it back in the queue", r.drained, r.sent, r.store[1].State)
	}
}

// A client may find a contact in a list, and cancel it, before its broker has heard that
// it was accepted.
func TestClaimAtOnce_CancelMayComeBeforeTheBrokerKnows(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.settle()
	r.hold["written"] = true
	r.atOnce(1, yes)
	for len(r.runnable(r.hold)) > 0 && r.store[1].ID == 0 {
		r.run(r.runnable(r.hold)[0])
	}
	r.waiters++
	w := r.waiters
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: r.ch.ID, ID: 1}, contacts.Origin{Waiter: w}, now)
	})
	for range 4 { // it is read, and read again
		if list := r.runnable(r.hold); len(list) > 0 {
			r.run(list[0])
		}
	}
	if reply, ok := r.replies[w]; ok {
		t.Fatalf("answered %+v though it is not known yet where the contact is", reply)
	}
	r.hold["written"] = false
	r.settle()
	if reply := r.replies[w]; reply.Err != nil || !r.store[1].CancelRequested && r.store[1].State != weir.Done {
		t.Errorf("answered %+v; the contact is %+v", reply, r.store[1].Progress)
	}
}
