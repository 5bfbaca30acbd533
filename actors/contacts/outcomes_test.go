package contacts_test

import (
	"errors"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// The window closes while the provider is being called: the reason that users see is
// the provider's.
func TestNotSent_AfterItsWindowKeepsTheProvidersReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(isDown))
	r.hold["answer"] = true
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = start.Add(time.Minute) })...)
	r.pass(time.Minute)
	clear(r.hold)
	r.settle()
	wantDone(t, r, 1, weir.Expired)
	if reason := r.store[1].Reason; reason != "down" {
		t.Errorf("the reason is %q", reason)
	}
}

// What the shell keeps of an attempt is dropped once its result was applied.
func TestLocalAttempts_AreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.inTurn(accepts, refuses, cannotNow, isDown, loses, drops)
	r.accept(calls(10)...)
	r.pass(5 * time.Minute)
	if len(r.local) > 0 || len(r.results) > 0 {
		t.Errorf("%d attempts and %d results are kept", len(r.local), len(r.results))
	}
}

// The broker's actor crashes while the provider is being called. The call still counts
// against the limit of concurrent calls, and the end of the broker waits for it.
func TestRestart_CountsCallsUnderWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, oneByOne)
	r.hold["receive"] = true
	r.accept(calls(1)...)
	r.crash(true, 0, nil)
	r.accept(calls(1)...)
	wantSent(t, r, 1)
	wantState(t, r, 1, weir.Sending)
	r.tell((*contacts.Core).Drain)
	if r.drained {
		t.Fatal("it is drained, and the provider is being called")
	}
	clear(r.hold)
	r.settle()
	if !r.drained {
		t.Fatal("it is not drained")
	}
	wantState(t, r, 1, weir.Active)
}

// A channel set to at least once sends again what may not have arrived, but not what was
// canceled meanwhile or whose window has closed: that may have arrived, so it ends as
// lost.
func TestAtLeastOnce_NotAfterCancelOrWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec   func(*weir.Spec)
		before func(*rig)
	}{
		"canceled": {func(*weir.Spec) {}, func(r *rig) { r.cancelContact(1) }},
		"expired":  {func(s *weir.Spec) { s.NotAfter = start.Add(30 * time.Second) }, func(*rig) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, takes(drops), func(r *rig) { r.ch.Settings["at_least_once"] = true })
			r.prov.mute = true
			r.accept(calls(1, c.spec)...)
			c.before(r)
			r.pass(r.cfg.SettleAfter + time.Second)
			wantState(t, r, 1, weir.Unknown)
			r.pass(r.cfg.LostAfter)
			wantDone(t, r, 1, weir.Lost)
			wantSent(t, r, 1)
		})
	}
}

// Each unclear dispatch is asked about after its own delay: before, the call may still
// be under way at the provider.
func TestUnknown_AskedAfterItsOwnDelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, takes(loses))
	r.accept(calls(1)...)
	r.pass(30 * time.Second)
	r.accept(calls(1)...)
	r.pass(r.cfg.SettleAfter - 30*time.Second)
	if len(r.asked) != 1 || r.asked[0].ID != 1 {
		t.Fatalf("asked about %v, want contact 1", r.asked)
	}
	r.pass(30 * time.Second)
	if len(r.asked) != 2 || r.asked[1].ID != 2 {
		t.Fatalf("asked about %v, want contact 2 as well", r.asked)
	}
}

// An answer that only confirms that the provider has the contact is no progress. It
// does not extend the time for which a silent contact keeps its slots.
func TestUnderway_WithoutReferenceChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	before := r.store[1]
	r.pass(time.Minute)
	r.tell(func(c *contacts.Core, now time.Time) {
		c.AskDone(before.AttemptRef(), channels.Answer{Status: channels.Underway}, now)
	})
	r.settle()
	if after := r.store[1]; after.Rev != before.Rev || after.ProviderRef != before.ProviderRef || !after.HeardAt.Equal(before.HeardAt) {
		t.Errorf("it was %+v and is %+v", before.Progress, after.Progress)
	}
}

// A contact ends while it waits to be asked about. The others are asked about.
func TestAskQueue_SkipsContactsThatEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, func(r *rig) { r.cfg.AskConcurrency = 1 })
	r.accept(calls(3)...)
	r.hold["ask"] = true
	r.pass(r.cfg.IdleAfter)
	r.ends(2, weir.Completed)
	delete(r.hold, "ask")
	r.settle()
	if len(r.asked) != 2 || r.asked[0].ID != 1 || r.asked[1].ID != 3 {
		t.Errorf("asked about %v, want contacts 1 and 3", r.asked)
	}
}

func TestDelete_CancelsAtTheProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.inTurn(accepts, loses)
	r.accept(calls(2)...)
	r.hold["receive"], r.hold["cancel"] = true, true
	r.accept(calls(1)...)
	r.configure(func(ch *weir.Channel) { ch.Deleting = true })
	r.settle()
	if len(r.cancels) != 1 || r.cancels[0].ID != 1 {
		t.Errorf("canceled at the provider: %v, want contact 1, the only one that it is known to have", r.cancels)
	}
	for id := weir.ContactID(1); id <= 3; id++ {
		if !r.store[id].CancelRequested {
			t.Errorf("the cancel of contact %d is not durable", id)
		}
	}
}

// A cancel is answered once it is durable, each time; one may have nobody who waits.
func TestCancel_IsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.hold["cancel"] = true
	for range 2 {
		got := r.cancelContact(1)
		if got.State != weir.Active || got.Err != nil || got.Waiter == nil {
			t.Fatalf("answered %+v", got)
		}
	}
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: r.ch.ID, ID: 1}, contacts.Origin{}, now)
	})
	r.settle()
	if got, ok := r.replies[nil]; ok {
		t.Errorf("nobody waits, and the answer is %+v", got)
	}
}

// The provider canceled an attempt and then reports progress: the cancel came too early
// and is repeated.
func TestCancel_IsRepeatedIfTheAttemptGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{Canceled: true} }
	r.cancelContact(1)
	r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact})
	if len(r.cancels) != 2 {
		t.Fatalf("%d cancels, want 2", len(r.cancels))
	}
	wantState(t, r, 1, weir.Active)
}

func TestCancel_AnswersThatTheRowCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.settle()
	r.readErr = func() bool { return true }
	if got := r.cancelContact(9); !errors.Is(got.Err, errRead) {
		t.Errorf("answered %+v", got)
	}
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: r.ch.ID, ID: 9}, contacts.Origin{}, now)
	})
	r.settle()
	if got, ok := r.replies[nil]; ok {
		t.Errorf("nobody waits, and the answer is %+v", got)
	}
}

// A contact is accepted with a lower id than those already read. It is
// dispatched after those in memory, not after the whole queue.
func TestWoken_ReadsTheQueueFromItsStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.nextID = 100
	r.accept(calls(200)...)
	r.nextID = 1
	r.insert(calls(1)...)
	r.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) })
	r.settle()
	for range 64 { // twice what is in memory
		r.ends(r.sent[len(r.sent)-1].ID, weir.Completed)
		if r.sent[len(r.sent)-1].ID == 1 {
			return
		}
	}
	t.Errorf("it was not dispatched before %d others", len(r.sent))
}

// A provider that cannot be set up is tried again, longer each time, one set-up at a
// time, without any contact and not while the program stops.
func TestPrepare_IsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.prepErr = errors.New("wrong password") })
	r.pass(time.Minute)
	if r.prepares < 5 || r.prepares > 10 {
		t.Errorf("%d set-ups in the first minute", r.prepares)
	}
	r.hold["prepare"] = true
	r.pass(time.Hour)
	n := r.prepares
	r.accept(calls(1)...)
	r.pass(time.Hour)
	if r.prepares != n {
		t.Errorf("%d set-ups at one time", r.prepares-n+1)
	}
	clear(r.hold)
	r.tell((*contacts.Core).Drain)
	r.pass(time.Hour)
	if r.prepares != n {
		t.Errorf("%d set-ups while it stops", r.prepares-n)
	}
}

func TestReport_IsAnsweredWithItsVerdict(t *testing.T) {
	t.Parallel()
	// The first contact ended as busy in its second attempt; of the two messages of the
	// second one failed and the other was delivered; the third waits for its second
	// attempt; the fourth is active.
	world := func(t *testing.T) *rig {
		r := newRig(t, 10, takes(drops))
		r.accept(calls(1)...)
		takes(accepts)(r)
		r.pass(r.cfg.SettleAfter)
		wantSent(t, r, 1, 1)
		r.ends(1, weir.Busy)
		r.accept(text(2))
		r.ends(2, weir.Failed)
		r.ends(2, weir.Completed)
		wantDone(t, r, 2, weir.Failed)
		r.manner, r.prov.retry = func(channels.Attempt) manner { return later }, time.Hour
		r.accept(calls(1)...)
		wantState(t, r, 3, weir.Delayed)
		takes(accepts)(r)
		r.accept(calls(1)...)
		return r
	}
	const whole = weir.WholeContact
	for name, c := range map[string]struct {
		id      weir.ContactID
		number  int
		part    int
		outcome weir.Outcome
		want    weir.Verdict
	}{
		"the same again":                   {1, 2, whole, weir.Busy, weir.Duplicate},
		"the same, of no attempt":          {1, 0, whole, weir.Busy, weir.Duplicate},
		"another outcome":                  {1, 2, whole, weir.Completed, weir.Late},
		"progress":                         {1, 2, whole, "", weir.Late},
		"the same, of an earlier attempt":  {1, 1, whole, weir.Busy, weir.Late},
		"the same, of a future attempt":    {1, 3, whole, weir.Busy, weir.UnknownAttempt},
		"failed part again":                {2, 1, 0, weir.Failed, weir.Duplicate},
		"delivered part again":             {2, 1, 1, weir.Completed, weir.Duplicate},
		"delivered part failed":            {2, 1, 1, weir.Failed, weir.Late},
		"progress of a part":               {2, 1, 1, "", weir.Late},
		"progress of a failed part":        {2, 1, 0, "", weir.Late},
		"a part too many":                  {2, 1, 2, weir.Failed, weir.Late},
		"of a waiting contact":             {3, 1, whole, weir.Busy, weir.Late},
		"of its next attempt":              {3, 2, whole, weir.Busy, weir.UnknownAttempt},
		"future attempt of an active one":  {4, 2, whole, weir.Busy, weir.UnknownAttempt},
		"part of an active one that lacks": {4, 1, 1, weir.Failed, weir.UnknownAttempt},
		"no such contact":                  {99, 1, whole, weir.Busy, weir.UnknownAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := world(t)
			before := r.store[c.id]
			ref := weir.AttemptRef{Ref: weir.Ref{Channel: r.ch.ID, ID: c.id}, Number: c.number}
			wantVerdict(t, r.report(weir.Report{Attempt: ref, Part: c.part, Outcome: c.outcome}), c.want)
			if after := r.store[c.id]; after.Rev != before.Rev {
				t.Errorf("it was %+v and is %+v", before.Progress, after.Progress)
			}
		})
	}
}

// An attempt carries what a driver may need of its contact, such as the end of its window.
func TestSend_PassesTheWindowToTheDriver(t *testing.T) {
	t.Parallel()
	var got channels.Attempt
	r := newRig(t, 1, func(r *rig) { r.manner = func(a channels.Attempt) manner { got = a; return accepts } })
	until := start.Add(time.Hour)
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = until })...)
	if !got.NotAfter.Equal(until) {
		t.Errorf("the attempt ends at %v, want %v", got.NotAfter, until)
	}
}

// A report of the end may be the first to name the provider's reference.
func TestReport_EndBeforeTheAnswerKeepsTheReference(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.hold["answer"] = true
	r.accept(calls(1)...)
	report := r.prov.end(r.prov.busy()[0], weir.Completed)
	report.ProviderRef = "early"
	r.report(report)
	if ref := r.store[1].ProviderRef; ref != "early" {
		t.Errorf("the reference is %q", ref)
	}
}

// A probe that the driver failed on says nothing about the provider: another contact is
// the next probe.
func TestProbe_MovesOnIfTheDriverFailsOnTheContact(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.prov.retry = time.Minute }, takes(isDown))
	r.accept(calls(1)...)
	takes(chokes)(r)
	r.pass(time.Minute)
	takes(accepts)(r)
	r.cancelContact(1)
	r.pass(2 * time.Hour)
	r.accept(calls(1)...)
	wantState(t, r, 2, weir.Active)
}

// A broker that is asked about a contact answers before it stops.
func TestDrain_WaitsForTheRowOfACancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.settle()
	r.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: r.ch.ID, ID: 1}, contacts.Origin{Waiter: 1}, now)
	})
	r.tell((*contacts.Core).Drain)
	if r.drained {
		t.Fatal("it is drained, and a row is being read")
	}
	r.settle()
	if !r.drained || weir.CodeOf(r.replies[1].Err) != weir.CodeNotFound {
		t.Errorf("drained %v, answered %+v", r.drained, r.replies[1])
	}
}
