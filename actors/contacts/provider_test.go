package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// Breaker, retries, cancels, deletion, drain and rest.

// Scenario 19.
func TestProvider_FailingProviderIsNotHammered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10, takes(isDown))
	r.accept(calls(20)...)
	r.pass(10 * time.Minute)
	if n := len(r.sent); n > 30 {
		t.Fatalf("it was called %d times in 10 minutes", n)
	}
	if f := r.core.Figures(); f.Health != weir.Faulted || f.HealthReason != "down" {
		t.Fatalf("health is %v %q", f.Health, f.HealthReason)
	}
	before := len(r.sent)
	r.pass(10 * time.Minute)
	if n := len(r.sent) - before; n < 8 || n > 10 {
		t.Fatalf("a faulted channel was tried %d times in 10 minutes, want one a minute", n)
	}
	r.manner = func(channels.Attempt) manner { return accepts }
	r.pass(time.Minute)
	for id := weir.ContactID(1); id < 10; id++ { // their old places; a later one was the probe
		wantState(t, r, id, weir.Active)
	}
	wantState(t, r, 10, weir.Queued)
	if n := r.prov.inUse(); n != 10 {
		t.Fatalf("%d slots are in use, want 10", n)
	}
	if f := r.core.Figures(); f.Health != weir.Up {
		t.Fatalf("health is %v", f.Health)
	}
	if n := r.store[1].Failures; n != 0 {
		t.Fatalf("%d failures of the channel were counted against the contact", n)
	}
}

func TestProvider_BreakerProbesWithOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10, takes(isDown))
	r.accept(calls(10)...)
	opened := len(r.sent)
	if opened > r.cfg.SendConcurrency {
		t.Fatalf("%d were sent before it opened", opened)
	}
	r.hold["receive"] = true
	r.pass(10 * time.Minute)
	if n := len(r.sent) - opened; n != 1 {
		t.Fatalf("%d probes at one time, want 1", n)
	}
}

func TestProvider_BreakerKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10, takes(isDown))
	r.prov.retry = 100 * time.Second
	r.accept(calls(10)...)
	if f := r.core.Figures(); f.Health != weir.Erring {
		t.Fatalf("a burst of failures is one opening: health is %v", f.Health)
	}
	n := len(r.sent)
	r.pass(100*time.Second - 1)
	if len(r.sent) != n {
		t.Fatalf("it was called before the time that it had asked for")
	}
	r.pass(1)
	if len(r.sent) != n+1 {
		t.Fatalf("%d were sent when the time was over, want 1", len(r.sent)-n)
	}
}

// A channel with nothing to send has no probe to find out that its provider works
// again; a client that waits for that before it sends would wait forever.
func TestProvider_BreakerOfAnIdleChannelCloses(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10, takes(isDown))
	r.prov.retry = time.Second
	r.accept(calls(1)...)
	r.cancelContact(1)
	r.pass(time.Second)
	if f := r.core.Figures(); f.Health != weir.Up {
		t.Fatalf("health is %v", f.Health)
	}
}

// Retries of one failing contact are bounded while the others succeed.
func TestProvider_RetryBudgetBoundsRetries(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.manner = func(a channels.Attempt) manner {
		if a.ID.ID == 1 {
			return isDown
		}
		return accepts
	}
	r.accept(calls(1)...)
	for range 300 {
		r.accept(calls(1)...)
		r.pass(100 * time.Millisecond)
		for _, tk := range r.prov.busy() {
			r.ends(tk.ref.ID, weir.Completed)
		}
	}
	tries := 0
	for _, ref := range r.sent {
		if ref.ID == 1 {
			tries++
		}
	}
	if tries > 80 {
		t.Fatalf("%d tries in 30 s", tries)
	}
}

func TestProvider_RetryBudgetOwesNoMoreThanAMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t, 500, takes(cannotNow))
	r.accept(calls(400)...)
	for _, c := range r.store.waiting() {
		if wait := c.DueAt.Sub(r.now); wait > time.Minute {
			t.Fatalf("contact %d waits %v", c.ID, wait)
		}
	}
}

func TestProvider_CancelWorksInEveryState(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set   func(r *rig) // brings contact 1 into a state
		after func(r *rig)
		want  weir.Outcome
	}{
		"queued":       {set: func(r *rig) { r.pause(true); r.accept(calls(1)...) }, want: weir.Canceled},
		"delayed":      {set: func(r *rig) { r.accept(calls(1, func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) })...) }, want: weir.Canceled},
		"claimed":      {set: func(r *rig) { r.hold["commit"] = true; r.accept(calls(1)...) }, want: weir.Canceled},
		"on its way":   {set: func(r *rig) { r.hold["receive"] = true; r.accept(calls(1)...) }, want: weir.Canceled},
		"not sent":     {set: func(r *rig) { takes(cannotNow)(r); r.hold["receive"] = true; r.accept(calls(1)...) }, want: weir.Canceled},
		"active":       {set: func(r *rig) { r.accept(calls(1)...) }, want: weir.Canceled},
		"unknown, has": {set: func(r *rig) { takes(loses)(r); r.accept(calls(1)...) }, want: weir.Canceled},
		"unknown":      {set: func(r *rig) { takes(drops)(r); r.accept(calls(1)...) }, want: weir.Canceled},
		"sending, spoken of": {
			set:   func(r *rig) { r.hold["answer"] = true; r.accept(calls(1)...) },
			after: func(r *rig) { r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact}) },
			want:  weir.Canceled,
		},
		"unknown, spoken of": {
			set: func(r *rig) { takes(loses)(r); r.accept(calls(1)...) },
			after: func(r *rig) {
				r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact})
				r.pass(3 * time.Second)
			},
			want: weir.Canceled,
		},
		"ended meanwhile": {
			set:   func(r *rig) { r.accept(calls(1)...); r.hold["cancel"] = true },
			after: func(r *rig) { r.ends(1, weir.Completed) },
			want:  weir.Completed,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.settle()
			tt.set(r)
			r.cancelContact(1)
			if tt.after != nil {
				tt.after(r)
			}
			clear(r.hold)
			r.pass(70 * time.Second) // less than a reconciliation would take
			wantDone(t, r, 1, tt.want)
			if r.prov.inUse() != 0 {
				t.Fatalf("the provider still has it")
			}
			r.pause(false)
			r.accept(calls(1)...)
			if n := r.sent[len(r.sent)-1].ID; n != 2 {
				t.Fatalf("its slot is not free: last sent was %d", n)
			}
		})
	}
}

// Scenario 52.
func TestProvider_CanceledWhileQueuedIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(3)...)
	if got := r.cancelContact(2); got.State != weir.Done || got.Err != nil {
		t.Fatalf("%+v", got)
	}
	if got := r.cancelContact(2); got.State != weir.Done || got.Err != nil {
		t.Fatalf("a second cancel: %+v", got)
	}
	r.ends(1, weir.Completed)
	wantSent(t, r, 1, 3)
	if got := r.cancelContact(1); weir.CodeOf(got.Err) != weir.CodeConflict {
		t.Fatalf("a cancel of one that is done: %+v", got)
	}
	if got := r.cancelContact(77); weir.CodeOf(got.Err) != weir.CodeNotFound {
		t.Fatalf("a cancel of none: %+v", got)
	}
}

// Scenario 69.
func TestProvider_FailedCancelKeepsItsSlotAndIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{Failed: true} }
	r.accept(calls(2)...)
	r.cancelContact(1)
	r.pass(5 * time.Minute)
	wantSent(t, r, 1)
	if n := len(r.cancels); n != 3 {
		t.Fatalf("the provider was asked %d times to drop it, want 3", n)
	}
	r.canceled = func(channels.Attempt) *channels.Cancellation { return nil }
	r.pass(2 * time.Minute)
	wantDone(t, r, 1, weir.Canceled)
	wantSent(t, r, 1, 2)
}

func TestProvider_CancelThatCameTooLateIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{} }
	r.accept(calls(1)...)
	r.cancelContact(1)
	r.pass(10 * time.Minute)
	if n := len(r.cancels); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	r.ends(1, weir.NoAnswer)
	wantDone(t, r, 1, weir.NoAnswer)
}

func TestProvider_CancelIsRepeatedAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.hold["cancel"] = true
	r.cancelContact(1)
	r.crash(false, 0, nil)
	clear(r.hold)
	r.pass(3 * time.Second)
	wantDone(t, r, 1, weir.Canceled)
}

// Scenario 73.
func TestProvider_DeletedChannelLeavesNothing(t *testing.T) {
	t.Parallel()
	reads := map[string]func(r *rig){
		"plainly":       func(*rig) {},
		"reads fail":    func(r *rig) { n := 0; r.readErr = func() bool { n++; return n < 12 } },
		"not removable": func(r *rig) { r.hold["remove"] = true },
		"in a crash":    func(r *rig) { r.crash(false, 1, nil) },
	}
	for name, trouble := range reads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.accept(calls(700)...)
			r.accept(calls(600, func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) })...)
			r.accept(text(2)) // and one that is too large for the channel
			r.setCapacity(1)
			r.configure(func(ch *weir.Channel) { ch.Deleting = true })
			trouble(r)
			r.pass(15 * time.Second)
			if r.hold["remove"] {
				clear(r.hold)
				r.insert(calls(1)...) // accepted by another process at that moment
			}
			r.pass(time.Minute)
			for _, c := range r.store.all() {
				if c.State != weir.Done {
					t.Fatalf("contact %d is %v", c.ID, c.State)
				}
			}
			if !r.removed {
				t.Fatalf("nothing is open and the channel is not removed")
			}
		})
	}
}

func TestProvider_DrainWaitsForWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.settle()
	r.hold["receive"], r.hold["written"] = true, true
	r.accept(calls(1)...)
	delete(r.hold, "written")
	r.settle()
	r.hold["written"] = true
	r.accept(calls(1)...)
	r.tell((*contacts.Core).Drain)
	if r.drained {
		t.Fatalf("it is drained with one on its way and one claimed")
	}
	delete(r.hold, "written")
	r.settle()
	wantState(t, r, 2, weir.Queued)
	if n := r.store[2].Attempt; n != 0 || r.drained {
		t.Fatalf("attempt %d, drained %v", n, r.drained)
	}
	delete(r.hold, "receive")
	r.settle()
	if !r.drained {
		t.Fatalf("it is not drained")
	}
	wantSent(t, r, 1)
}

func TestProvider_RestsWhenIdle(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.pass(time.Hour - time.Minute)
	if r.rested {
		t.Fatalf("it rests with a contact in flight")
	}
	r.ends(1, weir.Completed)
	r.pass(r.cfg.StopAfter - time.Second)
	if r.rested {
		t.Fatalf("it rests too early")
	}
	r.pass(time.Minute)
	if !r.rested {
		t.Fatalf("it does not rest")
	}
}

// A wake-up that comes while the lanes are being listed is not lost.
func TestProvider_WakeUpDuringAListingIsNotLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.settle()
	wake := func() { r.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) }) }
	wake()
	r.hold["told"] = true
	r.settle()
	r.insert(calls(1)...)
	wake()
	clear(r.hold)
	r.settle()
	r.pass(time.Millisecond)
	wantSent(t, r, 1)
}

func TestProvider_ReadsThatFailAreRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	n := 0
	r.readErr = func() bool { n++; return n%3 != 0 }
	r.accept(calls(500)...)
	for len(r.sent) < 500 {
		if busy := r.prov.busy(); len(busy) > 0 {
			r.ends(busy[0].ref.ID, weir.Completed)
		} else {
			r.pass(time.Second)
		}
	}
}
