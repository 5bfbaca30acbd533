package scenarios_test

import "testing"

// Scenario 39: callbacks about unknown contacts, channels and attempts.
func TestCallbacks_AboutNothingAreCountedAndChangeNothing(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		w.channel("other", 1)
		ids := w.accept("ch", sms("a"), sms("b"))
		a := w.speaks("a")
		w.accept("other", sms("o"))
		o := w.speaks("o")
		for _, attempt := range []labAttempt{
			{id: a.ref.Ref.String() + "-7", callback: a.callback},                                                 // not begun yet
			{id: "zz-1-1", callback: a.callback},                                                                  // no such channel
			{id: a.id[:2] + "zzzz-1", callback: a.callback},                                                       // no such contact
			{id: ids["b"] + "-1", callback: a.callback},                                                           // never sent
			{id: a.id, callback: o.callback}, {id: "respondent-77", callback: a.callback}, {callback: a.callback}, // another channel's; not Weir's; empty
		} {
			for _, outcome := range []string{"completed", ""} {
				if status := w.reportAttempt(attempt, "all", outcome); status != 200 {
					w.Fatalf("%q was answered %d", attempt.id, status)
				}
			}
		}
		w.sent(2)
		if n := w.callbacks("unknown") + w.callbacks("ignored"); n != 14 {
			w.Fatalf("%d callbacks about nothing were counted, want 14", n)
		}
		w.becomes(ids["a"], "active")
		if s := w.contact(ids["b"])["state"]; s != "queued" {
			w.Fatalf("the contact that waits is %v", s)
		}
	})
}

// Scenario 40: a callback for a deleted channel.
func TestCallbacks_OfADeletedChannelChangeNothing(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		id := w.accept("ch", sms("a"))["a"]
		a := w.speaks("a")
		w.finish("a")
		w.done(id)
		w.until("the channel can be deleted", func() bool {
			s := w.call("DELETE", "/v1/channels/ch", nil).Status
			return s == 200 || s == 204
		})
		for _, outcome := range []string{"completed", "failed", ""} {
			if status := w.reportAttempt(a, "all", outcome); status != 200 {
				w.Fatalf("answered %d", status)
			}
		}
		w.waitIdle()
		if n := w.callbacks("deleted"); n != 3 {
			w.Fatalf("%d were counted, want 3", n)
		}
		if c := w.contact(id); c["outcome"] != "completed" {
			w.Fatalf("the finished contact became %v", c)
		}
		w.channel("ch", 1) // the name is free again, and the old callback does not concern the new channel
		next := w.accept("ch", sms("b"))["b"]
		w.speaks("b")
		w.reportAttempt(a, "all", "completed")
		w.waitIdle()
		w.becomes(next, "active")
		if n := w.metric("weir_actor_panics_total"); n != 0 {
			w.Fatalf("%v panics", n)
		}
	})
}

// Scenario 42: progress reports of a call free no slot; its end does.
func TestCallbacks_ProgressDoesNotFreeTheSlot(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		ids := w.accept("calls", calls("c", 2)...)
		w.sent(1)
		for range 5 { // ringing, in-progress, the last question, the goodbye
			w.report(callURL("c-0001"), "all", "")
		}
		w.sent(1)
		w.expectInFlight("calls", 1)
		w.finish(callURL("c-0001"))
		w.sent(2)
		w.finish(callURL("c-0002"))
		w.done(ids["c-0002"])
		w.inFlight("calls", 0)
	})
}
