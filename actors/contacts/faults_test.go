package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// Callbacks and faults of the provider.

func whole(ref weir.AttemptRef, o weir.Outcome) weir.Report {
	return weir.Report{Attempt: ref, Part: weir.WholeContact, Outcome: o}
}

func takes(m manner) func(*rig) {
	return func(r *rig) { r.manner = func(channels.Attempt) manner { return m } }
}

// Scenario 29.
func TestReport_CountsBeforeTheAnswerToItsDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.hold["answer"] = true
	r.accept(calls(2)...)
	r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact})
	wantState(t, r, 1, weir.Active)
	wantVerdict(t, r.ends(1, weir.Completed), weir.Applied)
	delete(r.hold, "answer")
	r.settle()
	wantDone(t, r, 1, weir.Completed)
	wantSent(t, r, 1, 2)
}

// The report of the end that comes before the answer shows that the provider had the contact.
func TestReport_OfTheEndBeforeTheAnswerIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.hold["answer"] = true
	r.accept(calls(1)...)
	wantVerdict(t, r.ends(1, weir.NoAnswer), weir.Applied)
	if c := r.store[1]; !c.SentAt.IsZero() || !c.HeardAt.Equal(r.now) {
		t.Errorf("it is %+v", c.Progress)
	}
}

// Scenario 29.
func TestReport_LearnsTheReferenceFromALaterAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.hold["answer"] = true
	r.accept(calls(1)...)
	r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact})
	delete(r.hold, "answer")
	r.settle()
	if c := r.store[1]; c.State != weir.Active || c.ProviderRef == "" {
		t.Fatalf("%v, provider's name %q", c.State, c.ProviderRef)
	}
}

// Scenarios 30 and 31.
func TestSend_LostAnswerIsResolved(t *testing.T) {
	t.Parallel()
	t.Run("by its callback", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1, takes(loses))
		r.accept(calls(1)...)
		wantState(t, r, 1, weir.Unknown)
		r.ends(1, weir.Busy)
		wantDone(t, r, 1, weir.Busy)
		wantCounts(t, r, 1, 0)
	})
	t.Run("by asking", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1, takes(loses))
		r.accept(calls(1)...)
		r.pass(r.cfg.SettleAfter - 1)
		wantState(t, r, 1, weir.Unknown)
		r.pass(1)
		wantState(t, r, 1, weir.Active)
		wantCounts(t, r, 1, 1)
	})
}

// Scenario 32.
func TestSend_RepeatsWhatTheProviderNeverGot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(drops))
	r.accept(calls(2)...)
	r.manner = func(channels.Attempt) manner { return accepts }
	r.pass(r.cfg.SettleAfter)
	wantSent(t, r, 1, 1) // at its old place
	wantState(t, r, 1, weir.Active)
}

// Scenario 33.
func TestReport_RepeatedPartFreesOneSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(text(3))
	part := weir.Report{Attempt: r.sent[0], Part: 1, Outcome: weir.Completed}
	r.prov.tickets[r.sent[0]].part[1] = weir.PartDelivered
	wantVerdict(t, r.report(part), weir.Applied)
	wantVerdict(t, r.report(part), weir.Duplicate)
	wantVerdict(t, r.report(part), weir.Duplicate)
	if f := r.core.Figures(); f.InFlight != 2 {
		t.Fatalf("%d slots are taken, want 2", f.InFlight)
	}
}

// Scenario 33.
func TestReport_RepeatWaitsUntilTheFirstIsDurable(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(text(2))
	r.hold["commit"] = true
	part := weir.Report{Attempt: r.sent[0], Part: 0, Outcome: weir.Failed}
	r.prov.tickets[r.sent[0]] = &ticket{ref: r.sent[0], over: true}
	_, second := r.callback(part), r.callback(part)
	r.settle()
	if _, answered := r.replies[second]; answered {
		t.Fatalf("the repeated report was answered before the first was written")
	}
	delete(r.hold, "commit")
	r.settle()
	wantVerdict(t, r.replies[second], weir.Duplicate)
}

// Scenario 34.
func TestReport_DeliveredAfterFailedEndsAsDelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(text(2))
	r.ends(1, weir.Failed)
	r.ends(1, weir.Failed)
	wantDone(t, r, 1, weir.Failed)
	// Both reports of a failover at once: each row is read before either is written.
	r.callback(weir.Report{Attempt: r.sent[0], Part: 0, Outcome: weir.Completed})
	r.callback(weir.Report{Attempt: r.sent[0], Part: 1, Outcome: weir.Completed})
	r.settle()
	wantDone(t, r, 1, weir.Completed)
	if n := len(r.finished); n != 1 {
		t.Fatalf("%d ends were counted", n)
	}
}

// Scenario 35.
func TestReport_EndBeforeTheBeginningEndsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(1)...)
	r.ends(1, weir.Completed)
	wantVerdict(t, r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact}), weir.Late)
	wantVerdict(t, r.report(whole(r.sent[0], weir.Completed)), weir.Duplicate)
	wantDone(t, r, 1, weir.Completed)
}

// Scenarios 36 and 37.
func TestReport_OfAnEarlierAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]weir.Report{
		"36 terminal": {Part: weir.WholeContact, Outcome: weir.NoAnswer},
		"37 ringing":  {Part: weir.WholeContact},
		"38 ack":      {Part: 0, Outcome: weir.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, takes(cannotNow))
			r.accept(calls(1)...)
			wantState(t, r, 1, weir.Delayed)
			report.Attempt = r.sent[0]
			wantVerdict(t, r.report(report), weir.Late)
			r.manner = func(channels.Attempt) manner { return accepts }
			r.pass(time.Minute)
			wantVerdict(t, r.report(report), weir.Late)
			wantState(t, r, 1, weir.Active)
			wantSent(t, r, 1, 1)
		})
	}
}

// Scenario 39.
func TestReport_OfNothingKnownChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	wantVerdict(t, r.report(whole(weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 99}, Number: 1}, weir.Completed)), weir.UnknownAttempt)
}

// Scenario 42.
func TestCapacity_CallHoldsItsSlotUntilItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(calls(2)...)
	r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact}) // progress, not the end
	wantCounts(t, r, 1, 1)
	r.ends(1, weir.Completed)
	wantSent(t, r, 1, 2)
}

// Scenario 46.
func TestBreaker_ChannelIsFullAgainWithinOneBackOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, takes(stumbles))
	r.askErr = func() bool { return true }
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 150)...)
	r.pass(5 * time.Minute)
	if n := len(r.sent); n > 40 {
		t.Fatalf("a provider that only failed was called %d times in 5 minutes", n)
	}
	r.askErr = func() bool { return false }
	r.manner = func(channels.Attempt) manner { return accepts }
	r.pass(time.Minute)
	if n := r.prov.inUse(); n != 100 {
		t.Fatalf("a minute after its recovery %d of 100 slots are in use", n)
	}
	for len(r.prov.busy()) > 0 {
		r.ends(r.prov.busy()[0].ref.ID, weir.Completed)
	}
	for id := weir.ContactID(1); id <= 150; id++ {
		wantDone(t, r, id, weir.Completed)
	}
}

// Scenario 47.
func TestSend_RefusedForAClosedWindowExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, takes(cannotNow))
	r.hold["answer"] = true
	r.accept(calls(1, func(s *weir.Spec) { s.NotAfter = start.Add(time.Second) })...)
	r.now = start.Add(time.Second)
	delete(r.hold, "answer")
	r.settle()
	wantDone(t, r, 1, weir.Expired)
}

// Scenario 65.
func TestSend_PoisonBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.manner = func(a channels.Attempt) manner {
		switch {
		case a.ID.ID <= 10:
			return cannotNow
		case a.ID.ID <= 20:
			return chokes
		}
		return accepts
	}
	r.accept(calls(22)...)
	r.pass(10 * time.Minute)
	for id := weir.ContactID(1); id <= 20; id++ {
		wantDone(t, r, id, weir.DeadLetter)
		if n := r.store[id].Attempt; n != 5 {
			t.Fatalf("contact %d was tried %d times, want 5", id, n)
		}
	}
	wantState(t, r, 21, weir.Active)
	wantState(t, r, 22, weir.Active)
}

// The last report on a contact of several messages may be a good one.
func TestReport_FailedPartGivesTheReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(text(2))
	r.ends(1, weir.Failed)
	r.ends(1, weir.Completed)
	wantDone(t, r, 1, weir.Failed)
	if r.store[1].Reason == "" {
		t.Error("it failed for no reason")
	}
}

// The store refuses a claim because another process changed the contact meanwhile. It is
// not dispatched, and its slot is used by the next contact.
func TestClaimsCommitted_StaleClaimIsNotDispatched(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.others = true })
	r.settle()
	r.hold["commit"] = true
	r.accept(calls(2)...)
	other := r.store[1]
	p, err := other.Finish(r.now, weir.Canceled, "canceled by another process")
	if err != nil {
		t.Fatal(err)
	}
	other.Progress = p
	r.store[1] = other
	delete(r.hold, "commit")
	r.settle()
	wantSent(t, r, 2)
	wantDone(t, r, 1, weir.Canceled)
	wantCounts(t, r, 1, 1)
}

// Whatever still arrives about an earlier attempt changes nothing of a later one.
func TestResults_OfAnEarlierAttemptChangeNothing(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(*contacts.Core, weir.AttemptRef, time.Time){
		"refused": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.SendDone(ref, channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "refused"}, now)
		},
		"not sent": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.SendDone(ref, channels.SendResult{Status: channels.NotSent, Reason: "busy"}, now)
		},
		"unclear": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.SendDone(ref, channels.SendResult{Status: channels.Unclear, Reason: "timeout"}, now)
		},
		"asked: finished": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.AskDone(ref, channels.Answer{Status: channels.Finished, Reports: []weir.Report{whole(ref, weir.Busy)}}, now)
		},
		"asked: absent": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.AskDone(ref, channels.Answer{Status: channels.Absent}, now)
		},
		"canceled": func(c *contacts.Core, ref weir.AttemptRef, now time.Time) {
			c.CancelDone(ref, channels.Cancellation{Canceled: true}, now)
		},
	} {
		for _, second := range []manner{accepts, loses} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, takes(drops))
				r.accept(calls(1)...)
				first := r.sent[0]
				r.manner = func(channels.Attempt) manner { return second }
				r.pass(r.cfg.SettleAfter)
				wantSent(t, r, 1, 1)
				before := r.store[1]
				r.tell(func(c *contacts.Core, now time.Time) { late(c, first, now) })
				r.settle()
				if after := r.store[1]; after.State != before.State || after.Attempt != before.Attempt || after.Rev != before.Rev {
					t.Errorf("attempt %d was %s, and is attempt %d, %s", before.Attempt, before.State, after.Attempt, after.State)
				}
				wantSent(t, r, 1, 1)
			})
		}
	}
}
