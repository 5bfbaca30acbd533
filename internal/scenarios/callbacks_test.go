package scenarios_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/channels"
)

// Scenario 29: a callback arrives before the answer to its own dispatch.
func TestCallbacks_CountBeforeTheSendAnswers(t *testing.T) {
	onStores(t, func(w *world) {
		held := newGate()
		w.lab.behave(func(l *lab) {
			l.onSend = func(ctx context.Context, a labAttempt) channels.SendResult {
				s := l.take(a)
				held.wait(l, ctx)
				return s
			}
		})
		w.channel("ch", 2)
		ids := w.accept("ch", sms("speaks"), sms("ends"), sms("next"))
		w.sent(2)
		w.within(w.quick(), "a callback while the provider has not answered", func() {
			for _, c := range [][2]string{{"speaks", ""}, {"ends", "completed"}} {
				if status := w.report(c[0], "all", c[1]); status != 200 {
					w.Fatalf("the callback of %s was answered %d", c[0], status)
				}
			}
		})
		w.sent(3) // into the one freed slot
		w.expectInFlight("ch", 2)
		if s := w.contact(ids["speaks"])["state"]; s != "active" {
			w.Fatalf("the contact that rings is %v", s)
		}

		held.open()
		w.becomes(ids["next"], "active")
		w.until("the reference is stored", func() bool {
			return w.attempts(ids["speaks"])[0]["provider_ref"] == "ref-"+w.lab.attempt("speaks").id
		})
		w.expectInFlight("ch", 2)
		if o := w.done(ids["ends"]); o != "completed" {
			w.Fatalf("the contact ended as %s", o)
		}
		w.finish("speaks", "next")
		w.inFlight("ch", 0)
		w.expectNoDuplicates()
	})
}

// Scenario 30: the answer to the dispatch is lost, but the callback arrives.
func TestCallbacks_AreMatchedAfterALostAnswer(t *testing.T) {
	onStores(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult { l.take(a); return lost() }
		})
		w.channel("ch", 1)
		ids := w.accept("ch", sms("a"), sms("b"))
		w.becomes(ids["a"], "unknown")
		w.sent(1) // it keeps its slot
		w.expectInFlight("ch", 1)
		w.finish("a")
		if o := w.done(ids["a"]); o != "completed" {
			w.Fatalf("the contact ended as %s", o)
		}
		w.sent(2)
		w.finish("b")
		w.inFlight("ch", 0)
		w.expectNoDuplicates()
		if n := len(w.attempts(ids["a"])); n != 1 {
			w.Fatalf("the contact has %d attempts, want 1", n)
		}
	})
}

// Scenario 31: the dispatch times out although the provider accepted the contact.
func TestCallbacks_TimeoutThatTheProviderAcceptedIsNotRepeated(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(ctx context.Context, a labAttempt) channels.SendResult {
				l.take(a)
				<-ctx.Done() // the answer never comes
				return lost()
			}
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				if a.channel == "calls" { // findable only by its provider id, which was in the lost answer
					return channels.Answer{Status: channels.CannotTell}
				}
				return channels.Answer{Status: channels.Underway, ProviderRef: "token-" + a.id}
			}
		})
		w.channel("texts", 1)
		w.channel("calls", 1, fields{"type": "labcall"})
		text := w.accept("texts", sms("a"))["a"]
		call := w.accept("calls", calls("c", 1)[0])["c-0001"]
		w.becomes(text, "unknown")
		w.becomes(call, "unknown")

		w.pass(time.Minute + time.Second) // after SettleAfter Weir asks the provider
		if c := w.contact(text); c["state"] != "active" || w.attempts(text)[0]["provider_ref"] == "" {
			w.Fatalf("the message was not found again: %v", c)
		}
		w.pass(30 * time.Minute)
		if c := w.contact(call); c["state"] != "unknown" {
			w.Fatalf("the call was not kept: %v", c)
		}
		w.finish("a", callURL("c-0001"))
		if o := w.done(text) + w.done(call); o != "completedcompleted" {
			w.Fatalf("ended as %s", o)
		}
		w.expectNoDuplicates()
	})
}

// Scenario 32: the dispatch times out and the provider never got the contact.
func TestCallbacks_TimeoutThatTheProviderNeverGotIsResolved(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   channels.QueryStatus
		settings fields
		resent   time.Duration // by then it has been dispatched again; 0: never
		freed    time.Duration // otherwise it is done and its slot is free by then
	}{
		"it can be asked":                    {channels.Absent, fields{}, time.Minute + 16*time.Second, 0},
		"it cannot be asked":                 {channels.CannotTell, fields{}, 0, time.Hour + 3*time.Minute},
		"it cannot be asked, at least once":  {channels.CannotTell, fields{"at_least_once": true}, time.Minute + 16*time.Second, 0},
		"it can be asked only after a while": {channels.QueryFailed, fields{}, 15 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				begun := time.Now()
				var again time.Duration
				w.lab.behave(func(l *lab) {
					l.onSend = func(ctx context.Context, a labAttempt) channels.SendResult {
						if a.key == "a" && a.ref.Number == 1 {
							<-ctx.Done()
							return lost()
						}
						if a.key == "a" {
							again = time.Since(begun)
						}
						return l.take(a)
					}
					l.onAsk = func(context.Context, labAttempt) channels.Answer {
						if tc.answer == channels.QueryFailed && time.Since(begun) > 10*time.Minute {
							return channels.Answer{Status: channels.Absent}
						}
						return channels.Answer{Status: tc.answer}
					}
				})
				w.channel("ch", 1, fields{"settings": tc.settings})
				ids := w.accept("ch", sms("a"), sms("b"))
				w.becomes(ids["a"], "unknown")
				if tc.resent > 0 {
					w.until("it is sent again", func() bool { return w.sends("a") == 2 })
					if again > tc.resent {
						w.Fatalf("sent again after %v, want at most %v", again, tc.resent)
					}
					w.finish("a")
					if o := w.done(ids["a"]); o != "completed" {
						w.Fatalf("ended as %s", o)
					}
				} else {
					if o := w.done(ids["a"]); o != "lost" || time.Since(begun) > tc.freed {
						w.Fatalf("ended as %s after %v", o, time.Since(begun))
					}
				}
				w.until("the slot is used again", func() bool { return w.sends("b") == 1 })
				w.finish("b")
				w.done(ids["b"])
				w.inFlight("ch", 0)
			})
		})
	}
}

// Scenario 33: duplicate acks count once.
func TestCallbacks_DuplicateAcksCountOnce(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 3)
		ids := w.accept("ch", sms("a", texts("a", 3)), sms("b"), sms("c"))
		w.sent(1)
		for range 3 {
			if status := w.report("a", "0", "completed"); status != 200 {
				w.Fatalf("the ack was answered %d", status)
			}
		}
		w.sent(2) // one slot freed, one more contact dispatched
		w.expectInFlight("ch", 3)
		w.report("a", "1", "completed")
		w.report("a", "2", "completed")
		w.done(ids["a"])
		w.sent(3)
		w.finish("b")
		w.done(ids["b"])
		for range 2 {
			w.finish("b")
			w.report("a", "2", "completed")
		}
		w.waitIdle()
		w.expectInFlight("ch", 1)
		if n := w.callbacks("duplicate"); n != 6 {
			w.Fatalf("%d duplicates were counted, want 6", n)
		}
		if a, b := w.done(ids["a"]), w.done(ids["b"]); a != "completed" || b != "completed" {
			w.Fatalf("ended as %s and %s", a, b)
		}
	})
}

// Scenario 34: a message fails on one route and is delivered on the next.
func TestCallbacks_FailedThenDeliveredEndsDelivered(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 3)
		ids := w.accept("ch", sms("one"), sms("two", texts("two", 2)), sms("x"), sms("y"), sms("z"))
		w.sent(2)

		w.report("one", "0", "failed")
		if o := w.done(ids["one"]); o != "failed" {
			w.Fatalf("ended as %s", o)
		}
		w.sent(3)
		w.report("one", "0", "completed")
		w.until("the report of the other route counts", func() bool { return w.contact(ids["one"])["outcome"] == "completed" })
		w.sent(3)
		w.expectInFlight("ch", 3)

		w.report("two", "1", "failed")
		w.sent(4)
		w.report("two", "1", "completed")
		w.sent(4)
		w.expectInFlight("ch", 3)
		w.report("two", "0", "completed")
		if o := w.done(ids["two"]); o != "completed" {
			w.Fatalf("ended as %s", o)
		}
		w.sent(5)
		w.expectInFlight("ch", 3)
		w.report("one", "0", "failed") // and a later failure does not revoke the delivery
		w.waitIdle()
		if o := w.done(ids["one"]); o != "completed" {
			w.Fatalf("ended as %s", o)
		}
	})
}

// Scenario 35: the end of a call is reported before its beginning.
func TestCallbacks_EndBeforeBeginningEndsOnce(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		ids := w.accept("calls", calls("c", 2)...)
		first := w.speaks(callURL("c-0001"))
		w.finish(first.key)
		w.sent(2)
		before := w.contact(ids["c-0001"])
		for range 2 {
			if status := w.reportAttempt(first, "all", ""); status != 200 {
				w.Fatalf("the late callback was answered %d", status)
			}
		}
		w.sent(2)
		w.expectInFlight("calls", 1)
		if now := w.contact(ids["c-0001"]); fmt.Sprint(now) != fmt.Sprint(before) {
			w.Fatalf("the contact changed from\n%v to\n%v", before, now)
		}
		if n := w.callbacks("late"); n != 2 {
			w.Fatalf("%d late callbacks were counted, want 2", n)
		}
		list := w.want(200, "GET", "/v1/contacts?channel=calls", nil).Body["contacts"].([]any)
		if len(list) != 2 {
			w.Fatalf("there are %d contacts, want 2", len(list))
		}
	})
}

// Scenarios 36 to 38: the end (36), the ringing (37) and an ack (38) of attempt 1
// arrive late, when attempt 2 is queued.
func TestCallbacks_LateReportChangesNoLaterAttempt(t *testing.T) {
	onStores(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				if a.ref.Number == 1 && a.key == "a" {
					return channels.SendResult{Status: channels.Unclear, Reason: "cut off", ChannelFault: true, Answered: true}
				}
				return l.take(a)
			}
			l.onAsk = func(context.Context, labAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
		})
		w.channel("ch", 1, fields{"settings": fields{"at_least_once": true}})
		id := w.accept("ch", sms("a"))["a"]
		first := w.speaks("a")
		w.patch("ch", fields{"paused": true}) // so that attempt 2 stays queued
		w.becomes(id, "queued")
		for _, late := range []struct{ part, outcome string }{
			{"all", "completed"}, {"all", "failed"}, {"all", ""}, {"0", "completed"}, {"0", "failed"},
			{"0&whichever=1", "completed"}, {"all&whichever=1", ""},
		} {
			if status := w.reportAttempt(first, late.part, late.outcome); status != 200 {
				w.Fatalf("%v: answered %d", late, status)
			}
			if c := w.contact(id); c["state"] != "queued" || c["outcome"] != nil {
				w.Fatalf("%v: the contact became %v", late, c)
			}
		}
		if n := w.callbacks("late"); n != 7 {
			w.Fatalf("%d late callbacks were counted, want 7", n)
		}
		w.sent(1)
		w.patch("ch", fields{"paused": false})
		w.until("attempt 2 goes out", func() bool { return w.sends("a") == 2 })
		w.reportAttempt(first, "all", "failed") // late, about attempt 1
		w.waitIdle()
		w.becomes(id, "active")
		w.finish("a")
		if o := w.done(id); o != "completed" || len(w.attempts(id)) != 2 {
			w.Fatalf("ended as %s after %d attempts", o, len(w.attempts(id)))
		}
	})
}

// Scenario 36 where the survey retries with a new contact.
func TestCallbacks_LateReportChangesNoLaterContact(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		first := w.accept("ch", sms("r1-1"))["r1-1"]
		attempt := w.speaks("r1-1")
		w.report("r1-1", "all", "no_answer")
		w.done(first)
		w.accept("ch", sms("holds"))
		w.sent(2)
		retry := w.accept("ch", sms("r1-2"))["r1-2"]
		w.reportAttempt(attempt, "all", "completed")
		w.reportAttempt(attempt, "all", "")
		w.waitIdle()
		if c := w.contact(retry); c["state"] != "queued" {
			w.Fatalf("the retry is %v", c)
		}
		w.finish("holds")
		w.sent(3)
		w.finish("r1-2")
		if o := w.done(first) + " " + w.done(retry); o != "no_answer completed" {
			w.Fatalf("ended as %s", o)
		}
	})
}
