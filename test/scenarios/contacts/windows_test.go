package contacts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// Scenario 20: a contact whose window opens later waits without delaying contacts
// without a window; when the window opens it is dispatched at once.
func TestWindows_OthersOvertakeUntilTheWindowOpens(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 2, world.Fields{"type": "labcall"})
		opens := w.Soon(90 * time.Second)
		ids := w.Accept("ch", world.Call("later", world.NotBefore(opens)), world.Call("x"), world.Call("y"), world.Call("z"))
		w.Sent(2)
		w.Finish(world.CallURL("x"), world.CallURL("y"))
		w.Sent(3)
		if got := strings.Join(w.SentSet(), " "); got != strings.Join([]string{world.CallURL("x"), world.CallURL("y"), world.CallURL("z")}, " ") {
			t.Fatalf("sent %s", got)
		}
		if state := w.Contact(ids["later"])["state"]; state != "queued" {
			t.Fatalf("before its window the contact is %v", state)
		}
		w.Sent(3)
		w.Until("the window is open and the contact sent", func() bool { return len(w.Lab.SentKeys()) == 4 })
		if late := w.Claimed(ids["later"]).Sub(opens); late < 0 || late > 10*time.Millisecond {
			t.Fatalf("it was claimed %s after its window opened", late)
		}
		w.ExpectInFlight("ch", 2)
	})
}

// Scenario 20 again: several windows open one after the other, and each contact is
// dispatched in its own time, whatever the order of acceptance.
func TestWindows_EachContactGoesInItsOwnTime(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 5, world.Fields{"type": "labcall"})
		begun := time.Now()
		w.Accept("ch", world.Call("c", world.NotBefore(begun.Add(90*time.Second))), world.Call("a", world.NotBefore(begun.Add(50*time.Second))), world.Call("b", world.NotBefore(begun.Add(70*time.Second))))
		for i, want := range []string{"a", "b", "c"} {
			opens := begun.Add(time.Duration(50+20*i) * time.Second)
			w.Wait(opens.Add(-time.Millisecond))
			w.Sent(i)
			w.Wait(opens.Add(time.Millisecond))
			w.Sent(i + 1)
			if got := w.Lab.SentKeys()[i]; got != world.CallURL(want) {
				t.Fatalf("%s went instead of %s", got, want)
			}
		}
	})
}

// Scenario 21: a message is never dispatched before its window, not by a second, not
// after a restart, not when a slot becomes free.
func TestWindows_NeverBeforeTheWindow(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		w.Accept("ch", world.SMS("other"))
		w.Nth(0)
		opens := w.Soon(50 * time.Second)
		ids := w.Accept("ch", world.SMS("m", world.NotBefore(opens)))
		w.Restart()
		w.Finish("other")
		if w.Virtual {
			w.Wait(opens.Add(-time.Millisecond))
			w.Sent(1)
			w.Restart()
			w.Sent(1)
		}
		w.Until("the message is sent", func() bool { return len(w.Lab.SentKeys()) == 2 })
		if at := w.Claimed(ids["m"]); at.Before(opens) {
			t.Fatalf("it was sent %s before its window opened", opens.Sub(at))
		}
	})
}

// Scenario 22: a contact that was not dispatched before its window closed is not sent,
// ends as expired exactly once, and delays no other contact.
func TestWindows_ExpiredIsReportedOnceAndNotSent(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		w.Accept("ch", world.SMS("out"))
		w.Sent(1)
		closes := w.Soon(10 * time.Minute)
		ids := w.Accept("ch", world.SMS("e-1", world.NotAfter(closes)), world.SMS("e-2", world.NotAfter(closes), world.Priority("high")), world.SMS("next"))
		if w.Virtual {
			w.Wait(closes.Add(-time.Millisecond))
			if state := w.Contact(ids["e-1"])["state"]; state != "queued" {
				t.Fatalf("before its window closes the contact is %v", state)
			}
		}
		for _, key := range []string{"e-1", "e-2"} {
			if outcome := w.Done(ids[key]); outcome != "expired" {
				t.Fatalf("%s ended as %s", key, outcome)
			}
			if n := len(w.Contact(ids[key])["attempts"].([]any)); n != 0 {
				t.Fatalf("%s has %d attempts", key, n)
			}
			if late := w.Finished(ids[key]).Sub(closes); late < 0 || w.Virtual && late > 10*time.Millisecond {
				t.Fatalf("%s expired %s after its window closed", key, late)
			}
		}
		w.Finish("out")
		w.Sent(2)
		if got := w.Lab.SentKeys()[1]; got != "next" {
			t.Fatalf("%s was sent", got)
		}
		if n := w.Metric("weir_contacts_finished_total", "outcome", "expired"); n != 2 {
			t.Fatalf("%v contacts were counted as expired, want 2", n)
		}
		w.Restart()
		w.Finish("next")
		if n := w.Figure("ch", "queued"); n != 0 {
			t.Fatalf("%d contacts are queued, want none", n)
		}
		w.Sent(2)
	})
}

// Scenario 22, the same event: a slot becomes free after windows have closed but
// before the broker, busy in between, has noticed. The first contact whose window is
// open takes the slot at once.
func TestWindows_SlotOfAnExpiredGoesToTheNext(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		stall := w.FuseThat(func() { time.Sleep(2 * time.Millisecond) })
		w.Channel("ch", 1)
		closes := w.Soon(10 * time.Minute)
		out := w.Accept("ch", world.SMS("out"))["out"]
		w.Sent(1)
		ids := w.Accept("ch", append(world.Many("e", 30, world.NotAfter(closes)), world.SMS("next"))...)
		w.Wait(closes.Add(-time.Millisecond))
		stall.Light()
		w.Finish("out")
		w.Sent(2)
		if got := w.Lab.SentKeys()[1]; got != "next" {
			t.Fatalf("%s was sent", got)
		}
		if freed, taken := w.Finished(out), w.Claimed(ids["next"]); !freed.Equal(taken) || freed.Before(closes) {
			t.Fatalf("the slot was free at %s and taken at %s", freed, taken)
		}
		for i := range 30 {
			if outcome := w.Done(ids[fmt.Sprintf("e-%04d", i+1)]); outcome != "expired" {
				t.Fatalf("a contact ended as %s", outcome)
			}
		}
	})
}

// Scenario 22 with a whole queue, while the program is down: more contacts than fit
// into memory expire, once each, none is sent, and the others are dispatched.
func TestWindows_WholeQueueExpiresWhileDown(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 3)
		closes := w.Soon(10 * time.Minute)
		w.Accept("ch", world.Many("out", 3)...)
		w.Sent(3)
		w.Accept("ch", append(world.Many("e", 620, world.NotAfter(closes)), world.Many("n", 2)...)...)
		w.Crash()
		w.Pass(20 * time.Minute)
		w.Begin()
		w.Finish("out-0001", "out-0002")
		w.Sent(5)
		if got := strings.Join(w.SentSet(), " "); got != "n-0001 n-0002 out-0001 out-0002 out-0003" {
			t.Fatalf("sent %s", got)
		}
		if n := w.Figure("ch", "queued"); n != 0 {
			t.Fatalf("%d contacts are queued, want none", n)
		}
		if n := w.Metric("weir_contacts_finished_total", "outcome", "expired"); n != 620 {
			t.Fatalf("%v contacts were counted as expired, want 620", n)
		}
	})
}
