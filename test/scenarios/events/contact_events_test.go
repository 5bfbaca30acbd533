package events_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 240: however a contact ends, its end is one event, behind those of its attempts,
// also through crashes.
func TestContactEvents_EveryEndIsOneEvent(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.WantEvents()
		tries := map[string]int{}
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				l.Mu.Lock()
				tries[a.Key]++
				first := tries[a.Key] == 1
				l.Mu.Unlock()
				switch kind, _, _ := strings.Cut(a.Key, "-"); {
				case kind == "refused":
					return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
				case kind == "again" && first, kind == "poison":
					return channels.SendResult{Status: channels.NotSent, Reason: "try again"}
				case kind == "unclear" || kind == "lost":
					return channels.SendResult{Status: channels.Unclear, Reason: "timeout", Answered: true}
				}
				return l.Take(a)
			}
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				if strings.HasPrefix(a.Key, "unclear") {
					return channels.Answer{Status: channels.Absent}
				}
				return channels.Answer{Status: channels.CannotTell}
			}
			l.OnCancel = func(_ context.Context, a world.LabAttempt) channels.Cancellation {
				l.End(a, "all", "canceled")
				return channels.Cancellation{Canceled: true}
			}
		})
		w.Channel("ch", 20)
		w.Channel("shut", 5, world.Fields{"paused": true})
		w.Channel("gone", 1)
		ids := w.Accept("ch", world.SMS("ok-1"), world.SMS("refused-1"), world.SMS("again-1"), world.SMS("flown-1"), world.SMS("parts-1", world.Texts("parts-1", 2)))
		expires := w.Soon(time.Minute)
		waiting := w.Accept("shut", world.SMS("late-1", world.NotAfter(expires)), world.SMS("dropped-1"))
		gone := w.Accept("gone", world.SMS("flying-1"), world.SMS("stays-1"))
		w.Becomes(ids["flown-1"], "active")
		w.Becomes(gone["flying-1"], "active")
		w.Want(200, "DELETE", "/v1/contacts/"+waiting["dropped-1"], nil)
		w.Restart()
		w.Call("DELETE", "/v1/contacts/"+ids["flown-1"], nil)
		w.Call("DELETE", "/v1/channels/gone?cancel=true", nil)
		w.Report("parts-1", "0", "failed")
		w.Report("parts-1", "1", "completed")
		w.Done(ids["parts-1"])
		w.Report("parts-1", "0", "completed") // after all
		w.Finish("ok-1")
		w.Until("the second try is sent", func() bool { return w.Contact(ids["again-1"])["state"] == "active" })
		w.Finish("again-1")
		want := map[string]string{"ok-1": "completed", "refused-1": "failed", "again-1": "completed", "flown-1": "canceled", "parts-1": "completed"}
		for key, outcome := range want {
			if got := w.Done(ids[key]); got != outcome {
				w.Errorf("%s is %s, want %s", key, got, outcome)
			}
		}
		w.Wait(expires)
		if o := w.Done(waiting["late-1"]); o != "expired" {
			w.Errorf("late-1 is %s", o)
		}
		for _, key := range []string{"flying-1", "stays-1"} {
			if o := w.Done(gone[key]); o != "canceled" {
				w.Errorf("%s is %s", key, o)
			}
			w.ExpectLife(w.Contact(gone[key]), w.ContactEvents()[gone[key]])
		}
		if w.Virtual { // these take their time
			slow := w.Accept("ch", world.SMS("poison-1"), world.SMS("lost-1"), world.SMS("unclear-1"))
			for key, outcome := range map[string]string{"poison-1": "dead_letter", "lost-1": "lost", "unclear-1": "dead_letter"} {
				if got := w.Done(slow[key]); got != outcome {
					w.Errorf("%s is %s, want %s", key, got, outcome)
				}
			}
			if n := strings.Count(strings.Join(w.ContactEvents()[slow["unclear-1"]], " "), "requeued"); n != 4 {
				w.Errorf("the provider never had unclear-1, and %d events report that it was requeued", n)
			}
		}
		w.ExpectContactEvents("ch")
		w.ExpectContactEvents("shut")
		expectSequence(w, ids["parts-1"], "dispatched 1", "accepted 1", "done 1 failed", "corrected 1 completed")
		expectSequence(w, ids["again-1"], "dispatched 1", "requeued 1", "dispatched 2", "accepted 2", "done 2 completed")
		expectSequence(w, ids["refused-1"], "dispatched 1", "done 1 failed")
		expectSequence(w, waiting["dropped-1"], "done 0 canceled")
	})
}

func expectSequence(w *world.World, id string, want ...string) {
	w.Helper()
	if got := w.ContactEvents()[id]; !slices.Equal(got, want) {
		w.Errorf("contact %s has the events %q, want %q", id, got, want)
	}
}

// Scenario 242: a client that polls learns of every end, over all channels, by the instant
// of the last one that it has seen.
func TestContactEvents_PollingByFinishedAfterFindsEveryEnd(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("one", 50)
		w.Channel("two", 50)
		from := time.Now().Add(-time.Minute).UTC()
		ids := map[string]string{}
		for i := range 6 {
			for _, channel := range []string{"one", "two"} {
				key := fmt.Sprintf("%s-%d", channel, i)
				ids[key] = w.Accept(channel, world.SMS(key))[key]
				w.Becomes(ids[key], "active")
			}
		}
		var seen []string
		poll := func() {
			w.Helper()
			query := "/v1/contacts?limit=2&finished_after=" + url.QueryEscape(from.Format(time.RFC3339Nano))
			for cursor := ""; ; {
				page := w.Want(200, "GET", query+"&cursor="+cursor, nil).Body
				for _, c := range page["contacts"].([]any) {
					c := c.(world.Fields)
					seen = append(seen, fmt.Sprint(c["key"]))
					if at := world.Instant(w, c, "finished_at"); at.Before(from) {
						w.Errorf("%v ended at %s, before %s", c["key"], at, from)
					} else {
						from = at
					}
				}
				if cursor, _ = page["next_cursor"].(string); cursor == "" {
					return
				}
			}
		}
		var want []string
		for i := range 6 {
			for _, key := range []string{fmt.Sprintf("two-%d", 5-i), fmt.Sprintf("one-%d", i)} {
				w.Finish(key)
				w.Done(ids[key])
				want = append(want, key)
				if w.Virtual {
					w.Pass(time.Millisecond) // two that end in the same microsecond would be in the order of their ids
				}
			}
			if i%2 == 1 {
				poll()
			}
		}
		poll()
		if !slices.Equal(seen, want) {
			w.Errorf("seen %q, want %q", seen, want)
		}
		w.Want(422, "GET", "/v1/contacts?finished_after=yesterday", nil)
		w.Want(422, "GET", "/v1/contacts?finished_after=2026-01-01T00:00:00Z&state=queued", nil)
	})
}

// Scenario 243: every message from a person is one event, however often the provider
// repeats it.
func TestContactEvents_MessagesAreEvents(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 5)
		w.WantEvents()
		id := w.Accept("ch", world.SMS("a"))["a"]
		w.Becomes(id, "active")
		path := w.Lab.Attempt("a").Callback + "/incoming/?from=15550009&body=STOP&guid=g1"
		for range 3 {
			if status := w.Call("POST", path, nil).Status; status != 200 {
				w.Fatalf("the callback was answered %d", status)
			}
		}
		list := w.Want(200, "GET", "/v1/events?type=weir.message.received", nil).Body["events"].([]any)
		if len(list) != 1 {
			w.Fatalf("%d events: %v", len(list), list)
		}
		data := list[0].(world.Fields)["data"].(world.Fields)
		if data["from"] != "+15550009" || data["text"] != "STOP" || data["channel"] != "ch" || data["guid"] != "g1" {
			w.Errorf("%v", data)
		}
	})
}
