package contacts_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 29: a callback arrives before the answer to its own dispatch.
func TestCallbacks_CountBeforeTheSendAnswers(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		held := world.NewGate()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
				s := l.Take(a)
				held.Wait(l, ctx)
				return s
			}
		})
		w.Channel("ch", 2)
		ids := w.Accept("ch", world.SMS("speaks"), world.SMS("ends"), world.SMS("next"))
		w.Sent(2)
		w.Within(w.Quick(), "a callback while the provider has not answered", func() {
			for _, c := range [][2]string{{"speaks", ""}, {"ends", "completed"}} {
				if status := w.Report(c[0], "all", c[1]); status != 200 {
					w.Fatalf("the callback of %s was answered %d", c[0], status)
				}
			}
		})
		w.Sent(3) // into the one freed slot
		w.ExpectInFlight("ch", 2)
		if s := w.Contact(ids["speaks"])["state"]; s != "active" {
			w.Fatalf("the contact that rings is %v", s)
		}

		held.Open()
		w.Becomes(ids["next"], "active")
		w.Until("the reference is stored", func() bool {
			return w.Attempts(ids["speaks"])[0]["provider_ref"] == "ref-"+w.Lab.Attempt("speaks").ID
		})
		w.ExpectInFlight("ch", 2)
		if o := w.Done(ids["ends"]); o != "completed" {
			w.Fatalf("the contact ended as %s", o)
		}
		w.Finish("speaks", "next")
		w.InFlight("ch", 0)
		w.ExpectNoDuplicates()
	})
}

// Scenario 30: the answer to the dispatch is lost, but the callback arrives.
func TestCallbacks_AreMatchedAfterALostAnswer(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult { l.Take(a); return world.Lost() }
		})
		w.Channel("ch", 1)
		ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
		w.Becomes(ids["a"], "unknown")
		w.Sent(1) // it keeps its slot
		w.ExpectInFlight("ch", 1)
		w.Finish("a")
		if o := w.Done(ids["a"]); o != "completed" {
			w.Fatalf("the contact ended as %s", o)
		}
		w.Sent(2)
		w.Finish("b")
		w.InFlight("ch", 0)
		w.ExpectNoDuplicates()
		if n := len(w.Attempts(ids["a"])); n != 1 {
			w.Fatalf("the contact has %d attempts, want 1", n)
		}
	})
}

// Scenario 31: the dispatch times out although the provider accepted the contact.
func TestCallbacks_TimeoutThatTheProviderAcceptedIsNotRepeated(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
				l.Take(a)
				<-ctx.Done() // the answer never comes
				return world.Lost()
			}
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				if a.Channel == "calls" { // findable only by its provider id, which was in the lost answer
					return channels.Answer{Status: channels.CannotTell}
				}
				return channels.Answer{Status: channels.Underway, ProviderRef: "token-" + a.ID}
			}
		})
		w.Channel("texts", 1)
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		text := w.Accept("texts", world.SMS("a"))["a"]
		call := w.Accept("calls", world.Calls("c", 1)[0])["c-0001"]
		w.Becomes(text, "unknown")
		w.Becomes(call, "unknown")

		w.Pass(time.Minute + time.Second) // after SettleAfter Weir asks the provider
		if c := w.Contact(text); c["state"] != "active" || w.Attempts(text)[0]["provider_ref"] == "" {
			w.Fatalf("the message was not found again: %v", c)
		}
		w.Pass(30 * time.Minute)
		if c := w.Contact(call); c["state"] != "unknown" {
			w.Fatalf("the call was not kept: %v", c)
		}
		w.Finish("a", world.CallURL("c-0001"))
		if o := w.Done(text) + w.Done(call); o != "completedcompleted" {
			w.Fatalf("ended as %s", o)
		}
		w.ExpectNoDuplicates()
	})
}

// Scenario 32: the dispatch times out and the provider never got the contact.
func TestCallbacks_TimeoutThatTheProviderNeverGotIsResolved(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   channels.QueryStatus
		settings world.Fields
		resent   time.Duration // by then it has been dispatched again; 0: never
		freed    time.Duration // otherwise it is done and its slot is free by then
	}{
		"it can be asked":                    {channels.Absent, world.Fields{}, time.Minute + 16*time.Second, 0},
		"it cannot be asked":                 {channels.CannotTell, world.Fields{}, 0, time.Hour + 3*time.Minute},
		"it cannot be asked, at least once":  {channels.CannotTell, world.Fields{"at_least_once": true}, time.Minute + 16*time.Second, 0},
		"it can be asked only after a while": {channels.QueryFailed, world.Fields{}, 15 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				begun := time.Now()
				var again time.Duration
				w.Lab.Behave(func(l *world.Lab) {
					l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
						if a.Key == "a" && a.Ref.Number == 1 {
							<-ctx.Done()
							return world.Lost()
						}
						if a.Key == "a" {
							again = time.Since(begun)
						}
						return l.Take(a)
					}
					l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
						if tc.answer == channels.QueryFailed && time.Since(begun) > 10*time.Minute {
							return channels.Answer{Status: channels.Absent}
						}
						return channels.Answer{Status: tc.answer}
					}
				})
				w.Channel("ch", 1, world.Fields{"settings": tc.settings})
				ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
				w.Becomes(ids["a"], "unknown")
				if tc.resent > 0 {
					w.Until("it is sent again", func() bool { return w.Sends("a") == 2 })
					if again > tc.resent {
						w.Fatalf("sent again after %v, want at most %v", again, tc.resent)
					}
					w.Finish("a")
					if o := w.Done(ids["a"]); o != "completed" {
						w.Fatalf("ended as %s", o)
					}
				} else {
					if o := w.Done(ids["a"]); o != "lost" || time.Since(begun) > tc.freed {
						w.Fatalf("ended as %s after %v", o, time.Since(begun))
					}
				}
				w.Until("the slot is used again", func() bool { return w.Sends("b") == 1 })
				w.Finish("b")
				w.Done(ids["b"])
				w.InFlight("ch", 0)
			})
		})
	}
}

// Scenario 33: duplicate acks count once.
func TestCallbacks_DuplicateAcksCountOnce(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 3)
		ids := w.Accept("ch", world.SMS("a", world.Texts("a", 3)), world.SMS("b"), world.SMS("c"))
		w.Sent(1)
		for range 3 {
			if status := w.Report("a", "0", "completed"); status != 200 {
				w.Fatalf("the ack was answered %d", status)
			}
		}
		w.Sent(2) // one slot freed, one more contact dispatched
		w.ExpectInFlight("ch", 3)
		w.Report("a", "1", "completed")
		w.Report("a", "2", "completed")
		w.Done(ids["a"])
		w.Sent(3)
		w.Finish("b")
		w.Done(ids["b"])
		for range 2 {
			w.Finish("b")
			w.Report("a", "2", "completed")
		}
		w.WaitIdle()
		w.ExpectInFlight("ch", 1)
		if n := w.Callbacks("duplicate"); n != 6 {
			w.Fatalf("%d duplicates were counted, want 6", n)
		}
		if a, b := w.Done(ids["a"]), w.Done(ids["b"]); a != "completed" || b != "completed" {
			w.Fatalf("ended as %s and %s", a, b)
		}
	})
}

// Scenario 34: a message fails on one route and is delivered on the next.
func TestCallbacks_FailedThenDeliveredEndsDelivered(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 3)
		ids := w.Accept("ch", world.SMS("one"), world.SMS("two", world.Texts("two", 2)), world.SMS("x"), world.SMS("y"), world.SMS("z"))
		w.Sent(2)

		w.Report("one", "0", "failed")
		if o := w.Done(ids["one"]); o != "failed" {
			w.Fatalf("ended as %s", o)
		}
		w.Sent(3)
		w.Report("one", "0", "completed")
		w.Until("the report of the other route counts", func() bool { return w.Contact(ids["one"])["outcome"] == "completed" })
		w.Sent(3)
		w.ExpectInFlight("ch", 3)

		w.Report("two", "1", "failed")
		w.Sent(4)
		w.Report("two", "1", "completed")
		w.Sent(4)
		w.ExpectInFlight("ch", 3)
		w.Report("two", "0", "completed")
		if o := w.Done(ids["two"]); o != "completed" {
			w.Fatalf("ended as %s", o)
		}
		w.Sent(5)
		w.ExpectInFlight("ch", 3)
		w.Report("one", "0", "failed") // and a later failure does not revoke the delivery
		w.WaitIdle()
		if o := w.Done(ids["one"]); o != "completed" {
			w.Fatalf("ended as %s", o)
		}
	})
}

// Scenario 35: the end of a call is reported before its beginning.
func TestCallbacks_EndBeforeBeginningEndsOnce(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		ids := w.Accept("calls", world.Calls("c", 2)...)
		first := w.Speaks(world.CallURL("c-0001"))
		w.Finish(first.Key)
		w.Sent(2)
		before := w.Contact(ids["c-0001"])
		for range 2 {
			if status := w.ReportAttempt(first, "all", ""); status != 200 {
				w.Fatalf("the late callback was answered %d", status)
			}
		}
		w.Sent(2)
		w.ExpectInFlight("calls", 1)
		if now := w.Contact(ids["c-0001"]); fmt.Sprint(now) != fmt.Sprint(before) {
			w.Fatalf("the contact changed from\n%v to\n%v", before, now)
		}
		if n := w.Callbacks("late"); n != 2 {
			w.Fatalf("%d late callbacks were counted, want 2", n)
		}
		list := w.Want(200, "GET", "/v1/contacts?channel=calls", nil).Body["contacts"].([]any)
		if len(list) != 2 {
			w.Fatalf("there are %d contacts, want 2", len(list))
		}
	})
}

// Scenarios 36 to 38: the end (36), the ringing (37) and an ack (38) of attempt 1
// arrive late, when attempt 2 is queued.
func TestCallbacks_LateReportChangesNoLaterAttempt(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				if a.Ref.Number == 1 && a.Key == "a" {
					return channels.SendResult{Status: channels.Unclear, Reason: "cut off", ChannelFault: true, Answered: true}
				}
				return l.Take(a)
			}
			l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
		})
		w.Channel("ch", 1, world.Fields{"settings": world.Fields{"at_least_once": true}})
		id := w.Accept("ch", world.SMS("a"))["a"]
		first := w.Speaks("a")
		w.Patch("ch", world.Fields{"paused": true}) // so that attempt 2 stays queued
		w.Becomes(id, "queued")
		for _, late := range []struct{ part, outcome string }{
			{"all", "completed"}, {"all", "failed"}, {"all", ""}, {"0", "completed"}, {"0", "failed"},
			{"0&whichever=1", "completed"}, {"all&whichever=1", ""},
		} {
			if status := w.ReportAttempt(first, late.part, late.outcome); status != 200 {
				w.Fatalf("%v: answered %d", late, status)
			}
			if c := w.Contact(id); c["state"] != "queued" || c["outcome"] != nil {
				w.Fatalf("%v: the contact became %v", late, c)
			}
		}
		if n := w.Callbacks("late"); n != 7 {
			w.Fatalf("%d late callbacks were counted, want 7", n)
		}
		w.Sent(1)
		w.Patch("ch", world.Fields{"paused": false})
		w.Until("attempt 2 goes out", func() bool { return w.Sends("a") == 2 })
		w.ReportAttempt(first, "all", "failed") // late, about attempt 1
		w.WaitIdle()
		w.Becomes(id, "active")
		w.Finish("a")
		if o := w.Done(id); o != "completed" || len(w.Attempts(id)) != 2 {
			w.Fatalf("ended as %s after %d attempts", o, len(w.Attempts(id)))
		}
	})
}

// Scenario 36 where the survey retries with a new contact.
func TestCallbacks_LateReportChangesNoLaterContact(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		first := w.Accept("ch", world.SMS("r1-1"))["r1-1"]
		attempt := w.Speaks("r1-1")
		w.Report("r1-1", "all", "no_answer")
		w.Done(first)
		w.Accept("ch", world.SMS("holds"))
		w.Sent(2)
		retry := w.Accept("ch", world.SMS("r1-2"))["r1-2"]
		w.ReportAttempt(attempt, "all", "completed")
		w.ReportAttempt(attempt, "all", "")
		w.WaitIdle()
		if c := w.Contact(retry); c["state"] != "queued" {
			w.Fatalf("the retry is %v", c)
		}
		w.Finish("holds")
		w.Sent(3)
		w.Finish("r1-2")
		if o := w.Done(first) + " " + w.Done(retry); o != "no_answer completed" {
			w.Fatalf("ended as %s", o)
		}
	})
}
