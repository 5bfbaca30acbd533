package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
)

// only makes one contact fail in a manner while all others are accepted.
func only(id weir.ContactID, m manner) func(channels.Attempt) manner {
	return func(a channels.Attempt) manner {
		if a.ID.ID == id {
			return m
		}
		return accepts
	}
}

func TestNotNow_DelaysTheContact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retry time.Duration
		waits []time.Duration // before the second attempt, the third ...
	}{
		"as the provider says":         {time.Minute, []time.Duration{time.Minute, time.Minute, time.Minute}},
		"longer each time":             {0, []time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second}},
		"not shorter than the backoff": {time.Second, []time.Duration{time.Second, time.Second, 1500 * time.Millisecond}},
		"not longer than a pause":      {24 * time.Hour, []time.Duration{15 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, func(r *rig) { r.manner = only(1, later); r.prov.retry = c.retry })
			r.accept(calls(1)...)
			for i, wait := range c.waits {
				row := r.store[1]
				if row.State != weir.Delayed || row.DueAt.Sub(r.now) != wait {
					t.Fatalf("after attempt %d it is %v for %v, want %v", i+1, row.State, row.DueAt.Sub(r.now), wait)
				}
				if why := r.core.Why(&row, r.now); why.Code != operators.WhyRetry {
					t.Errorf("why: %+v", why)
				}
				r.pass(wait)
			}
		})
	}
}

// Neither is at fault: the channel goes on, and the contact ends as what the
// provider says in the end, however often it had to wait.
func TestNotNow_IsNoFault(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.manner = only(1, later) })
	r.accept(calls(1)...)
	r.pass(time.Hour)
	row := r.store[1]
	if row.Attempt < 50 || row.Attempt > 120 || !row.State.Waiting() || row.Failures != 0 {
		t.Fatalf("after an hour: %d attempts, %v, %d failures", row.Attempt, row.State, row.Failures)
	}
	if f := r.core.Figures(); f.Health != weir.Up || f.Breaker != operators.BreakerClosed || f.InFlight != 0 {
		t.Fatalf("the channel is %+v", f)
	}
	r.accept(calls(1)...)
	wantState(t, r, 2, weir.Active) // the slot is free for others
	r.ends(2, weir.Completed)
	r.manner = only(0, later)
	r.pass(2 * time.Minute)
	wantState(t, r, 1, weir.Active)
}

// A driver that also blames the channel does not open the breaker with it.
func TestNotNow_OpensNoBreaker(t *testing.T) {
	t.Parallel()
	r := newRig(t, 50, func(r *rig) { r.manner = func(channels.Attempt) manner { return later } })
	r.accept(calls(50)...)
	if f := r.core.Figures(); f.Breaker != operators.BreakerClosed || len(r.sent) != 50 {
		t.Fatalf("%v after %d dispatches", f.Breaker, len(r.sent))
	}
}

func TestNotNow_ExpiresWhenTheWindowCloses(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.manner = only(1, later); r.prov.retry = 10 * time.Second })
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = start.Add(25 * time.Second) })...)
	r.pass(time.Minute)
	if row := r.store[1]; row.Outcome != weir.Expired || row.Attempt != 3 {
		t.Fatalf("%v after %d attempts", row.Outcome, row.Attempt)
	}
}
