package scenarios_test

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// wantEvents has events of contacts written from now on.
func (w *world) wantEvents() {
	w.Helper()
	w.want(200, "GET", "/v1/events?source=contacts", nil)
}

// contactEvents reads the log through the API: the events of each contact, in order, as
// "dispatched 1" or "done 1 completed".
func (w *world) contactEvents() map[string][]string {
	w.Helper()
	got := map[string][]string{}
	for cursor := "0"; cursor != ""; {
		page := w.want(200, "GET", "/v1/events?limit=1000&type=weir.contact.*&cursor="+cursor, nil).Body
		for _, e := range page["events"].([]any) {
			id, text := w.contactEvent(e.(fields))
			got[id] = append(got[id], text)
		}
		cursor, _ = page["next_cursor"].(string)
	}
	return got
}

// contactEvent returns the contact of an event, and the event as "done 1 completed".
func (w *world) contactEvent(e fields) (id, text string) {
	w.Helper()
	data, _ := e["data"].(fields)
	id = fmt.Sprint(data["contact"])
	if e["subject"] != "contact/"+id {
		w.Errorf("the event of contact %s is about %v", id, e["subject"])
	}
	text = strings.TrimPrefix(fmt.Sprint(e["type"]), "weir.contact.") + " " + fmt.Sprint(data["attempts"])
	if o := data["outcome"]; o != nil {
		text += " " + fmt.Sprint(o)
	}
	return id, text
}

// life is how the events of a contact that is done follow each other.
var life = regexp.MustCompile(`^(dispatched \d+(, accepted \d+)?, requeued \d+, )*(dispatched \d+, (accepted \d+, )?)?done \d+ (\w+)(, corrected \d+ completed)?$`)

// expectContactEvents checks the events of every contact of a channel against the contact:
// one end, in its place, with its outcome, and an event of each attempt.
func (w *world) expectContactEvents(channel string) {
	w.Helper()
	got := w.contactEvents()
	n := 0
	for cursor := ""; ; {
		page := w.want(200, "GET", "/v1/contacts?limit=1000&channel="+channel+"&cursor="+cursor, nil).Body
		for _, c := range page["contacts"].([]any) {
			n++
			w.expectLife(c.(fields), got[fmt.Sprint(c.(fields)["id"])])
		}
		if cursor, _ = page["next_cursor"].(string); cursor == "" {
			break
		}
	}
	if n == 0 {
		w.Errorf("channel %s has no contacts", channel)
	}
}

func (w *world) expectLife(c fields, list []string) {
	w.Helper()
	text := strings.Join(list, ", ")
	m := life.FindStringSubmatch(text)
	if m == nil {
		w.Errorf("contact %v (%v) has the events %q", c["key"], c["outcome"], text)
		return
	}
	ended := m[5]
	if m[6] != "" {
		ended = "completed"
	}
	if ended != c["outcome"] {
		w.Errorf("contact %v is %v, its events are %q", c["key"], c["outcome"], text)
	}
	attempts := 0
	if last := c["attempts"].([]any); len(last) > 0 {
		attempts = int(last[0].(fields)["number"].(float64))
	}
	if dispatched := strings.Count(text, "dispatched "); dispatched < attempts || !strings.Contains(text, fmt.Sprintf("done %d ", attempts)) {
		w.Errorf("contact %v has %d attempts, its events are %q", c["key"], attempts, text)
	}
}

// Scenario 240: however a contact ends, its end is one event, behind those of its attempts,
// also through crashes.
func TestContactEvents_EveryEndIsOneEvent(t *testing.T) {
	onStores(t, func(w *world) {
		w.wantEvents()
		tries := map[string]int{}
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				l.mu.Lock()
				tries[a.key]++
				first := tries[a.key] == 1
				l.mu.Unlock()
				switch kind, _, _ := strings.Cut(a.key, "-"); {
				case kind == "refused":
					return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
				case kind == "again" && first, kind == "poison":
					return channels.SendResult{Status: channels.NotSent, Reason: "try again"}
				case kind == "unclear" || kind == "lost":
					return channels.SendResult{Status: channels.Unclear, Reason: "timeout", Answered: true}
				}
				return l.take(a)
			}
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				if strings.HasPrefix(a.key, "unclear") {
					return channels.Answer{Status: channels.Absent}
				}
				return channels.Answer{Status: channels.CannotTell}
			}
			l.onCancel = func(_ context.Context, a labAttempt) channels.Cancellation {
				l.end(a, "all", "canceled")
				return channels.Cancellation{Canceled: true}
			}
		})
		w.channel("ch", 20)
		w.channel("shut", 5, fields{"paused": true})
		w.channel("gone", 1)
		ids := w.accept("ch", sms("ok-1"), sms("refused-1"), sms("again-1"), sms("flown-1"), sms("parts-1", texts("parts-1", 2)))
		expires := w.soon(time.Minute)
		waiting := w.accept("shut", sms("late-1", notAfter(expires)), sms("dropped-1"))
		gone := w.accept("gone", sms("flying-1"), sms("stays-1"))
		w.becomes(ids["flown-1"], "active")
		w.becomes(gone["flying-1"], "active")
		w.want(200, "DELETE", "/v1/contacts/"+waiting["dropped-1"], nil)
		w.restart()
		w.call("DELETE", "/v1/contacts/"+ids["flown-1"], nil)
		w.call("DELETE", "/v1/channels/gone?cancel=true", nil)
		w.report("parts-1", "0", "failed")
		w.report("parts-1", "1", "completed")
		w.done(ids["parts-1"])
		w.report("parts-1", "0", "completed") // after all
		w.finish("ok-1")
		w.until("the second try is sent", func() bool { return w.contact(ids["again-1"])["state"] == "active" })
		w.finish("again-1")
		want := map[string]string{"ok-1": "completed", "refused-1": "failed", "again-1": "completed", "flown-1": "canceled", "parts-1": "completed"}
		for key, outcome := range want {
			if got := w.done(ids[key]); got != outcome {
				w.Errorf("%s is %s, want %s", key, got, outcome)
			}
		}
		w.wait(expires)
		if o := w.done(waiting["late-1"]); o != "expired" {
			w.Errorf("late-1 is %s", o)
		}
		for _, key := range []string{"flying-1", "stays-1"} {
			if o := w.done(gone[key]); o != "canceled" {
				w.Errorf("%s is %s", key, o)
			}
			w.expectLife(w.contact(gone[key]), w.contactEvents()[gone[key]])
		}
		if w.virtual { // these take their time
			slow := w.accept("ch", sms("poison-1"), sms("lost-1"), sms("unclear-1"))
			for key, outcome := range map[string]string{"poison-1": "dead_letter", "lost-1": "lost", "unclear-1": "dead_letter"} {
				if got := w.done(slow[key]); got != outcome {
					w.Errorf("%s is %s, want %s", key, got, outcome)
				}
			}
			if n := strings.Count(strings.Join(w.contactEvents()[slow["unclear-1"]], " "), "requeued"); n != 4 {
				w.Errorf("the provider never had unclear-1, and %d events report that it was requeued", n)
			}
		}
		w.expectContactEvents("ch")
		w.expectContactEvents("shut")
		w.expectSequence(ids["parts-1"], "dispatched 1", "accepted 1", "done 1 failed", "corrected 1 completed")
		w.expectSequence(ids["again-1"], "dispatched 1", "requeued 1", "dispatched 2", "accepted 2", "done 2 completed")
		w.expectSequence(ids["refused-1"], "dispatched 1", "done 1 failed")
		w.expectSequence(waiting["dropped-1"], "done 0 canceled")
	})
}

func (w *world) expectSequence(id string, want ...string) {
	w.Helper()
	if got := w.contactEvents()[id]; !slices.Equal(got, want) {
		w.Errorf("contact %s has the events %q, want %q", id, got, want)
	}
}

// Scenario 242: a client that polls learns of every end, over all channels, by the instant
// of the last one that it has seen.
func TestContactEvents_PollingByFinishedAfterFindsEveryEnd(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("one", 50)
		w.channel("two", 50)
		from := time.Now().Add(-time.Minute).UTC()
		ids := map[string]string{}
		for i := range 6 {
			for _, channel := range []string{"one", "two"} {
				key := fmt.Sprintf("%s-%d", channel, i)
				ids[key] = w.accept(channel, sms(key))[key]
				w.becomes(ids[key], "active")
			}
		}
		var seen []string
		poll := func() {
			w.Helper()
			query := "/v1/contacts?limit=2&finished_after=" + url.QueryEscape(from.Format(time.RFC3339Nano))
			for cursor := ""; ; {
				page := w.want(200, "GET", query+"&cursor="+cursor, nil).Body
				for _, c := range page["contacts"].([]any) {
					c := c.(fields)
					seen = append(seen, fmt.Sprint(c["key"]))
					if at := instant(w, c, "finished_at"); at.Before(from) {
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
				w.finish(key)
				w.done(ids[key])
				want = append(want, key)
				if w.virtual {
					w.pass(time.Millisecond) // two that end in the same microsecond would be in the order of their ids
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
		w.want(422, "GET", "/v1/contacts?finished_after=yesterday", nil)
		w.want(422, "GET", "/v1/contacts?finished_after=2026-01-01T00:00:00Z&state=queued", nil)
	})
}

// Scenario 243: every message from a person is one event, however often the provider
// repeats it.
func TestContactEvents_MessagesAreEvents(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 5)
		w.wantEvents()
		id := w.accept("ch", sms("a"))["a"]
		w.becomes(id, "active")
		path := w.lab.attempt("a").callback + "/incoming/?from=15550009&body=STOP&guid=g1"
		for range 3 {
			if status := w.call("POST", path, nil).Status; status != 200 {
				w.Fatalf("the callback was answered %d", status)
			}
		}
		list := w.want(200, "GET", "/v1/events?type=weir.message.received", nil).Body["events"].([]any)
		if len(list) != 1 {
			w.Fatalf("%d events: %v", len(list), list)
		}
		data := list[0].(fields)["data"].(fields)
		if data["from"] != "15550009" || data["text"] != "STOP" || data["channel"] != "ch" || data["guid"] != "g1" {
			w.Errorf("%v", data)
		}
	})
}
