package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// Reconciliation, its limits, and crashes.

// Scenario 50.
func TestReconcile_PurgedContactEndsAsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	clear(r.prov.tickets)
	r.pass(5 * time.Minute)
	wantDone(t, r, 1, weir.Lost)
}

// Scenario 51.
func TestReconcile_OnlyTheSilentAreAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(calls(3)...)
	r.pass(time.Minute)
	r.report(weir.Report{Attempt: r.sent[1], Part: weir.WholeContact})
	r.prov.tickets[r.sent[2]].over = true
	r.pass(time.Minute)
	if want := []weir.AttemptRef{r.sent[0], r.sent[2]}; !slices.Equal(r.asked, want) {
		t.Fatalf("asked about %v, want %v", r.asked, want)
	}
	wantState(t, r, 1, weir.Active)
	wantDone(t, r, 3, weir.Completed)
	r.pass(2 * time.Minute) // one that continues is asked about once in each reconciliation
	if n := len(r.asked); n != 4 {
		t.Fatalf("asked %d times, want 4: %v", n, r.asked)
	}
}

// Scenarios 53 and 55.
func TestReconcile_QuestionsAreBoundedAndOldestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, 200)
	r.accept(calls(200)...)
	r.hold["ask"] = true
	r.pass(2 * time.Minute)
	if n := len(r.asked); n != r.cfg.AskConcurrency {
		t.Fatalf("%d questions at one time, want %d", n, r.cfg.AskConcurrency)
	}
	r.ends(150, weir.Completed) // callbacks still arrive meanwhile
	r.askErr = func() bool { return true }
	delete(r.hold, "ask")
	r.pass(time.Hour)
	if !slices.IsSortedFunc(r.asked[:199], func(a, b weir.AttemptRef) int { return int(a.ID - b.ID) }) {
		t.Fatalf("not the oldest first")
	}
	if n := len(r.asked); n > 31*200 {
		t.Fatalf("asked %d times in an hour", n)
	}
	if f := r.core.Figures(); f.Active != 199 {
		t.Fatalf("%d are left active: what cannot be asked about is kept", f.Active)
	}
}

// Scenario 54.
func TestReconcile_GivesUpAfterTheLimit(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]manner{"unclear": loses, "active": accepts} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, takes(m))
			r.prov.mute, r.lossy = true, true
			r.accept(calls(1)...)
			r.pass(r.cfg.LostAfter - time.Second)
			if c := r.store[1]; !c.State.InFlight() {
				t.Fatalf("it is %v before the limit", c.State)
			}
			r.pass(time.Second + r.cfg.ReconcileEvery)
			wantDone(t, r, 1, weir.Lost)
		})
	}
}

// What is unclear ends at the limit, wherever that is between two questions.
func TestReconcile_UnclearContactEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{90 * time.Second, 59*time.Minute + 17*time.Second, time.Hour} {
		r := newRig(t, 1, takes(loses), func(r *rig) { r.cfg.LostAfter = limit })
		r.prov.mute, r.lossy = true, true
		r.accept(calls(1)...)
		r.pass(limit - time.Microsecond)
		if c := r.store[1]; !c.State.InFlight() {
			t.Errorf("%v: it is %v before the limit", limit, c.State)
		}
		r.pass(time.Microsecond)
		wantDone(t, r, 1, weir.Lost)
	}
}

// A cancel is sent once while its answer is awaited, however often it is asked for; one that failed is
// repeated.
func TestReconcile_CancelIsSentOnceAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{Failed: true} }
	r.accept(calls(1)...)
	r.hold["canceled"] = true
	for range 3 {
		r.cancelContact(1)
		r.pass(3 * time.Minute)
	}
	if len(r.cancels) != 1 {
		t.Errorf("%d cancels were sent before the first was answered", len(r.cancels))
	}
	delete(r.hold, "canceled")
	r.pass(3 * time.Minute)
	if len(r.cancels) < 2 {
		t.Error("a cancel that failed was not repeated")
	}
}

// A silence during which Weir itself was down does not end a contact that the
// provider may still be working on: only status requests that fail for long
// enough do.
func TestReconcile_FirstFailedQuestionAfterLongDowntimeEndsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.lossy = true
	r.accept(calls(1)...)
	r.settle()
	r.now = r.now.Add(48 * time.Hour)
	r.askErr = func() bool { return true }
	r.crash(false, 0, func(weir.AttemptRef) bool { return true })
	r.pass(r.cfg.LostAfter - r.cfg.ReconcileEvery)
	wantState(t, r, 1, weir.Active)
	r.pass(3 * r.cfg.ReconcileEvery)
	wantDone(t, r, 1, weir.Lost)
}

// Scenario 56.
func TestReconcile_DesyncHeals(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100)
	r.accept(calls(200)...)
	clear(r.prov.tickets)
	r.pass(r.cfg.IdleAfter + r.cfg.ReconcileEvery)
	wantCounts(t, r, 200, 100)
}

// Scenario 57.
func TestReconcile_AnswersAboutOneContactFreeNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.accept(text(2), with(text(2), func(s *weir.Spec) { s.Priority = weir.Reply }))
	tk := r.prov.tickets[weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 1}, Number: 1}]
	tk.part[0], tk.part[1], tk.over = weir.PartDelivered, weir.PartDelivered, true
	r.pass(4 * time.Minute)
	wantDone(t, r, 1, weir.Completed)
	wantState(t, r, 2, weir.Active)
	if f := r.core.Figures(); f.InFlight != 2 {
		t.Fatalf("%d slots are taken, want the 2 of the reply", f.InFlight)
	}
}

func TestReconcile_AtLeastOnceSendsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(drops))
	r.prov.mute = true
	r.ch.Settings["at_least_once"] = true
	r.configure(func(*weir.Channel) {})
	r.accept(calls(1)...)
	r.manner = func(channels.Attempt) manner { return accepts }
	r.pass(r.cfg.SettleAfter)
	wantSent(t, r, 1, 1)
}

func TestReconcile_AtMostOnceKeepsItsSlots(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(drops))
	r.prov.mute = true
	r.accept(calls(2)...)
	r.pass(30 * time.Minute)
	wantState(t, r, 1, weir.Unknown)
	wantSent(t, r, 1)
}

// Scenarios 59 and 60.
func TestReconcile_CrashWhileSendingDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, arrives := range map[string]bool{"59 it never left": false, "60 the provider has it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.hold["receive"] = true
			r.accept(calls(1)...)
			r.crash(false, 0, func(weir.AttemptRef) bool { return arrives })
			delete(r.hold, "receive")
			r.settle()
			wantState(t, r, 1, weir.Unknown)
			r.pass(r.cfg.SettleAfter)
			wantState(t, r, 1, weir.Active)
			wantCounts(t, r, map[bool]int{false: 2, true: 1}[arrives], 1)
		})
	}
}

func TestReconcile_RestartOfTheActorKeepsResults(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.settle()
	r.hold["written"] = true
	r.accept(calls(2)...)
	r.crash(true, 0, nil) // claimed and not sent: the provider does not have it, and it is no attempt
	delete(r.hold, "written")
	r.hold["answer"] = true
	r.settle()
	wantSent(t, r, 1, 2)
	if n := r.store[1].Attempt; n != 1 {
		t.Fatalf("attempt %d, want 1", n)
	}
	r.crash(true, 0, nil) // being sent: its result still arrives
	delete(r.hold, "answer")
	r.settle()
	wantState(t, r, 1, weir.Active)
	wantState(t, r, 2, weir.Active)
	wantSent(t, r, 1, 2)
}
