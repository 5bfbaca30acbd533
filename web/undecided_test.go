package web_test

import (
	"strings"
	"testing"
	"time"

	consent "weir/people"
)

// A message that may be a refusal is listed as far as the token may read it, and decided once.
func TestUndecided_IsListedAndDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	for range 2 {
		if g := r.call("", callbackPath(ch, "incoming?guid=g&from=%2B15550100235&body=I+want+to+stop+by"), "", ""); g.status != 200 {
			t.Fatalf("%d %s", g.status, g.body)
		}
	}
	if m := r.consents.undecided[0]; len(r.consents.list) != 0 || m.Address != "tel:+15550100235" || m.Found != "stop" || m.Channel != "a" || m.Text != "I want to stop by" {
		t.Fatalf("%+v", m)
	}
	r.consents.undecided = r.consents.undecided[:1]
	if g := r.do("GET", "/v1/consents:undecided?limit=1", ""); g.status != 200 || !strings.Contains(g.body, `"words":"I want to stop by"`) || !strings.Contains(g.body, `"waiting":1`) || !strings.Contains(g.body, `"next_cursor":"1"`) {
		t.Errorf("%d %s", g.status, g.body)
	}
	for query, status := range map[string]int{"?cursor=1": 200, "?cursor=x": 422, "?cursor=-1": 422, "?limit=1001": 422} {
		if g := r.do("GET", "/v1/consents:undecided"+query, ""); g.status != status || status == 200 && !strings.Contains(g.body, `"messages":[]`) {
			t.Errorf("%s: %d %s", query, g.status, g.body)
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
		{`{"id":"1","decision":"refused"}`, 200, `"source":"operator"`},
		{`{"id":"1","decision":"refused"}`, 200, `"status":"refused"`},
		{`{"id":"1","decision":"dismissed"}`, 409, "decided already"},
	} {
		if g := r.do("POST", "/v1/consents:decide", step.body); g.status != step.status || !strings.Contains(g.body, step.want) {
			t.Errorf("%s: %d %s", step.body, g.status, g.body)
		}
	}
	if c := r.consents.list[0]; c.Status != consent.Refused || c.Words != "I want to stop by" || c.By == "" {
		t.Errorf("recorded: %+v", c)
	}
}

// What answers a message is announced to the broker of the channel where it came, in the
// purpose's words; the instant of a message is that of its first delivery.
func TestCallbacks_AnswersAreAnnounced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if g := r.do("PUT", "/v1/purposes/default", `{"help":"We are Weir.","confirmation":"You are out."}`); g.status != 201 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	texts, calls := r.channel("a", "texts"), r.channel("b", "voice")
	for _, path := range []string{
		callbackPath(texts, "incoming?guid=1&from=15550100234&body=Help"), callbackPath(texts, "incoming?guid=2&from=%2B15550100235&body=STOP"),
		callbackPath(texts, "incoming?guid=3&from=12345&body=help"), callbackPath(calls, "incoming?guid=4&from=%2B15550100236&body=help"), callbackPath(texts, "incoming?guid=5&from=%2B15550100237&body=hello"),
	} {
		if g := r.call("", path, "", ""); g.status != 200 {
			t.Fatalf("%s: %d %s", path, g.status, g.body)
		}
	}
	var got []string
	for _, c := range r.announced {
		got = append(got, c.To+" "+c.Messages[0])
	}
	if list := strings.Join(got, ", "); list != "+15550100234 We are Weir., +15550100235 You are out." {
		t.Errorf("announced: %s", list)
	}
	first := r.consents.list[0].At
	r.clock.advance(time.Hour)
	if g := r.call("", callbackPath(texts, "incoming?guid=2&from=%2B15550100235&body=STOP"), "", ""); g.status != 200 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	if again := r.consents.list[1].At; !again.Equal(first) {
		t.Errorf("a repeated message was said at %v, first at %v", again, first)
	}
}
