package channels_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 42: reports about the progress of a call free nothing; its slot is
// held until the call has really ended.
func TestChannels_SlotIsHeldUntilTheCallHasEnded(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1, world.Fields{"type": "labcall"})
		ids := w.Accept("ch", world.Calls("c", 2)...)
		w.Sent(1)
		for range 3 {
			if status := w.Report(world.CallURL("c-0001"), "all", ""); status != http.StatusOK {
				t.Fatalf("a word about progress was answered %d", status)
			}
		}
		w.Sent(1)
		w.ExpectInFlight("ch", 1)
		if w.Virtual {
			w.Pass(90 * time.Second) // the call continues
			w.Sent(1)
		}
		w.Finish(world.CallURL("c-0001"))
		w.Sent(2)
		if freed, taken := w.Finished(ids["c-0001"]), w.Claimed(ids["c-0002"]); !freed.Equal(taken) {
			t.Fatalf("the call ended at %s and the next was claimed at %s", freed, taken)
		}
		if status := w.Report(world.CallURL("c-0001"), "all", ""); status != http.StatusOK {
			t.Fatalf("a late word was answered %d", status)
		}
		w.ExpectInFlight("ch", 1)
		if state := w.Contact(ids["c-0001"])["state"]; state != "done" {
			t.Fatalf("a late word made the contact %v", state)
		}
	})
}

// Scenario 44: a callback with a wrong secret, without one, or with the secret
// of another channel changes nothing and is counted.
func TestChannels_ForgedCallbacksChangeNothing(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		w.Channel("other", 1)
		ids := w.Accept("ch", world.SMS("first"), world.SMS("second"))
		w.Accept("other", world.SMS("foreign"))
		w.Sent(2)
		w.Becomes(ids["first"], "active")
		attempt := w.Lab.Attempt("first")
		report := "/report/" + attempt.ID + "?part=all&outcome=completed"
		secret := attempt.Callback[strings.LastIndex(attempt.Callback, "/")+1:]
		flipped := strings.Map(func(r rune) rune {
			if r == 'a' {
				return 'b'
			}
			return 'a'
		}, secret)
		forged := []string{
			"/callbacks/ch/" + flipped + report,
			"/callbacks/ch/" + secret[1:] + report,
			"/callbacks/ch/x" + report,
			"/callbacks/ch" + report, // no secret at all
			"/callbacks/unknown/" + secret + report,
			"/callbacks/other/" + secret + report,
		}
		for _, path := range forged {
			if a := w.Call("POST", path, nil); a.Status != http.StatusNotFound {
				t.Fatalf("a forged callback was answered %d: %s", a.Status, a.Text)
			}
		}
		if n := w.Callbacks("unauthorised"); n != len(forged) {
			t.Fatalf("%d forged callbacks were counted, want %d", n, len(forged))
		}
		// A report with the valid URL of another channel is accepted and has no effect here.
		if a := w.Call("POST", w.Lab.Attempt("foreign").Callback+report, nil); a.Status != http.StatusOK {
			t.Fatalf("a callback about a foreign contact was answered %d", a.Status)
		}
		if n := w.Callbacks(string(weir.UnknownAttempt)); n != 1 {
			t.Fatalf("%d callbacks about nothing were counted, want 1", n)
		}
		w.Sent(2)
		if state := w.Contact(ids["first"])["state"]; state != "active" {
			t.Fatalf("forged callbacks made the contact %v", state)
		}
		w.ExpectInFlight("ch", 1)
		w.Finish("first")
		w.Sent(3)
	})
}

// Scenario 71: a paused channel starts nothing; contacts in flight end, callbacks
// and incoming messages are accepted, expired contacts are reported; then it resumes.
func TestChannels_PausedChannelStartsNothing(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 10)
		w.Accept("ch", world.Many("out", 10)...)
		w.Sent(10)
		closes := w.Soon(time.Minute)
		ids := w.Accept("ch", append(world.Many("w", 500), world.SMS("expires", world.NotAfter(closes)), world.SMS("reply", world.Priority("reply")))...)
		w.Pause("ch", true)
		w.Finish(w.Lab.OutKeys()...)
		w.Sent(10)
		w.ExpectInFlight("ch", 0)
		if state := w.State("ch"); state != "paused" {
			t.Fatalf("the channel is %s", state)
		}
		incoming := w.Lab.Attempt("out-0001").Callback + "/incoming/?from=15550100&body=yes&guid=g1"
		w.Want(http.StatusOK, "POST", incoming, nil)
		if a := w.Want(http.StatusOK, "GET", "/v1/channels/ch/incoming", nil); len(a.Body["incoming"].([]any)) != 1 {
			t.Fatalf("the incoming messages are %s", a.Text)
		}
		if outcome := w.Done(ids["expires"]); outcome != "expired" {
			t.Fatalf("a contact of a paused channel ended as %s", outcome)
		}
		if w.Virtual {
			w.Pass(10 * time.Minute)
		}
		w.Sent(10)
		w.AtOnce(func() {
			w.Pause("ch", false)
			w.Sent(20)
		})
		w.ExpectInFlight("ch", 10)
		if got := w.Lab.SentKeys(); !slices.Contains(got, "reply") || slices.Contains(got, "expires") || !slices.Contains(got, "w-0009") {
			t.Fatalf("sent %v", got)
		}
		w.Finish(w.Lab.OutKeys()...)
		w.Sent(30)
	})
}

// A pause is durable from its 200 on, whatever crashes then.
func TestChannels_PauseSurvivesACrash(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		fuse := w.Fuse()
		w.Channel("ch", 2)
		w.Accept("ch", world.SMS("out"))
		w.Sent(1)
		w.Pause("ch", true)
		w.Restart() // of the program
		w.Accept("ch", world.Many("c", 3)...)
		w.Sent(1)
		if state := w.State("ch"); state != "paused" {
			t.Fatalf("after a restart the channel is %s", state)
		}
		fuse.Light() // the broker crashes on the message that the pause ended …
		w.Pause("ch", false)
		w.Sent(2)
		if !fuse.Blown() {
			t.Fatal("the broker did not crash")
		}
		again := w.Fuse() // … and on the message of a new pause
		again.Light()
		w.Pause("ch", true)
		w.Until("the broker crashed", again.Blown)
		w.Finish("out", "c-0001")
		w.Sent(2)
	})
}

// Scenario 73: a channel with open contacts is deleted only if the request says to
// cancel them; then every one of them ends and is reported, nothing is left,
// and later callbacks do no harm.
func TestChannels_DeletedChannelLeavesNothing(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 3)
		w.Channel("neighbour", 1)
		w.Accept("neighbour", world.SMS("n-1"), world.SMS("n-2"))
		ids := w.Accept("ch", append(world.Many("c", 40), world.SMS("later", world.NotBefore(time.Now().Add(24*time.Hour))))...)
		w.Sent(4)
		late := w.Lab.Attempt("c-0001")
		w.Want(http.StatusConflict, "DELETE", "/v1/channels/ch", nil)
		w.ExpectInFlight("ch", 3)
		w.Delete("ch")
		for key, id := range ids {
			if c := w.Contact(id); c["state"] != "done" || c["outcome"] != "canceled" {
				t.Fatalf("contact %s of the deleted channel is %v, %v", key, c["state"], c["outcome"])
			}
		}
		if got := slices.Sorted(slices.Values(w.Lab.CalledBack())); fmt.Sprint(got) != "[c-0001 c-0002 c-0003]" {
			t.Fatalf("the provider was asked to give back %v", got)
		}
		w.Want(http.StatusNotFound, "POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{world.SMS("x")}})
		if status := w.ReportAttempt(late, "all", "completed"); status != http.StatusOK {
			t.Fatalf("a callback of the deleted channel was answered %d", status)
		}
		w.Restart()
		if status := w.ReportAttempt(late, "all", "completed"); status != http.StatusOK {
			t.Fatalf("after a restart a callback of the deleted channel was answered %d", status)
		}
		// Its name is free, and its neighbor is unaffected.
		w.Channel("ch", 1)
		w.Accept("ch", world.SMS("new"))
		w.Finish("n-1")
		w.Sent(6)
		w.ExpectInFlight("ch", 1)
		w.ExpectInFlight("neighbour", 1)
		if n := w.Metric("weir_actor_panics_total"); n != 0 {
			t.Fatalf("%v panics", n)
		}
	})
}

// Scenario 73, a provider whose cancels fail: the channel does not wait for it
// forever.
func TestChannels_DeletionDoesNotWaitForeverForCancels(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnCancel = func(context.Context, world.LabAttempt) channels.Cancellation {
				return channels.Cancellation{Failed: true}
			}
		})
		w.Channel("ch", 3)
		ids := w.Accept("ch", world.Many("c", 5)...)
		w.Sent(3)
		begun := time.Now()
		w.Delete("ch")
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("it took %s", took)
		}
		for key, id := range ids {
			if outcome := w.Contact(id)["outcome"]; outcome != "canceled" {
				t.Fatalf("contact %s of the deleted channel ended as %v", key, outcome)
			}
		}
		w.Finish("c-0001", "c-0002", "c-0003")
	})
}

// Scenario 75: while the status of a provider is unknown, it counts as up.
func TestChannels_UnknownStatusCountsAsUp(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		asked, answer := make(chan struct{}, 100), make(chan struct{})
		w.Lab.Behave(func(l *world.Lab) {
			l.OnStatus = func() channels.Status {
				asked <- struct{}{}
				<-answer
				return channels.Status{Health: weir.Down, Reason: "disabled"}
			}
		})
		defer close(answer)
		w.Channel("ch", 2)
		if state := w.State("ch"); state != "up" {
			t.Fatalf("a channel without any report is %s", state)
		}
		w.Accept("ch", world.Many("c", 3)...)
		w.Sent(2)
		<-asked
		if state := w.State("ch"); state != "up" {
			t.Fatalf("while its provider is being asked the channel is %s", state)
		}
		answer <- struct{}{}
		w.Until("the answer is known", func() bool { return w.State("ch") == "down" })
		w.Restart()
		if state := w.State("ch"); state != "up" {
			t.Fatalf("after a restart the channel is %s", state)
		}
		w.Finish("c-0001")
		w.Sent(3)
	})
}
