package contacts_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 51: a contact without reports for too long is asked about once per
// reconciler run.
func TestReconcile_OnlyTheSilentAreAskedAbout(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				if a.Key == "over" {
					l.End(a, "all", "busy")
					return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.Ref, Part: weir.WholeContact, Outcome: weir.Busy}}}
				}
				return channels.Answer{Status: channels.Underway}
			}
		})
		w.Channel("ch", 3)
		ids := w.Accept("ch", world.SMS("over"), world.SMS("goes on"), world.SMS("speaks"), world.SMS("next"))
		w.Sent(3)
		heard := time.Now()
		for len(w.Lab.AskedKeys()) == 0 {
			w.Report("speaks", "all", "") // never silent for as long as IdleAfter
			w.Pass(30 * time.Second)
			if time.Since(heard) > 10*time.Minute {
				t.Fatal("the provider was never asked")
			}
		}
		if got := slices.Sorted(slices.Values(w.Lab.AskedKeys())); fmt.Sprint(got) != "[goes on over]" {
			t.Fatalf("asked about %v", got)
		}
		if silent := time.Since(heard); silent < w.Core.IdleAfter {
			t.Fatalf("asked after only %v", silent)
		}
		if o := w.Done(ids["over"]); o != "busy" {
			t.Fatalf("ended as %s", o)
		}
		w.Sent(4) // in the same run
		w.ExpectInFlight("ch", 3)
		for range 8 { // the next two runs
			w.Report("speaks", "all", "")
			w.Report("next", "all", "")
			w.Pass(30 * time.Second)
		}
		if got := w.Lab.AskedKeys(); len(got) != 4 || slices.Contains(got, "speaks") || slices.Contains(got, "next") {
			t.Fatalf("asked about %v", got)
		}
		w.ExpectInFlight("ch", 3)
		if n := w.Metric("weir_reconciler_contacts_total", "channel", "ch"); n != 1 {
			t.Fatalf("%v contacts were counted as reconciled, want 1", n)
		}
	})
}

// Scenario 53: a thousand questions of 100 ms each delay no other work.
func TestReconcile_DelaysNoContact(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		var mu sync.Mutex
		now, most := 0, 0
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				mu.Lock()
				now--
				mu.Unlock()
				return channels.Answer{Status: channels.Underway}
			}
		})
		w.Channel("ch", 1001)
		w.Accept("ch", world.Many("idle", 1000)...)
		w.Until("all are out", func() bool { return w.Figure("ch", "active") == 1000 })
		w.Until("the collection has begun", func() bool { return len(w.Lab.AskedKeys()) > 0 })
		during := 0
		for len(w.Lab.AskedKeys()) < 1000 {
			key := fmt.Sprintf("new-%d", during)
			w.Within(w.Quick(), "a contact from its acceptance to its end", func() {
				id := w.Accept("ch", world.SMS(key))[key]
				w.Speaks(key)
				w.Finish(key)
				w.Done(id)
			})
			during++
			w.Pass(5 * time.Second)
		}
		if during < 4 || most != w.Core.AskConcurrency {
			t.Fatalf("%d contacts meanwhile; %d questions at once, want %d", during, most, w.Core.AskConcurrency)
		}
	})
}

// Scenario 54: a contact in flight whose provider id is unknown does not hold its
// slot forever.
func TestReconcile_ActiveWithoutAReferenceIsNotKeptForever(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Core.LostAfter = 20 * time.Minute
		w.Restart()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				l.Take(a)
				if a.Key == "nameless" {
					return channels.SendResult{Status: channels.Accepted}
				}
				return world.Lost()
			}
			l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
		})
		w.Channel("ch", 3)
		begun := time.Now()
		ids := w.Accept("ch", world.SMS("nameless"), world.SMS("rings"), world.SMS("lost"))
		w.Sent(3)
		w.Report("rings", "all", "") // its provider id is unknown, too
		for key, id := range ids {
			if o := w.Done(id); o != "lost" {
				t.Fatalf("%s ended as %s", key, o)
			}
			if took := time.Since(begun); took > w.Core.LostAfter+w.Core.ReconcileEvery+20*time.Second {
				t.Fatalf("%s was kept for %v", key, took)
			}
		}
		w.InFlight("ch", 0)
		w.ExpectNoDuplicates()
	})
}

// Scenario 55: every question to the provider fails for hours.
func TestReconcile_GivesNoContactUpWhileQueriesFail(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Core.AskConcurrency = 1 // so that the order of the questions is observable
		w.Restart()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
				return channels.Answer{Status: channels.QueryFailed, Reason: "provider error"}
			}
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				s := l.Take(a)
				if a.Key == "unknown" {
					return world.Lost()
				}
				return s
			}
			l.OnStatus = func() channels.Status { return channels.Status{Health: weir.Erring, Reason: "provider error"} }
		})
		w.Channel("ch", 20)
		ids := map[string]string{}
		for i := range 10 { // each silent a little longer than the next
			key := fmt.Sprintf("a-%02d", i)
			ids[key] = w.Accept("ch", world.SMS(key))[key]
			w.Speaks(key)
			w.Pass(time.Second)
		}
		ids["unknown"] = w.Accept("ch", world.SMS("unknown"))["unknown"]
		w.Pass(3 * time.Hour)
		for key, id := range ids {
			if c := w.Contact(id); c["state"] == "done" {
				t.Fatalf("%s was given up: %v", key, c)
			}
		}
		if n := w.Figure("ch", "in_flight"); n != 11 {
			t.Fatalf("%d slots in flight, want 11", n)
		}
		asked := w.Lab.AskedKeys()
		if most := 11 * 3 * 60; len(asked) > most {
			t.Fatalf("%d questions in three hours, want at most one a minute for each, %d", len(asked), most)
		}
		known := slices.DeleteFunc(slices.Clone(asked), func(k string) bool { return k == "unknown" })
		if run := known[len(known)-10:]; !slices.IsSorted(run) {
			t.Fatalf("asked in the order %v, want the longest silent first", run)
		}
		if s := w.State("ch"); s != "error" {
			t.Fatalf("the channel is %s", s)
		}
		if n := w.Metric("weir_provider_requests_total", "operation", "ask", "result", "failed"); int(n) != len(asked) {
			t.Fatalf("%v failed questions were counted, want %d", n, len(asked))
		}
		if n := w.Metric("weir_reconciler_contacts_total", "verdict", "failed"); int(n) != len(asked) {
			t.Fatalf("an alert sees %v failed questions, want %d", n, len(asked))
		}
		w.Lab.Behave(func(l *world.Lab) { l.OnAsk = nil })
		w.Pass(5 * time.Minute)
		if c := w.Contact(ids["unknown"]); c["state"] != "active" {
			t.Fatalf("when the provider can be asked again it is %v", c)
		}
	})
}

// Scenario 56: the provider has forgotten everything.
func TestReconcile_FullDesyncHeals(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 100)
		w.Accept("ch", world.Many("c", 200)...)
		w.Until("a hundred are active", func() bool { return w.Figure("ch", "active") == 100 })
		w.Lab.Behave(func(l *world.Lab) {
			l.Open, l.InFlight = map[string]world.LabFlight{}, map[string]int{}
		})
		w.Pass(w.Core.IdleAfter + w.Core.ReconcileEvery)
		w.Pass(10 * time.Millisecond) // the next hundred are stored as accepted a moment later
		if got := fmt.Sprint(w.Outcomes("ch")); got != "map[active:100 lost:100]" {
			t.Fatalf("within the idle limit and one interval: %s", got)
		}
		w.ExpectInFlight("ch", 100)
		w.ExpectNoDuplicates()
	})
}

// Scenario 57: a question about one contact of a person frees no slot of another
// contact, such as a reply in flight.
func TestReconcile_RepliesKeepTheirUnits(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				if a.Key != "first" {
					return channels.Answer{Status: channels.Underway}
				}
				l.End(a, "all", "completed")
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.Ref, Part: 0, Outcome: weir.Completed}}}
			}
		})
		w.Channel("ch", 4)
		first := w.Accept("ch", world.SMS("first"))["first"]
		reply := w.Accept("ch", world.SMS("reply", world.Texts("reply", 3), world.Fields{"priority": "reply"}))["reply"]
		w.Sent(2)
		w.Accept("ch", world.SMS("waits", world.Texts("waits", 2)))
		w.Pass(w.Core.IdleAfter + w.Core.ReconcileEvery)
		w.Done(first)
		w.ExpectInFlight("ch", 3)
		w.Report("reply", "1", "completed")
		w.Sent(3)
		w.ExpectInFlight("ch", 4)
		if s := w.Contact(reply)["state"]; s != "active" {
			t.Fatalf("the reply is %v", s)
		}
	})
}
