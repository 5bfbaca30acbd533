package callbacks_test

import (
	"fmt"
	"strings"
	"testing"

	"weir"
	"weir/people"
	"weir/web/webtest"
)

// TestCallbacks_RepeatedAfterAnErasureBringNothingBack: whatever a provider has sent about a person, repeated after the
// person was erased, leaves the number and the words nowhere, is answered with 2xx, and causes no message.
func TestCallbacks_RepeatedAfterAnErasureBringNothingBack(t *testing.T) {
	t.Parallel()
	number := webtest.PhoneCanary[1:]
	message := func(guid, body string) string {
		return "incoming?guid=" + guid + "&from=%2B" + number + "&body=" + body
	}
	notice := func(fields string) string { return "consent?from=%2B" + number + fields }
	for name, paths := range map[string][]string{
		"a message":                 {message("g", "CANARY-text")},
		"a long id":                 {message(strings.Repeat("g", 300), "CANARY-text")},
		"a reused id":               {message("g", "CANARY-text"), message("g", "CANARY-words"), message("g", "STOP")},
		"stop":                      {message("g", "STOP")},
		"help":                      {message("g", "HELP")},
		"stop, and taken back":      {message("g", "STOP"), message("h", "START")},
		"may be a refusal":          {message("g", "please+stop+CANARY")},
		"a report":                  {"status/OWN/completed"},
		"a notice":                  {notice("&refused=true")},
		"a notice with an id":       {notice("&refused=true&id=n")},
		"out, back and out":         {notice("&refused=true&id=1"), notice("&id=2"), notice("&refused=true&id=3")},
		"everything":                {message("g", "STOP"), notice("&refused=true&id=n"), message("i", "START"), message("h", "please+stop+CANARY"), "status/OWN/completed"},
		"twice before it is erased": {message("g", "STOP"), message("g", "STOP"), notice("&refused=true"), notice("&refused=true")},
	} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deleted %v", name, deleted), func(t *testing.T) {
				t.Parallel()
				r := webtest.New(t)
				ch := r.Channel("a", "texts")
				if g := r.Do("PUT", "/v1/purposes/default", `{"help":"We are Weir.","confirmation":"You are out."}`); g.Status >= 300 {
					t.Fatalf("%d %s", g.Status, g.Body)
				}
				own := r.Contact(ch, weir.Progress{}, func(c *weir.Contact) { c.To = webtest.PhoneCanary })
				own = r.Move(own, weir.Progress{State: weir.Active, Attempt: 1})
				if deleted {
					r.Move(own, weir.Progress{State: weir.Done, Attempt: 1, Outcome: weir.Completed, FinishedAt: webtest.Start()})
					r.Do("DELETE", "/v1/channels/a?cancel=true", "")
				}
				send := func() {
					t.Helper()
					for _, path := range paths {
						path = strings.ReplaceAll(path, "OWN", own.Ref.String()+"-1")
						if g := r.Call("", webtest.CallbackPath(ch, path), "", ""); g.Status != 200 {
							t.Fatalf("%s: %d %s", path, g.Status, g.Body)
						}
					}
				}
				send()
				for _, c := range r.All() {
					if c.State != weir.Done {
						r.Move(c, weir.Progress{State: weir.Done, Attempt: 1, Outcome: weir.Completed, FinishedAt: webtest.Start()})
					}
				}
				const person = `{"to":"` + webtest.PhoneCanary + `"}`
				if g := r.Do("POST", "/v1/people:erase", person); g.Status != 200 || !strings.Contains(g.Body, `"complete":true`) {
					t.Fatalf("%d %s", g.Status, g.Body)
				}
				state := func() string {
					states, _, err := r.Consents(t.Context(), people.Canonical(webtest.PhoneCanary), 1)
					if err != nil {
						t.Fatal(err)
					}
					return fmt.Sprint(states)
				}
				events := func() int { return strings.Count(r.Do("GET", "/v1/events", "").Body, `"source":`) }
				before, published, history := state(), events(), len(r.Said())
				for range 2 {
					r.Clock.Advance(2 * people.AnswerEvery)
					send()
				}
				if n := len(r.All()); n > 0 {
					t.Errorf("%d contacts", n)
				}
				if n := events(); n != published {
					t.Errorf("%d events, %d before", n, published)
				}
				waiting, err := r.Undecided(t.Context(), 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				if kept := fmt.Sprintf("%+v", []any{r.Messages(ch), r.Said(), waiting}); strings.Contains(kept, number) || strings.Contains(kept, "CANARY") || len(r.Said()) != history {
					t.Errorf("kept: %s", kept)
				}
				if now := state(); now != before {
					t.Errorf("state %v, before %v", now, before)
				}
			})
		}
	}
}

// TestCallbacks_AStopThatWasErasedBeforeItCountedCounts: the first delivery was stored and could not be recorded.
func TestCallbacks_AStopThatWasErasedBeforeItCountedCounts(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	path := webtest.CallbackPath(ch, "incoming?guid=g&from=%2B"+webtest.PhoneCanary[1:]+"&body=STOP")
	r.People.Refusal = weir.Errorf(weir.CodeUnavailable, "not now")
	if g := r.Call("", path, "", ""); g.Status != 503 {
		t.Fatal(g.Status)
	}
	r.People.Refusal = nil
	if g := r.Do("POST", "/v1/people:erase", `{"to":"`+webtest.PhoneCanary+`"}`); g.Status != 200 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	r.Call("", path, "", "")
	states, history, err := r.Consents(t.Context(), people.Canonical(webtest.PhoneCanary), 10)
	if refused, _ := people.Decide(states, people.AllPurposes); err != nil || !refused {
		t.Errorf("not refused: %+v %v", states, err)
	}
	if len(history) != 1 || history[0].Address+history[0].Words != "" {
		t.Errorf("the history has %+v", history)
	}
}
