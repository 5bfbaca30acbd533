package scenarios_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// Scenario 51: a contact without reports for too long is asked about once per
// reconciler run.
func TestReconcile_OnlyTheSilentAreAskedAbout(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				if a.key == "over" {
					l.end(a, "all", "busy")
					return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ref, Part: weir.WholeContact, Outcome: weir.Busy}}}
				}
				return channels.Answer{Status: channels.Underway}
			}
		})
		w.channel("ch", 3)
		ids := w.accept("ch", sms("over"), sms("goes on"), sms("speaks"), sms("next"))
		w.sent(3)
		heard := time.Now()
		for len(w.lab.askedKeys()) == 0 {
			w.report("speaks", "all", "") // never silent for as long as IdleAfter
			w.pass(30 * time.Second)
			if time.Since(heard) > 10*time.Minute {
				t.Fatal("the provider was never asked")
			}
		}
		if got := slices.Sorted(slices.Values(w.lab.askedKeys())); fmt.Sprint(got) != "[goes on over]" {
			t.Fatalf("asked about %v", got)
		}
		if silent := time.Since(heard); silent < w.core.IdleAfter {
			t.Fatalf("asked after only %v", silent)
		}
		if o := w.done(ids["over"]); o != "busy" {
			t.Fatalf("ended as %s", o)
		}
		w.sent(4) // in the same run
		w.expectInFlight("ch", 3)
		for range 8 { // the next two runs
			w.report("speaks", "all", "")
			w.report("next", "all", "")
			w.pass(30 * time.Second)
		}
		if got := w.lab.askedKeys(); len(got) != 4 || slices.Contains(got, "speaks") || slices.Contains(got, "next") {
			t.Fatalf("asked about %v", got)
		}
		w.expectInFlight("ch", 3)
		if n := w.metric("weir_reconciler_contacts_total", "channel", "ch"); n != 1 {
			t.Fatalf("%v contacts were counted as reconciled, want 1", n)
		}
	})
}

// Scenario 53: a thousand questions of 100 ms each delay no other work.
func TestReconcile_DelaysNoContact(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		var mu sync.Mutex
		now, most := 0, 0
		w.lab.behave(func(l *lab) {
			l.onAsk = func(context.Context, labAttempt) channels.Answer {
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
		w.channel("ch", 1001)
		w.accept("ch", many("idle", 1000)...)
		w.until("all are out", func() bool { return w.figure("ch", "active") == 1000 })
		w.until("the collection has begun", func() bool { return len(w.lab.askedKeys()) > 0 })
		during := 0
		for len(w.lab.askedKeys()) < 1000 {
			key := fmt.Sprintf("new-%d", during)
			w.within(w.quick(), "a contact from its acceptance to its end", func() {
				id := w.accept("ch", sms(key))[key]
				w.speaks(key)
				w.finish(key)
				w.done(id)
			})
			during++
			w.pass(5 * time.Second)
		}
		if during < 4 || most != w.core.AskConcurrency {
			t.Fatalf("%d contacts meanwhile; %d questions at once, want %d", during, most, w.core.AskConcurrency)
		}
	})
}

// Scenario 54: a contact in flight whose provider id is unknown does not hold its
// slot forever.
func TestReconcile_ActiveWithoutAReferenceIsNotKeptForever(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.core.LostAfter = 20 * time.Minute
		w.restart()
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				l.take(a)
				if a.key == "nameless" {
					return channels.SendResult{Status: channels.Accepted}
				}
				return lost()
			}
			l.onAsk = func(context.Context, labAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
		})
		w.channel("ch", 3)
		begun := time.Now()
		ids := w.accept("ch", sms("nameless"), sms("rings"), sms("lost"))
		w.sent(3)
		w.report("rings", "all", "") // its provider id is unknown, too
		for key, id := range ids {
			if o := w.done(id); o != "lost" {
				t.Fatalf("%s ended as %s", key, o)
			}
			if took := time.Since(begun); took > w.core.LostAfter+w.core.ReconcileEvery+20*time.Second {
				t.Fatalf("%s was kept for %v", key, took)
			}
		}
		w.inFlight("ch", 0)
		w.expectNoDuplicates()
	})
}

// Scenario 55: every question to the provider fails for hours.
func TestReconcile_GivesNoContactUpWhileQueriesFail(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.core.AskConcurrency = 1 // so that the order of the questions is observable
		w.restart()
		w.lab.behave(func(l *lab) {
			l.onAsk = func(context.Context, labAttempt) channels.Answer {
				return channels.Answer{Status: channels.QueryFailed, Reason: "provider error"}
			}
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				s := l.take(a)
				if a.key == "unknown" {
					return lost()
				}
				return s
			}
			l.onStatus = func() channels.Status { return channels.Status{Health: weir.Erring, Reason: "provider error"} }
		})
		w.channel("ch", 20)
		ids := map[string]string{}
		for i := range 10 { // each silent a little longer than the next
			key := fmt.Sprintf("a-%02d", i)
			ids[key] = w.accept("ch", sms(key))[key]
			w.speaks(key)
			w.pass(time.Second)
		}
		ids["unknown"] = w.accept("ch", sms("unknown"))["unknown"]
		w.pass(3 * time.Hour)
		for key, id := range ids {
			if c := w.contact(id); c["state"] == "done" {
				t.Fatalf("%s was given up: %v", key, c)
			}
		}
		if n := w.figure("ch", "in_flight"); n != 11 {
			t.Fatalf("%d slots in flight, want 11", n)
		}
		asked := w.lab.askedKeys()
		if most := 11 * 3 * 60; len(asked) > most {
			t.Fatalf("%d questions in three hours, want at most one a minute for each, %d", len(asked), most)
		}
		known := slices.DeleteFunc(slices.Clone(asked), func(k string) bool { return k == "unknown" })
		if run := known[len(known)-10:]; !slices.IsSorted(run) {
			t.Fatalf("asked in the order %v, want the longest silent first", run)
		}
		if s := w.state("ch"); s != "error" {
			t.Fatalf("the channel is %s", s)
		}
		if n := w.metric("weir_provider_requests_total", "operation", "ask", "result", "failed"); int(n) != len(asked) {
			t.Fatalf("%v failed questions were counted, want %d", n, len(asked))
		}
		if n := w.metric("weir_reconciler_contacts_total", "verdict", "failed"); int(n) != len(asked) {
			t.Fatalf("an alert sees %v failed questions, want %d", n, len(asked))
		}
		w.lab.behave(func(l *lab) { l.onAsk = nil })
		w.pass(5 * time.Minute)
		if c := w.contact(ids["unknown"]); c["state"] != "active" {
			t.Fatalf("when the provider can be asked again it is %v", c)
		}
	})
}

// Scenario 56: the provider has forgotten everything.
func TestReconcile_FullDesyncHeals(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 100)
		w.accept("ch", many("c", 200)...)
		w.until("a hundred are active", func() bool { return w.figure("ch", "active") == 100 })
		w.lab.behave(func(l *lab) {
			l.open, l.inFlight = map[string]labFlight{}, map[string]int{}
		})
		w.pass(w.core.IdleAfter + w.core.ReconcileEvery)
		w.pass(10 * time.Millisecond) // the next hundred are stored as accepted a moment later
		if got := fmt.Sprint(w.outcomes("ch")); got != "map[active:100 lost:100]" {
			t.Fatalf("within the idle limit and one interval: %s", got)
		}
		w.expectInFlight("ch", 100)
		w.expectNoDuplicates()
	})
}

// Scenario 57: a question about one contact of a person frees no slot of another
// contact, such as a reply in flight.
func TestReconcile_RepliesKeepTheirUnits(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				if a.key != "first" {
					return channels.Answer{Status: channels.Underway}
				}
				l.end(a, "all", "completed")
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ref, Part: 0, Outcome: weir.Completed}}}
			}
		})
		w.channel("ch", 4)
		first := w.accept("ch", sms("first"))["first"]
		reply := w.accept("ch", sms("reply", texts("reply", 3), fields{"priority": "reply"}))["reply"]
		w.sent(2)
		w.accept("ch", sms("waits", texts("waits", 2)))
		w.pass(w.core.IdleAfter + w.core.ReconcileEvery)
		w.done(first)
		w.expectInFlight("ch", 3)
		w.report("reply", "1", "completed")
		w.sent(3)
		w.expectInFlight("ch", 4)
		if s := w.contact(reply)["state"]; s != "active" {
			t.Fatalf("the reply is %v", s)
		}
	})
}
