package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/channels"
)

func (r *rig) delete() {
	r.configure(func(ch *weir.Channel) { ch.Deleting = true })
	r.settle()
}

// What the provider does not cancel is given up after ten seconds, and then the channel
// is removed, once.
func TestDelete_GivesUpAfterTheGrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{Failed: true} }
	r.accept(calls(1)...)
	r.delete()
	r.pass(10*time.Second - 1)
	wantState(t, r, 1, weir.Active)
	r.pass(1)
	wantDone(t, r, 1, weir.Canceled)
	if at := r.store[1].FinishedAt.Sub(start); at != 10*time.Second {
		t.Errorf("it ended after %v", at)
	}
	r.pass(time.Minute)
	if !r.removed {
		t.Error("the channel is not removed")
	}
}

// A dispatch under way, and a claim that is being written, are waited for beyond the
// grace period.
func TestDelete_WaitsForDispatches(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"receive", "written"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.settle()
			r.hold[stage] = true
			r.accept(calls(1)...)
			r.delete()
			r.pass(time.Minute)
			wantState(t, r, 1, weir.Sending)
			if r.removed {
				t.Fatal("the channel is removed")
			}
			clear(r.hold)
			r.pass(time.Minute)
			wantDone(t, r, 1, weir.Canceled)
			if !r.removed {
				t.Error("the channel is not removed")
			}
		})
	}
}

// Contacts that other processes accept at the last moment end as well.
func TestDelete_EndsContactsAcceptedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.hold["remove"] = true
	r.delete()
	r.insert(calls(1)...)
	r.insert(calls(1, func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) })...)
	clear(r.hold)
	r.pass(time.Minute)
	wantDone(t, r, 1, weir.Canceled)
	wantDone(t, r, 2, weir.Canceled)
	if !r.removed {
		t.Error("the channel is not removed")
	}
}

// Removing the channel is tried again a second after it was impossible.
func TestDelete_TriesTheRemovalAgainUntilItSucceeds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.hold["remove"] = true
	r.delete()
	r.pass(10 * time.Minute)
	n := 0
	for _, j := range r.jobs {
		if j.what == "remove" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it is removed %d times at one time", n)
	}
}
