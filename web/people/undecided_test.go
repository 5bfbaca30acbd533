package people_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	consent "weir/people"
	"weir/web/webtest"
)

// A message that may be a refusal is listed as far as the token may read it, and decided once.
func TestUndecided_IsListedAndDecided(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	for range 2 {
		if g := r.Call("", webtest.CallbackPath(ch, "incoming?guid=g&from=%2B15550100235&body=I+want+to+stop+by"), "", ""); g.Status != 200 {
			t.Fatalf("%d %s", g.Status, g.Body)
		}
	}
	waiting, err := r.Undecided(t.Context(), 0, 10)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	id := fmt.Sprint(waiting[0].ID)
	if m := waiting[0]; len(r.Said()) != 0 || m.Address != "tel:+15550100235" || m.Found != "stop" || m.Channel != "a" || m.Text != "I want to stop by" {
		t.Fatalf("%+v", m)
	}
	if g := r.Do("GET", "/v1/consents:undecided?limit=1", ""); g.Status != 200 || !strings.Contains(g.Body, `"words":"I want to stop by"`) || !strings.Contains(g.Body, `"waiting":1`) || !strings.Contains(g.Body, `"next_cursor":"`+id+`"`) {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	for query, status := range map[string]int{"?cursor=" + id: 200, "?cursor=x": 422, "?cursor=-1": 422, "?limit=1001": 422} {
		if g := r.Do("GET", "/v1/consents:undecided"+query, ""); g.Status != status || status == 200 && !strings.Contains(g.Body, `"messages":[]`) {
			t.Errorf("%s: %d %s", query, g.Status, g.Body)
		}
	}
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"id":"x","decision":"maybe"}`, 422, `"/decision"`},
		{`{"id":"9999999999999999999","decision":"refused"}`, 422, `"/id"`},
		{`{"id":"7","decision":"refused"}`, 404, ""},
		{`{"id":"` + id + `","decision":"refused"}`, 200, `"source":"operator"`},
		{`{"id":"` + id + `","decision":"refused"}`, 200, `"status":"refused"`},
		{`{"id":"` + id + `","decision":"dismissed"}`, 409, "decided already"},
	} {
		if g := r.Do("POST", "/v1/consents:decide", step.body); g.Status != step.status || !strings.Contains(g.Body, step.want) {
			t.Errorf("%s: %d %s", step.body, g.Status, g.Body)
		}
	}
	if c := r.Said()[0]; c.Status != consent.Refused || c.Words != "I want to stop by" || c.By == "" {
		t.Errorf("recorded: %+v", c)
	}
}

// What answers a message is announced to the broker of the channel where it came, in the
// purpose's words; the instant of a message is that of its first delivery.
func TestCallbacks_AnswersAreAnnounced(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	if g := r.Do("PUT", "/v1/purposes/default", `{"help":"We are Weir.","confirmation":"You are out."}`); g.Status != 201 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	texts, calls := r.Channel("a", "texts"), r.Channel("b", "voice")
	for _, path := range []string{
		webtest.CallbackPath(texts, "incoming?guid=1&from=15550100234&body=Help"), webtest.CallbackPath(texts, "incoming?guid=2&from=%2B15550100235&body=STOP"),
		webtest.CallbackPath(texts, "incoming?guid=3&from=12345&body=help"), webtest.CallbackPath(calls, "incoming?guid=4&from=%2B15550100236&body=help"), webtest.CallbackPath(texts, "incoming?guid=5&from=%2B15550100237&body=hello"),
	} {
		if g := r.Call("", path, "", ""); g.Status != 200 {
			t.Fatalf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	var got []string
	for _, c := range r.Announced {
		got = append(got, c.To+" "+c.Messages[0])
	}
	if list := strings.Join(got, ", "); list != "+15550100234 We are Weir., +15550100235 You are out." {
		t.Errorf("announced: %s", list)
	}
	first := r.Said()[0].At
	r.Clock.Advance(time.Hour)
	if g := r.Call("", webtest.CallbackPath(texts, "incoming?guid=2&from=%2B15550100235&body=STOP"), "", ""); g.Status != 200 {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	if again := r.Said(); len(again) != 1 || !again[0].At.Equal(first) { // the store knows its key
		t.Errorf("a repeated message: %+v, first at %v", again, first)
	}
}
