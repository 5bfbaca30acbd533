package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// call returns a contact with a call; the lab identifies it by its callback URL.
func call(key string, more ...fields) fields {
	c := sms(key, more...)
	delete(c, "messages")
	c["call"] = fields{"callback_url": callURL(key)}
	return c
}

func notBefore(at time.Time) fields { return fields{"not_before": at.UTC().Format(time.RFC3339Nano)} }
func notAfter(at time.Time) fields  { return fields{"not_after": at.UTC().Format(time.RFC3339Nano)} }

// soon returns an instant in the near future: after d in virtual time, after a moment
// in real time.
func (w *world) soon(d time.Duration) time.Time {
	if !w.virtual {
		d = 3 * time.Second
	}
	return time.Now().Add(d).Truncate(time.Millisecond)
}

// wait lets time pass until an instant.
func (w *world) wait(until time.Time) {
	if w.virtual {
		w.pass(time.Until(until))
		return
	}
	w.until("the instant has come", func() bool { return !time.Now().Before(until) })
}

// Scenario 20: a contact whose window opens later waits without delaying contacts
// without a window; when the window opens it is dispatched at once.
func TestWindows_OthersOvertakeUntilTheWindowOpens(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 2, fields{"type": "labcall"})
		opens := w.soon(90 * time.Second)
		ids := w.accept("ch", call("later", notBefore(opens)), call("x"), call("y"), call("z"))
		w.sent(2)
		w.finish(callURL("x"), callURL("y"))
		w.sent(3)
		if got := strings.Join(w.sentSet(), " "); got != strings.Join([]string{callURL("x"), callURL("y"), callURL("z")}, " ") {
			t.Fatalf("sent %s", got)
		}
		if state := w.contact(ids["later"])["state"]; state != "queued" {
			t.Fatalf("before its window the contact is %v", state)
		}
		w.sent(3)
		w.until("the window is open and the contact sent", func() bool { return len(w.lab.sentKeys()) == 4 })
		if late := w.claimed(ids["later"]).Sub(opens); late < 0 || late > 10*time.Millisecond {
			t.Fatalf("it was claimed %s after its window opened", late)
		}
		w.expectInFlight("ch", 2)
	})
}

// Scenario 20 again: several windows open one after the other, and each contact is
// dispatched in its own time, whatever the order of acceptance.
func TestWindows_EachContactGoesInItsOwnTime(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 5, fields{"type": "labcall"})
		begun := time.Now()
		w.accept("ch", call("c", notBefore(begun.Add(90*time.Second))), call("a", notBefore(begun.Add(50*time.Second))), call("b", notBefore(begun.Add(70*time.Second))))
		for i, want := range []string{"a", "b", "c"} {
			opens := begun.Add(time.Duration(50+20*i) * time.Second)
			w.wait(opens.Add(-time.Millisecond))
			w.sent(i)
			w.wait(opens.Add(time.Millisecond))
			w.sent(i + 1)
			if got := w.lab.sentKeys()[i]; got != callURL(want) {
				t.Fatalf("%s went instead of %s", got, want)
			}
		}
	})
}

// Scenario 21: a message is never dispatched before its window, not by a second, not
// after a restart, not when a slot becomes free.
func TestWindows_NeverBeforeTheWindow(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		w.accept("ch", sms("other"))
		w.nth(0)
		opens := w.soon(50 * time.Second)
		ids := w.accept("ch", sms("m", notBefore(opens)))
		w.restart()
		w.finish("other")
		if w.virtual {
			w.wait(opens.Add(-time.Millisecond))
			w.sent(1)
			w.restart()
			w.sent(1)
		}
		w.until("the message is sent", func() bool { return len(w.lab.sentKeys()) == 2 })
		if at := w.claimed(ids["m"]); at.Before(opens) {
			t.Fatalf("it was sent %s before its window opened", opens.Sub(at))
		}
	})
}

// Scenario 22: a contact that was not dispatched before its window closed is not sent,
// ends as expired exactly once, and delays no other contact.
func TestWindows_ExpiredIsReportedOnceAndNotSent(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		w.accept("ch", sms("out"))
		w.sent(1)
		closes := w.soon(10 * time.Minute)
		ids := w.accept("ch", sms("e-1", notAfter(closes)), sms("e-2", notAfter(closes), priority("high")), sms("next"))
		if w.virtual {
			w.wait(closes.Add(-time.Millisecond))
			if state := w.contact(ids["e-1"])["state"]; state != "queued" {
				t.Fatalf("before its window closes the contact is %v", state)
			}
		}
		for _, key := range []string{"e-1", "e-2"} {
			if outcome := w.done(ids[key]); outcome != "expired" {
				t.Fatalf("%s ended as %s", key, outcome)
			}
			if n := len(w.contact(ids[key])["attempts"].([]any)); n != 0 {
				t.Fatalf("%s has %d attempts", key, n)
			}
			if late := w.finished(ids[key]).Sub(closes); late < 0 || w.virtual && late > 10*time.Millisecond {
				t.Fatalf("%s expired %s after its window closed", key, late)
			}
		}
		w.finish("out")
		w.sent(2)
		if got := w.lab.sentKeys()[1]; got != "next" {
			t.Fatalf("%s was sent", got)
		}
		if n := w.metric("weir_contacts_finished_total", "outcome", "expired"); n != 2 {
			t.Fatalf("%v contacts were counted as expired, want 2", n)
		}
		w.restart()
		w.finish("next")
		if n := w.figure("ch", "queued"); n != 0 {
			t.Fatalf("%d contacts are queued, want none", n)
		}
		w.sent(2)
	})
}

// Scenario 22, the same event: a slot becomes free after windows have closed but
// before the broker, busy in between, has noticed. The first contact whose window is
// open takes the slot at once.
func TestWindows_SlotOfAnExpiredGoesToTheNext(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		stall := w.fuseThat(func() { time.Sleep(2 * time.Millisecond) })
		w.channel("ch", 1)
		closes := w.soon(10 * time.Minute)
		out := w.accept("ch", sms("out"))["out"]
		w.sent(1)
		ids := w.accept("ch", append(many("e", 30, notAfter(closes)), sms("next"))...)
		w.wait(closes.Add(-time.Millisecond))
		stall.light()
		w.finish("out")
		w.sent(2)
		if got := w.lab.sentKeys()[1]; got != "next" {
			t.Fatalf("%s was sent", got)
		}
		if freed, taken := w.finished(out), w.claimed(ids["next"]); !freed.Equal(taken) || freed.Before(closes) {
			t.Fatalf("the slot was free at %s and taken at %s", freed, taken)
		}
		for i := range 30 {
			if outcome := w.done(ids[fmt.Sprintf("e-%04d", i+1)]); outcome != "expired" {
				t.Fatalf("a contact ended as %s", outcome)
			}
		}
	})
}

// Scenario 22 with a whole queue, while the program is down: more contacts than fit
// into memory expire, once each, none is sent, and the others are dispatched.
func TestWindows_WholeQueueExpiresWhileDown(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 3)
		closes := w.soon(10 * time.Minute)
		w.accept("ch", many("out", 3)...)
		w.sent(3)
		w.accept("ch", append(many("e", 620, notAfter(closes)), many("n", 2)...)...)
		w.crash()
		w.pass(20 * time.Minute)
		w.start()
		w.finish("out-0001", "out-0002")
		w.sent(5)
		if got := strings.Join(w.sentSet(), " "); got != "n-0001 n-0002 out-0001 out-0002 out-0003" {
			t.Fatalf("sent %s", got)
		}
		if n := w.figure("ch", "queued"); n != 0 {
			t.Fatalf("%d contacts are queued, want none", n)
		}
		if n := w.metric("weir_contacts_finished_total", "outcome", "expired"); n != 620 {
			t.Fatalf("%v contacts were counted as expired, want 620", n)
		}
	})
}
