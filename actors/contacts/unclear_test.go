package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// An unclear dispatch counts against the contact if the provider answered it and works
// otherwise, or if the driver failed on it; otherwise the provider is at fault.
func TestUnclear_BlamesTheContactOrTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manner   manner
		before   manner // of the dispatches before
		failures int
	}{
		"answered by a provider that works":       {stumbles, accepts, 1},
		"answered by a provider that never works": {stumbles, isDown, 0},
		"lost by a provider that works":           {drops, accepts, 0},
		"of the driver":                           {chokes, isDown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 5, takes(c.before))
			r.accept(calls(1)...)
			if row := r.store[1]; row.State.Waiting() {
				r.cancelContact(1)
			}
			takes(c.manner)(r)
			r.pass(2 * time.Second)
			r.accept(calls(1)...)
			wantState(t, r, 2, weir.Unknown)
			if n := r.store[2].Failures; n != c.failures {
				t.Errorf("%d failures are counted against the contact, want %d", n, c.failures)
			}
		})
	}
}

// The call of a dispatch that the provider answered is over, so it is asked at once; one
// without an answer may still be under way there.
func TestUnclear_AskedSoonIfAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manner manner
		wait   time.Duration
	}{
		"answered": {stumbles, 375 * time.Millisecond},
		"lost":     {drops, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, takes(c.manner))
			r.accept(calls(1)...)
			r.pass(c.wait - 1)
			if len(r.asked) > 0 {
				t.Fatalf("it is asked about before %v", c.wait)
			}
			r.pass(1)
			if len(r.asked) != 1 {
				t.Errorf("it is asked about %d times after %v", len(r.asked), c.wait)
			}
		})
	}
}

// Callbacks and answers cross each other: the reference that the provider returns is
// kept, and the one that is known is not replaced.
func TestSendDone_KeepsTheReferenceThatIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reported, want string }{
		"without a reference": {"", "p7-1-1"},
		"with one":            {"q", "q"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.hold["answer"] = true
			r.accept(calls(1)...)
			r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact, ProviderRef: c.reported})
			rev := r.store[1].Rev
			clear(r.hold)
			r.settle()
			row := r.store[1]
			if row.State != weir.Active || row.ProviderRef != c.want {
				t.Errorf("it is %v with the reference %q, want %q", row.State, row.ProviderRef, c.want)
			}
			if c.reported != "" && row.Rev != rev {
				t.Error("an answer that adds nothing is written")
			}
		})
	}
}

// A cancel waits for the reference that the dispatch under way returns, so that the
// provider can find the attempt.
func TestCancel_WaitsForTheReference(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*rig){
		"nothing reported": func(*rig) {},
		"reported":         func(r *rig) { r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			var refs []string
			r.canceled = func(a channels.Attempt) *channels.Cancellation {
				refs = append(refs, a.ProviderRef)
				return &channels.Cancellation{Canceled: true}
			}
			r.hold["answer"] = true
			r.accept(calls(1)...)
			r.cancelContact(1)
			before(r)
			clear(r.hold)
			r.settle()
			if len(refs) != 1 || refs[0] != "p7-1-1" {
				t.Errorf("canceled with the references %q", refs)
			}
		})
	}
}
