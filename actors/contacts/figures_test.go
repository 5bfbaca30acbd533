package contacts_test

import (
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

// The age of the queue is that of its oldest contact, in any lane, also if it is too
// large for the channel.
func TestFigures_AgeIsThatOfTheOldestInAnyLane(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, paused)
	oldest := func(want time.Duration) {
		t.Helper()
		if got := r.core.Figures().OldestQueuedAt; !got.Equal(start.Add(want)) {
			t.Errorf("the oldest is of %v, want %v", got, start.Add(want))
		}
	}
	if at := r.core.Figures().OldestQueuedAt; !at.IsZero() {
		t.Errorf("nothing waits, and the oldest is of %v", at)
	}
	for range 3 { // the second and the third are too large
		r.pass(time.Second)
		r.accept(of(string(rune('a'+r.nextID)), 1, 1+2*min(1, int(r.nextID-1)))...)
	}
	oldest(time.Second)
	r.pause(false)
	r.ends(1, weir.Completed)
	oldest(2 * time.Second)
	r.cancelContact(2)
	oldest(3 * time.Second)
	r.pass(time.Second)
	r.accept(text(1), text(2))
	oldest(3 * time.Second)
	r.cancelContact(3)
	oldest(4 * time.Second)
}

// Of two contacts in one lane that are too large, the age is not that of one that was
// canceled.
func TestFigures_AgeLeavesOutACanceledContact(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(text(3))
	r.pass(time.Second)
	r.accept(text(3))
	if at := r.core.Figures().OldestQueuedAt; !at.Equal(start) {
		t.Fatalf("the oldest is of %v", at)
	}
	r.cancelContact(1)
	if at := r.core.Figures().OldestQueuedAt; at.Equal(start) {
		t.Error("the oldest is the contact that was canceled")
	}
}

// A retry takes one of ten from the budget, and what is owed counts as nothing left.
func TestFigures_ShowWhatIsLeftOfTheRetryBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, takes(cannotNow))
	left := func(want float64) {
		t.Helper()
		if got := r.core.Figures().RetryBudget; got < want-0.05 || got > want+0.05 {
			t.Errorf("%v of the budget is left, want %v", got, want)
		}
	}
	left(1)
	r.accept(calls(4)...)
	left(0.6)
	r.accept(calls(40)...)
	left(0)
}

func TestFigures_CountCheckedAndResolvedContacts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.prov.lasts = time.Hour
	r.accept(calls(3)...)
	r.prov.tickets[r.sent[0]].over = true // without a report
	r.hold["receive"] = true
	r.accept(calls(1)...) // its dispatch takes long
	r.pass(2 * time.Minute)
	want := operators.Reconciliation{At: start.Add(2 * time.Minute), Checked: 3, Resolved: 1}
	if got := r.core.Figures().Reconciliation; got != want {
		t.Errorf("the reconciliation is %+v, want %+v", got, want)
	}
}

// The numbers that surveys and the overview read are those of the figures.
func TestFigures_AgreeWithTheLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(text(2), text(2), text(1))
	inFlight, queued, capacity := r.core.Load()
	if f := r.core.Figures(); inFlight != 2 || queued != 2 || capacity != 3 || f.InFlight != 2 || f.Queued != 2 {
		t.Errorf("%d in flight, %d queued, capacity %d; the figures have %d and %d", inFlight, queued, capacity, f.InFlight, f.Queued)
	}
}

// Health is the worst of what is known: a pause first, then a provider that fails, then
// the status that it reports itself.
func TestFigures_HealthIsTheWorstThatIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.status = channels.Status{Health: weir.Down, Reason: "line cut"}
	health := func(want weir.Health, reason string) {
		t.Helper()
		if f := r.core.Figures(); f.Health != want || f.HealthReason != reason {
			t.Errorf("the health is %v, %q; want %v, %q", f.Health, f.HealthReason, want, reason)
		}
	}
	r.settle()
	health(weir.Down, "line cut")
	observe := func(s channels.Status) {
		r.tell(func(c *contacts.Core, now time.Time) { c.Observed(s, now) })
	}
	observe(channels.Status{Health: weir.Up})
	health(weir.Up, "")
	takes(isDown)(r)
	r.prov.retry = time.Minute
	r.accept(calls(1)...)
	health(weir.Erring, "down")
	r.pause(true)
	health(weir.Paused, "")
	r.configure(func(ch *weir.Channel) { ch.Held = true })
	health(weir.Paused, "Weir was started with --paused; weir resume starts its channels")
}

// What waits is counted, however it leaves the queue.
func TestFigures_QueuedAreThoseThatWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	want := func(n int64) {
		t.Helper()
		if got := r.core.Figures().Queued; got != n || int64(len(r.store.waiting())) != n {
			t.Errorf("%d are queued, %d wait, want %d", got, len(r.store.waiting()), n)
		}
	}
	r.accept(calls(4)...)
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = start.Add(time.Minute) })...)
	want(4)
	r.cancelContact(3)
	want(3)
	r.crash(false, 0, func(weir.AttemptRef) bool { return true })
	want(3)
	r.ends(1, weir.Completed)
	want(2)
	r.now = start.Add(2 * time.Minute) // the last one expires
	r.ends(2, weir.Completed)
	want(0)
}
