package crashtest_test

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"weir"
	"weir/persistence"
)

// TestDrain_LeavesNoContactToAskAbout ends the program in order, under load: it exits with 0 within
// its limit and leaves no contact that the provider would have to be asked about.
func TestDrain_LeavesNoContactToAskAbout(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 4))
			url := database(t, store)
			r := newRig(t, url, from, true, newCalls(t, capacity), newSMS(t, capacity))
			for _, l := range r.loads {
				// So that dispatches are under way when the signal arrives.
				if err := l.out.faults.Set(append([]string{"late=300ms@send:0.5"}, l.out.usual...)...); err != nil {
					t.Fatal(err)
				}
			}
			r.feed()
			longest := time.Duration(0)
			for range size().drains {
				rest(nil, time.Duration(200+chance.IntN(500))*time.Millisecond)
				began := time.Now().Add(-sendTimeout) // of the oldest dispatch that may be under way
				longest = max(longest, r.broker.terminate())
				r.nothingUnclear(url, r.pulse.still(began, time.Now()))
				r.broker.start("")
				r.broker.up()
			}
			t.Logf("%d drains, the longest took %v", size().drains, longest.Round(time.Millisecond))
			r.settle("drain "+store, 0)
		})
	}
}

// nothingUnclear checks in the store of a program that has ended that every contact in
// flight is active. If the machine stood still for more than half of the send timeout,
// dispatches may have timed out because of that: only those may be unknown.
func (r *rig) nothingUnclear(url string, still time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), upWithin)
	defer cancel()
	store, err := persistence.Open(ctx, url, persistence.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = store.Close(ctx) }()
	for _, l := range r.loads {
		ch, err := store.Channel(ctx, l.out.channel)
		if err != nil {
			r.t.Fatal(err)
		}
		open, err := store.InFlight(ctx, ch.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, c := range open {
			if tooLate := still > sendTimeout/2 && c.State == weir.Unknown && c.Reason == "timeout"; c.State != weir.Active && !tooLate {
				r.t.Errorf("%s: after a drain contact %s is %s: %s", ch.Name, c.Ref, c.State, c.Reason)
			}
		}
	}
}

// TestDrain_SecondSignalLosesNothing sends the signal again instead of waiting for the drain:
// nothing is lost even then.
func TestDrain_SecondSignalLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, database(t, "sqlite"), seed(t), false, newCalls(t, capacity), newSMS(t, capacity))
	for _, l := range r.loads {
		if err := l.out.faults.Set("late=1900ms@send"); err != nil { // the drain has to wait for it
			t.Fatal(err)
		}
	}
	r.feed()
	rest(nil, 500*time.Millisecond)
	for _, wait := range []int{300, 0} {
		if err := r.broker.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		rest(nil, time.Duration(wait)*time.Millisecond)
	}
	began := time.Now()
	select {
	case <-r.broker.gone:
	case <-time.After(drainWithin):
		t.Fatal("the second signal does not end the program")
	}
	took := time.Since(began) - r.pulse.still(began, time.Now())
	if took > time.Second { // the drain would have taken longer
		t.Errorf("it took the program %v to end after the second signal", took)
	}
	if s, ok := r.broker.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v, not by the signal", r.broker.cmd.ProcessState)
	}
	t.Logf("it ended %v after the second signal", took.Round(time.Millisecond))
	r.kills++
	for _, l := range r.loads {
		if err := l.out.faults.Set(l.out.usual...); err != nil {
			t.Fatal(err)
		}
	}
	r.broker.start("")
	r.broker.up()
	r.settle("second signal", 0)
}
