package contacts_test

import (
	"testing"

	"weir/test/scenarios/world"
)

// Scenario 39: callbacks about unknown contacts, channels and attempts.
func TestCallbacks_AboutNothingAreCountedAndChangeNothing(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		w.Channel("other", 1)
		ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
		a := w.Speaks("a")
		w.Accept("other", world.SMS("o"))
		o := w.Speaks("o")
		for _, attempt := range []world.LabAttempt{
			{ID: a.Ref.Ref.String() + "-7", Callback: a.Callback},                                                 // not begun yet
			{ID: "zz-1-1", Callback: a.Callback},                                                                  // no such channel
			{ID: a.ID[:2] + "zzzz-1", Callback: a.Callback},                                                       // no such contact
			{ID: ids["b"] + "-1", Callback: a.Callback},                                                           // never sent
			{ID: a.ID, Callback: o.Callback}, {ID: "respondent-77", Callback: a.Callback}, {Callback: a.Callback}, // another channel's; not Weir's; empty
		} {
			for _, outcome := range []string{"completed", ""} {
				want := 200
				if attempt.ID == "" { // the path lacks a part
					want = 404
				}
				if status := w.ReportAttempt(attempt, "all", outcome); status != want {
					w.Fatalf("%q was answered %d, want %d", attempt.ID, status, want)
				}
			}
		}
		w.Sent(2)
		if n := w.Callbacks("unknown") + w.Callbacks("ignored") + w.Callbacks("unknown_path"); n != 14 {
			w.Fatalf("%d callbacks about nothing were counted, want 14", n)
		}
		w.Becomes(ids["a"], "active")
		if s := w.Contact(ids["b"])["state"]; s != "queued" {
			w.Fatalf("the contact that waits is %v", s)
		}
	})
}

// Scenario 40: a callback for a deleted channel.
func TestCallbacks_OfADeletedChannelChangeNothing(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		id := w.Accept("ch", world.SMS("a"))["a"]
		a := w.Speaks("a")
		w.Finish("a")
		w.Done(id)
		w.Until("the channel can be deleted", func() bool {
			s := w.Call("DELETE", "/v1/channels/ch", nil).Status
			return s == 200 || s == 204
		})
		for _, outcome := range []string{"completed", "failed", ""} {
			if status := w.ReportAttempt(a, "all", outcome); status != 200 {
				w.Fatalf("answered %d", status)
			}
		}
		w.WaitIdle()
		if n := w.Callbacks("deleted"); n != 3 {
			w.Fatalf("%d were counted, want 3", n)
		}
		if c := w.Contact(id); c["outcome"] != "completed" {
			w.Fatalf("the finished contact became %v", c)
		}
		w.Channel("ch", 1) // the name is free again, and the old callback does not concern the new channel
		next := w.Accept("ch", world.SMS("b"))["b"]
		w.Speaks("b")
		w.ReportAttempt(a, "all", "completed")
		w.WaitIdle()
		w.Becomes(next, "active")
		if n := w.Metric("weir_actor_panics_total"); n != 0 {
			w.Fatalf("%v panics", n)
		}
	})
}

// Scenario 42: progress reports of a call free no slot; its end does.
func TestCallbacks_ProgressDoesNotFreeTheSlot(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		ids := w.Accept("calls", world.Calls("c", 2)...)
		w.Sent(1)
		for range 5 { // ringing, in-progress, the last question, the goodbye
			w.Report(world.CallURL("c-0001"), "all", "")
		}
		w.Sent(1)
		w.ExpectInFlight("calls", 1)
		w.Finish(world.CallURL("c-0001"))
		w.Sent(2)
		w.Finish(world.CallURL("c-0002"))
		w.Done(ids["c-0002"])
		w.InFlight("calls", 0)
	})
}
