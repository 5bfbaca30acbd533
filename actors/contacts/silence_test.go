package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/operators"
)

// An attempt that the provider only confirms to have is given up after a day, after the
// limit for unknown outcomes if the provider never reports progress, and not at all if it
// ends each attempt itself.
func TestUnderway_SilentAttemptIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent, bounded bool
		after           time.Duration
		reason          string
	}{
		"reports progress":   {false, false, 24 * time.Hour, "the provider has not finished it for a day"},
		"never reports":      {true, false, time.Hour, "the provider has it and reports no progress"},
		"ends each itself":   {false, true, 0, ""},
		"silent and bounded": {true, true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.prov.silent, r.prov.bounded, r.lossy = c.silent, c.bounded, true
			r.accept(calls(1)...)
			if c.after == 0 {
				r.pass(30 * time.Hour)
				wantState(t, r, 1, weir.Active)
				return
			}
			r.pass(c.after - time.Second)
			wantState(t, r, 1, weir.Active)
			r.pass(r.cfg.ReconcileEvery + time.Second)
			wantDone(t, r, 1, weir.Lost)
			if got := r.store[1].Reason; got != c.reason {
				t.Errorf("the reason is %q, want %q", got, c.reason)
			}
		})
	}
}

// A reconciliation counts the contacts that it adds to those which wait to be asked about.
func TestFigures_ReconciliationCountsNewQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, func(r *rig) { r.cfg.AskConcurrency = 1 })
	r.hold["ask"] = true
	r.accept(calls(3)...)
	for i, want := range []int{3, 0} {
		r.pass(2 * time.Minute)
		if got := r.core.Figures().Reconciliation.Checked; got != want {
			t.Errorf("reconciliation %d adds %d contacts, want %d", i+1, got, want)
		}
	}
}

// A set-up that began before the settings changed does not count: nothing is sent before
// the next one has succeeded.
func TestSettings_OldSetUpDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.tell(func(c *contacts.Core, now time.Time) { c.Configure(r.ch, true, now) })
	r.settleOnly("prepare")
	r.hold["prepare"] = true
	r.accept(calls(1)...)
	wantWhy(t, r.core.WhyNext(r.now), operators.WhyPreparing, "the provider of channel c is being set up")
	wantSent(t, r)
	clear(r.hold)
	r.settle()
	wantSent(t, r, 1)
}

// A page that cannot be read is read again after a second.
func TestReads_FailedPageIsReadSoon(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(100)...)
	r.readErr = func() bool { return true }
	for len(r.prov.busy()) > 0 {
		r.ends(r.prov.busy()[0].ref.ID, weir.Completed)
	}
	n := len(r.sent)
	r.readErr = func() bool { return false }
	r.pass(time.Second)
	if len(r.sent) != n+1 {
		t.Errorf("%d more contacts are dispatched within a second, want 1", len(r.sent)-n)
	}
}

// A listing of the lanes corrects the number of waiting contacts, which other processes
// may have changed.
func TestSweep_CorrectsTheQueueLength(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.insert(calls(3)...)
	r.pass(31 * time.Second)
	if n := r.core.Figures().Queued; n != 3 {
		t.Errorf("%d contacts are queued, want 3", n)
	}
}
