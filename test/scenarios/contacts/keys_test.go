package contacts_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/test/scenarios/world"
)

// reused posts contacts that reuse keys for other content. It requires an error
// that names the difference for each, and that no contact was queued.
func reused(w *world.World, want map[int]string, contacts ...world.Fields) {
	w.Helper()
	before := known(w)
	a := w.Call("POST", "/v1/channels/ch/contacts", world.Fields{"contacts": contacts})
	if a.Status != http.StatusConflict || a.Body["code"] != "key_reused" {
		w.Fatalf("%d, want 409 key_reused: %s", a.Status, a.Text)
	}
	named := world.List(a.Body["errors"])
	if len(named) != len(want) {
		w.Errorf("%d are named, want %d: %s", len(named), len(want), a.Text)
	}
	for i, differs := range want {
		if !strings.Contains(a.Text, fmt.Sprintf(`"pointer":"/contacts/%d/key","code":"key_reused"`, i)) || !strings.Contains(a.Text, differs) {
			w.Errorf("contact %d: want %q in %s", i, differs, a.Text)
		}
	}
	if strings.Contains(a.Text, "+1555") {
		w.Errorf("the answer has a phone number: %s", a.Text)
	}
	if after := known(w); after != before {
		w.Errorf("%d contacts before, %d after", before, after)
	}
}

// known counts the contacts.
func known(w *world.World) int {
	w.Helper()
	return len(w.Want(http.StatusOK, "GET", "/v1/contacts?limit=1000", nil).Body["contacts"].([]any))
}

// again posts contacts whose keys and content are known, and requires that all
// of them are duplicates.
func again(w *world.World, contacts ...world.Fields) {
	w.Helper()
	for _, c := range world.List(w.Want(http.StatusAccepted, "POST", "/v1/channels/ch/contacts", world.Fields{"contacts": contacts}).Body["contacts"]) {
		if c["duplicate"] != true {
			w.Errorf("%v is no duplicate", c)
		}
	}
}

// Scenario 132: a key reused for other content is rejected, because treating it as
// a duplicate would lose the message silently.
func TestKeys_ReuseForOtherContentIsRejected(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 10)
		full := world.SMS("k", world.Texts("k", 3), world.Fields{
			"labels": world.Fields{"a": "1", "b": "<&>"}, "survey": "s", "priority": "high", "not_before": "1999-01-01T00:00:00+02:00", "not_after": "2126-01-01T00:00:00.123456789Z",
		})
		plain := world.SMS("p")
		delayed := world.SMS("l", world.Fields{"not_before": "2126-01-01T00:00:00Z"})
		waiting := world.SMS("m", world.Fields{"not_before": "2126-01-01T00:00:00Z"})
		w.Accept("ch", full, plain, delayed, waiting)
		w.Sent(2)
		other := func(c world.Fields, name string, value any) world.Fields {
			return world.SMS(fmt.Sprint(c["key"]), c, world.Fields{name: value})
		}
		check := func() {
			again(w, full, plain)
			again(w, other(full, "not_before", "1998-12-31T22:00:00Z"))
			for name, value := range map[string]any{
				"to": "+15550199", "messages": []string{"k", "k", "K"}, "labels": world.Fields{"a": "1"}, "survey": "t", "priority": "normal",
				"not_before": "1999-01-01T00:00:00Z", "not_after": "2126-01-01T00:00:00.123457Z",
			} {
				reused(w, map[int]string{0: "differs in " + name}, other(full, name, value))
			}
			reused(w, map[int]string{1: "differs in to, messages", 3: "differs in labels"},
				world.SMS("new"), world.SMS("p", world.Fields{"to": "+15550198", "messages": []string{"q"}}), waiting, other(delayed, "labels", world.Fields{"x": "y"}))
		}
		// The same contact twice in one request is rejected before that check.
		w.Want(http.StatusUnprocessableEntity, "POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{plain, plain}})
		w.Report("k", "0", "completed")
		check()
		w.Report("k", "1", "failed")
		w.Report("k", "2", "completed")
		w.Finish("p")
		w.Until("all are done", func() bool { return w.Figure("ch", "in_flight") == 0 })
		check()
		w.Restart()
		check()
		// k failed; the contact requeued from it has another key, and k keeps its own.
		w.Want(http.StatusOK, "POST", "/v1/dead-letters:requeue", world.Fields{"all": true})
		w.Sent(3)
		check()
		w.Finish("k")
	})
}

// Scenario 132, concurrently: of many requests with one new key and different
// content the first is accepted, and a request is stored whole or not at all.
func TestKeys_FirstOfConcurrentUsesWins(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1, world.Fields{"paused": true})
		const rounds, writers = 4, 24
		for round := range rounds {
			answers := make([]world.Answer, writers)
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					// Two keys that other requests use, in varying combinations, and one of its own.
					key := func(n int) world.Fields {
						return world.SMS(fmt.Sprintf("r%d-%d", round, n), world.Fields{"messages": []string{fmt.Sprint("text ", i%3)}})
					}
					answers[i] = w.Request("POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{
						world.SMS(fmt.Sprintf("own-%d-%d", round, i)), key(i % 5), key(5 + i%4),
					}})
				})
			}
			all.Wait()
			stored := map[string]string{} // messages by key
			for _, c := range world.List(w.Want(http.StatusOK, "GET", "/v1/contacts?limit=1000", nil).Body["contacts"]) {
				stored[c["key"].(string)] = fmt.Sprint(c["messages"])
			}
			accepted := 0
			for i, a := range answers {
				_, own := stored[fmt.Sprintf("own-%d-%d", round, i)]
				same := true
				for _, n := range []int{i % 5, 5 + i%4} {
					same = same && stored[fmt.Sprintf("r%d-%d", round, n)] == fmt.Sprintf("[text %d]", i%3)
				}
				switch {
				case a.Status == http.StatusAccepted && own && same:
					accepted++
				case a.Status == http.StatusConflict && a.Body["code"] == "key_reused" && !own && !same:
				default:
					w.Errorf("round %d, request %d: %d, its own contact is stored: %v, with its content: %v: %s", round, i, a.Status, own, same, a.Text)
				}
			}
			if accepted == 0 {
				w.Errorf("round %d: no request was accepted", round)
			}
		}
	})
}

// Scenario 132, surveys: a report repeated with the same key and other messages is
// a duplicate, as when an application is asked twice about one event.
func TestKeys_ReportsThatComeAgainAreRepeats(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		person := w.LaunchSurvey("s", world.BySMS("1d"), 1, 1)[0]
		w.Sent(1)
		w.ReportDisposition("s", person, world.Fields{"disposition": "started", "messages": []string{"one", "two"}, "key": "k"})
		w.ReportDisposition("s", person, world.Fields{"disposition": "started", "messages": []string{"three"}, "key": "k"})
		w.Sent(2)
	})
}
