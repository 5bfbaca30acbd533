package scenarios_test

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
)

// Scenario 42: reports about the progress of a call free nothing; its slot is
// held until the call has really ended.
func TestChannels_SlotIsHeldUntilTheCallHasEnded(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1, fields{"type": "labcall"})
		ids := w.accept("ch", calls("c", 2)...)
		w.sent(1)
		for range 3 {
			if status := w.report(callURL("c-0001"), "all", ""); status != http.StatusOK {
				t.Fatalf("a word about progress was answered %d", status)
			}
		}
		w.sent(1)
		w.expectInFlight("ch", 1)
		if w.virtual {
			w.pass(90 * time.Second) // the call continues
			w.sent(1)
		}
		w.finish(callURL("c-0001"))
		w.sent(2)
		if freed, taken := w.finished(ids["c-0001"]), w.claimed(ids["c-0002"]); !freed.Equal(taken) {
			t.Fatalf("the call ended at %s and the next was claimed at %s", freed, taken)
		}
		if status := w.report(callURL("c-0001"), "all", ""); status != http.StatusOK {
			t.Fatalf("a late word was answered %d", status)
		}
		w.expectInFlight("ch", 1)
		if state := w.contact(ids["c-0001"])["state"]; state != "done" {
			t.Fatalf("a late word made the contact %v", state)
		}
	})
}

// Scenario 44: a callback with a wrong secret, without one, or with the secret
// of another channel changes nothing and is counted.
func TestChannels_ForgedCallbacksChangeNothing(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		w.channel("other", 1)
		ids := w.accept("ch", sms("first"), sms("second"))
		w.accept("other", sms("foreign"))
		w.sent(2)
		w.becomes(ids["first"], "active")
		attempt := w.lab.attempt("first")
		report := "/report/" + attempt.id + "?part=all&outcome=completed"
		secret := attempt.callback[strings.LastIndex(attempt.callback, "/")+1:]
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
			if a := w.call("POST", path, nil); a.Status != http.StatusNotFound {
				t.Fatalf("a forged callback was answered %d: %s", a.Status, a.Text)
			}
		}
		if n := w.callbacks("unauthorised"); n != len(forged) {
			t.Fatalf("%d forged callbacks were counted, want %d", n, len(forged))
		}
		// A report with the valid URL of another channel is accepted and has no effect here.
		if a := w.call("POST", w.lab.attempt("foreign").callback+report, nil); a.Status != http.StatusOK {
			t.Fatalf("a callback about a foreign contact was answered %d", a.Status)
		}
		if n := w.callbacks(string(weir.UnknownAttempt)); n != 1 {
			t.Fatalf("%d callbacks about nothing were counted, want 1", n)
		}
		w.sent(2)
		if state := w.contact(ids["first"])["state"]; state != "active" {
			t.Fatalf("forged callbacks made the contact %v", state)
		}
		w.expectInFlight("ch", 1)
		w.finish("first")
		w.sent(3)
	})
}

// Scenario 71: a paused channel starts nothing; contacts in flight end, callbacks
// and incoming messages are accepted, expired contacts are reported; then it resumes.
func TestChannels_PausedChannelStartsNothing(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 10)
		w.accept("ch", many("out", 10)...)
		w.sent(10)
		closes := w.soon(time.Minute)
		ids := w.accept("ch", append(many("w", 500), sms("expires", notAfter(closes)), sms("reply", priority("reply")))...)
		w.pause("ch", true)
		w.finish(w.lab.outKeys()...)
		w.sent(10)
		w.expectInFlight("ch", 0)
		if state := w.state("ch"); state != "paused" {
			t.Fatalf("the channel is %s", state)
		}
		incoming := w.lab.attempt("out-0001").callback + "/incoming/?from=15550100&body=yes&guid=g1"
		w.want(http.StatusOK, "POST", incoming, nil)
		if a := w.want(http.StatusOK, "GET", "/v1/channels/ch/incoming", nil); len(a.Body["incoming"].([]any)) != 1 {
			t.Fatalf("the incoming messages are %s", a.Text)
		}
		if outcome := w.done(ids["expires"]); outcome != "expired" {
			t.Fatalf("a contact of a paused channel ended as %s", outcome)
		}
		if w.virtual {
			w.pass(10 * time.Minute)
		}
		w.sent(10)
		w.atOnce(func() {
			w.pause("ch", false)
			w.sent(20)
		})
		w.expectInFlight("ch", 10)
		if got := w.lab.sentKeys(); !slices.Contains(got, "reply") || slices.Contains(got, "expires") || !slices.Contains(got, "w-0009") {
			t.Fatalf("sent %v", got)
		}
		w.finish(w.lab.outKeys()...)
		w.sent(30)
	})
}

// A pause is durable from its 200 on, whatever crashes then.
func TestChannels_PauseSurvivesACrash(t *testing.T) {
	onStores(t, func(w *world) {
		fuse := w.fuse()
		w.channel("ch", 2)
		w.accept("ch", sms("out"))
		w.sent(1)
		w.pause("ch", true)
		w.restart() // of the program
		w.accept("ch", many("c", 3)...)
		w.sent(1)
		if state := w.state("ch"); state != "paused" {
			t.Fatalf("after a restart the channel is %s", state)
		}
		fuse.light() // the broker crashes on the message that the pause ended …
		w.pause("ch", false)
		w.sent(2)
		if !fuse.blown() {
			t.Fatal("the broker did not crash")
		}
		again := w.fuse() // … and on the message of a new pause
		again.light()
		w.pause("ch", true)
		w.until("the broker crashed", again.blown)
		w.finish("out", "c-0001")
		w.sent(2)
	})
}

// Scenario 73: a channel with open contacts is deleted only if the request says to
// cancel them; then every one of them ends and is reported, nothing is left,
// and later callbacks do no harm.
func TestChannels_DeletedChannelLeavesNothing(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 3)
		w.channel("neighbour", 1)
		w.accept("neighbour", sms("n-1"), sms("n-2"))
		ids := w.accept("ch", append(many("c", 40), sms("later", notBefore(time.Now().Add(24*time.Hour))))...)
		w.sent(4)
		late := w.lab.attempt("c-0001")
		w.want(http.StatusConflict, "DELETE", "/v1/channels/ch", nil)
		w.expectInFlight("ch", 3)
		w.delete("ch")
		for key, id := range ids {
			if c := w.contact(id); c["state"] != "done" || c["outcome"] != "canceled" {
				t.Fatalf("contact %s of the deleted channel is %v, %v", key, c["state"], c["outcome"])
			}
		}
		if got := slices.Sorted(slices.Values(w.lab.calledBack())); fmt.Sprint(got) != "[c-0001 c-0002 c-0003]" {
			t.Fatalf("the provider was asked to give back %v", got)
		}
		w.want(http.StatusNotFound, "POST", "/v1/channels/ch/contacts", fields{"contacts": []fields{sms("x")}})
		if status := w.reportAttempt(late, "all", "completed"); status != http.StatusOK {
			t.Fatalf("a callback of the deleted channel was answered %d", status)
		}
		w.restart()
		if status := w.reportAttempt(late, "all", "completed"); status != http.StatusOK {
			t.Fatalf("after a restart a callback of the deleted channel was answered %d", status)
		}
		// Its name is free, and its neighbor is unaffected.
		w.channel("ch", 1)
		w.accept("ch", sms("new"))
		w.finish("n-1")
		w.sent(6)
		w.expectInFlight("ch", 1)
		w.expectInFlight("neighbour", 1)
		if n := w.metric("weir_actor_panics_total"); n != 0 {
			t.Fatalf("%v panics", n)
		}
	})
}

// Scenario 73, a provider whose cancels fail: the channel does not wait for it
// forever.
func TestChannels_DeletionDoesNotWaitForeverForCancels(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onCancel = func(context.Context, labAttempt) channels.Cancellation { return channels.Cancellation{Failed: true} }
		})
		w.channel("ch", 3)
		ids := w.accept("ch", many("c", 5)...)
		w.sent(3)
		begun := time.Now()
		w.delete("ch")
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("it took %s", took)
		}
		for key, id := range ids {
			if outcome := w.contact(id)["outcome"]; outcome != "canceled" {
				t.Fatalf("contact %s of the deleted channel ended as %v", key, outcome)
			}
		}
		w.finish("c-0001", "c-0002", "c-0003")
	})
}

// delete deletes a channel with all its contacts, and waits until it is gone.
func (w *world) delete(channel string) {
	w.Helper()
	a := w.call("DELETE", "/v1/channels/"+channel+"?cancel=true", nil)
	if a.Status != http.StatusNoContent && a.Status != http.StatusAccepted {
		w.Fatalf("the deletion was answered %d: %s", a.Status, a.Text)
	}
	w.until("the channel is gone", func() bool { return w.call("GET", "/v1/channels/"+channel, nil).Status == http.StatusNotFound })
}

// Scenario 75: while the status of a provider is unknown, it counts as up.
func TestChannels_UnknownStatusCountsAsUp(t *testing.T) {
	onStores(t, func(w *world) {
		asked, answer := make(chan struct{}, 100), make(chan struct{})
		w.lab.behave(func(l *lab) {
			l.onStatus = func() channels.Status {
				asked <- struct{}{}
				<-answer
				return channels.Status{Health: weir.Down, Reason: "disabled"}
			}
		})
		defer close(answer)
		w.channel("ch", 2)
		if state := w.state("ch"); state != "up" {
			t.Fatalf("a channel without any report is %s", state)
		}
		w.accept("ch", many("c", 3)...)
		w.sent(2)
		<-asked
		if state := w.state("ch"); state != "up" {
			t.Fatalf("while its provider is being asked the channel is %s", state)
		}
		answer <- struct{}{}
		w.until("the answer is known", func() bool { return w.state("ch") == "down" })
		w.restart()
		if state := w.state("ch"); state != "up" {
			t.Fatalf("after a restart the channel is %s", state)
		}
		w.finish("c-0001")
		w.sent(3)
	})
}
