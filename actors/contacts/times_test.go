package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

// Each cancel is confirmed after its own grace, whichever was requested last.
func TestCancel_ConfirmedAfterItsOwnGrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(calls(3)...)
	for id := range weir.ContactID(3) {
		r.cancelContact(id + 1)
		r.pass(500 * time.Millisecond)
	}
	r.pass(10 * time.Second)
	for id := range weir.ContactID(3) {
		wantDone(t, r, id+1, weir.Canceled)
		want := start.Add(2*time.Second + time.Duration(id)*500*time.Millisecond)
		if got := r.store[id+1].FinishedAt; !got.Equal(want) {
			t.Errorf("contact %d ended at %v, want %v", id+1, got, want)
		}
	}
}

// A waiting contact expires at the instant at which its window closes, however it came
// to wait: accepted, due, returned by the provider, not dispatched after its claim, or
// restored.
func TestWindows_CloseOnTime(t *testing.T) {
	t.Parallel()
	until := func(d time.Duration, from ...time.Duration) func(*weir.Spec) {
		return func(s *weir.Spec) {
			s.NotAfter = start.Add(d)
			for _, f := range from {
				s.NotBefore = start.Add(f)
			}
		}
	}
	for name, set := range map[string]func(*rig){
		"accepted": func(r *rig) { r.pause(true); r.accept(with(text(1), until(10*time.Minute))) },
		"due":      func(r *rig) { r.pause(true); r.accept(with(text(1), until(10*time.Minute, time.Minute))) },
		"returned": func(r *rig) { takes(isDown)(r); r.accept(with(text(1), until(10*time.Minute))); r.pause(true) },
		"delayed": func(r *rig) {
			r.prov.retry = 5 * time.Minute
			takes(later)(r)
			r.accept(with(text(1), until(10*time.Minute)))
			r.pause(true)
		},
		"claimed": func(r *rig) {
			r.hold["written"] = true
			r.accept(with(text(1), until(10*time.Minute)))
			r.configure(func(ch *weir.Channel) { ch.Paused = true })
			delete(r.hold, "written")
			r.settle()
		},
		"restored": func(r *rig) {
			r.pause(true)
			r.accept(with(text(1), until(10*time.Minute)))
			r.crash(false, 10, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, other := range []time.Duration{5 * time.Minute, time.Hour} { // of another contact
				r := newRig(t, 5)
				r.settle()
				set(r)
				r.accept(with(text(1), until(other)), with(text(1), until(time.Hour, 2*time.Minute)))
				r.pass(2 * time.Hour)
				wantDone(t, r, 1, weir.Expired)
				if at := r.store[1].FinishedAt.Sub(start); at != 10*time.Minute {
					t.Errorf("it expired after %v, want 10 minutes; another one after %v", at, other)
				}
			}
		})
	}
}

// A contact is asked about once at a time, and not while its cancel may still be
// confirmed.
func TestAsk_AsksAboutAContactOnceAtATime(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]manner{"active": accepts, "unknown": loses} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 5, takes(m))
			r.hold["ask"] = true
			r.accept(calls(1)...)
			r.pass(20 * time.Minute)
			if len(r.asked) != 1 {
				t.Errorf("asked %d times at one time", len(r.asked))
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1)
		r.accept(calls(1)...)
		r.pass(2*time.Minute - time.Second)
		r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{Canceled: true} }
		r.cancelContact(1)
		r.pass(time.Second)
		if len(r.asked) > 0 {
			t.Errorf("asked about %v", r.asked)
		}
	})
}

// A question that fails is repeated after a pause that grows; one that is answered ends
// the row of failures.
func TestAsk_PausesGrowWithFailuresInARow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(loses))
	r.prov.mute = true
	var at []time.Duration
	n := 0
	r.askErr = func() bool {
		n++
		at = append(at, r.now.Sub(start))
		return n != 4
	}
	r.accept(calls(1)...)
	r.pass(4 * time.Minute)
	ms := time.Millisecond
	first := time.Minute
	want := []time.Duration{first, first + 375*ms, first + 1125*ms, first + 2625*ms}
	answered := want[3] + r.cfg.ReconcileEvery
	want = append(want, answered, answered+375*ms, answered+1125*ms)
	if len(at) < len(want) || !slices.Equal(at[:len(want)], want) {
		t.Errorf("asked after %v, want %v", at, want)
	}
}

// A recipient that is to be tried later is not tried first when the provider's pause is
// over: another contact probes whether the provider works.
func TestLater_WaitsBehindTheProbe(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.manner = func(a channels.Attempt) manner {
		if a.ID.ID == 2 {
			r.prov.retry = 0
			return later
		}
		r.prov.retry = time.Minute
		return isDown
	}
	r.settle()
	r.accept(calls(2)...)
	wantState(t, r, 2, weir.Delayed)
	if wait := r.store[2].DueAt.Sub(r.now); wait != time.Minute+time.Second {
		t.Errorf("it waits %v, want a second after the pause of a minute", wait)
	}
}

// Claims whose commit is slow hold units of the rate limit: when they are given back or
// used is not known, so no instant is promised.
func TestPace_PromisesNoInstantWhileClaimsAreWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(1, 5))
	r.pass(time.Minute)
	r.hold["commit"] = true
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 7)...)
	wantWhy(t, r.core.WhyNext(r.now), operators.WhyRate, "channel c: its rate limit of 1 per second is used up")
	clear(r.hold)
	r.settle()
	wantWhy(t, r.core.WhyNext(r.now), operators.WhyRate, "channel c: its rate limit of 1 per second is used up; the next is dispatched at 2026-03-01 09:01:01 UTC")
	r.pass(time.Second)
	wantSent(t, r, 1, 2, 3, 4, 5, 6)
}

// A channel without a limit of concurrent dispatches has as many as slots, within reason.
func TestReserve_WithoutALimitIsAsManyAsSlots(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[int]int{3: 3, 4096: 4096, 5000: 4096} {
		r := newRig(t, capacity, func(r *rig) { r.cfg.SendConcurrency = 0 })
		r.settle()
		n := 0
		r.tell(func(c *contacts.Core, now time.Time) { n = c.Reserve(slices.Repeat([]weir.Spec{text(1)}, 6000), now) })
		if n != want {
			t.Errorf("capacity %d: %d contacts are claimed at once, want %d", capacity, n, want)
		}
	}
}

// A refusal without an outcome is a failure.
func TestSendDone_RefusalWithoutAnOutcomeIsAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.lossy = true
	r.hold["receive"] = true
	r.accept(calls(1)...)
	r.tell(func(c *contacts.Core, now time.Time) {
		c.SendDone(r.sent[0], channels.SendResult{Status: channels.Refused, Reason: "no such number"}, now)
	})
	r.settleOnly("commit")
	wantDone(t, r, 1, weir.Failed)
	if reason := r.store[1].Reason; reason != "no such number" {
		t.Errorf("the reason is %q", reason)
	}
}

// settleOnly runs the jobs of one kind.
func (r *rig) settleOnly(what string) {
	for _, j := range slices.Clone(r.jobs) {
		if j.what == what {
			r.run(j)
		}
	}
}

// New settings may end a provider's failure: it is probed at once, but not before the
// pause that it asked for is over.
func TestConfigure_ProbesAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retry time.Duration
		sent  int
	}{"failing": {0, 1}, "asked for a pause": {10 * time.Minute, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, takes(isDown), func(r *rig) { r.prov.retry = c.retry })
			r.accept(calls(1)...)
			r.pass(5*time.Minute + 10*time.Second)
			if r.core.Figures().Breaker != operators.BreakerOpen {
				t.Fatal("the breaker is not open")
			}
			takes(accepts)(r)
			before := len(r.sent)
			r.tell(func(core *contacts.Core, now time.Time) { core.Configure(r.ch, true, now) })
			r.settle()
			if n := len(r.sent) - before; n != c.sent {
				t.Errorf("%d dispatches, want %d", n, c.sent)
			}
		})
	}
}

// A report need not have anybody who waits. A waiter learns the trace of the contact.
func TestReport_WaiterLearnsTheTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(calls(2, func(s *weir.Spec) { s.Trace = "00-trace" })...)
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Report(r.prov.end(r.prov.tickets[r.sent[0]], weir.Busy), contacts.Origin{}, now)
		e := c.Take()
		for _, k := range e.Commits {
			if len(k.Replies) > 0 {
				t.Errorf("replies %+v", k.Replies)
			}
		}
		r.execute(e)
	})
	r.settle()
	wantDone(t, r, 1, weir.Busy)
	if reply := r.ends(2, weir.Completed); reply.Verdict != weir.Applied || reply.Trace != "00-trace" {
		t.Errorf("answered %+v", reply)
	}
}
