package web_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"weir"
	"weir/events"
	"weir/surveys"
	"weir/web"
)

// everybody returns a rig with a phone number wherever one can occur, and the
// tokens of two readers, one of them with pii:read.
func everybody(t *testing.T) (r *rig, tokens bearers, contact string) {
	t.Helper()
	clock := &clock{now: start}
	store := &storeOfEvents{}
	tokens = newBearers(t, clock.Now)
	r = newRig(t, func(o *web.Options) { o.Gate, o.Now, o.Events = tokens.gate, clock.Now, store })
	ch := r.channel("a", "texts")
	c := r.contact(ch, weir.Progress{State: weir.Done, Outcome: weir.Failed, Reason: "no route to " + phoneCanary, ProviderRef: phoneCanary, Attempt: 1}, func(c *weir.Contact) {
		c.Key, c.Survey = "k-"+phoneCanary[1:], "s"
		c.Labels = map[string]string{"phone": phoneCanary[1:], "note": "at " + phoneCanary, phoneCanary: "x", "at 555 999 8877": "y"}
		c.Messages = []string{"is " + phoneCanary + " your number?"}
		c.Call = &weir.Call{CallbackURL: "https://x.example/?n=%2B" + phoneCanary[1:], TwiML: "<Dial>" + phoneCanary + "</Dial>"}
	})
	r.incoming[ch.ID] = []weir.Incoming{{ID: 1, From: phoneCanary[1:], To: phoneCanary, Body: "I am +1 555 999 8877 or " + phoneCanary, GUID: "g", ReceivedAt: start,
		Fields: map[string]string{"sender": phoneCanary, "text": phoneCanary[1:], "guid": "g"}}}
	r.put("s", "")
	r.respondent(1, active, func(p *surveys.Respondent) {
		p.Phone = phoneCanary
		p.Attributes = map[string]string{"other": phoneCanary, "same": phoneCanary[1:], "age": "34"}
	})
	data := `{"tags":{"to":"` + phoneCanary + `"},"text":"call ` + phoneCanary[1:] + `","n":1700000000000000}`
	store.list = []events.Event{
		{ID: 1, Type: "a", Source: "router", Subject: "job/1", At: start, Data: json.RawMessage(data)},
		{ID: 2, Type: "b", Source: "surveys", Subject: "s", At: start, Data: json.RawMessage(data)},
		{ID: 3, Type: events.ContactDone, Source: events.SourceContacts, Subject: "contact/" + c.Ref.String(), At: start, Data: json.RawMessage(`{"contact":"` + c.Ref.String() + `","key":"k-` + phoneCanary[1:] +
			`","to":"` + phoneCanary + `","labels":{"note":"at 555 999 8877","` + phoneCanary + `":"x","at 555 999 8877":"y"},"provider_ref":"` + phoneCanary[1:] + `","reason":"no route to ` + phoneCanary[1:] + `"}`)},
		{ID: 4, Type: events.MessageReceived, Source: events.SourceContacts, Subject: "channel/a/incoming/1", At: start, Data: json.RawMessage(`{"from":"` + phoneCanary[1:] +
			`","to":"` + phoneCanary + `","text":"I am 555 999 8877","guid":"g` + phoneCanary[1:] + `"}`)},
	}
	return r, tokens, c.Ref.String()
}

// storeOfEvents is a log with fixed events.
type storeOfEvents struct {
	events.Log
	list []events.Event
}

func (s *storeOfEvents) EventsSince(_ context.Context, after int64, _ int) ([]events.Event, error) {
	if after < int64(len(s.list)) {
		return s.list[after:], nil
	}
	return nil, nil
}

func (r *rig) as(method, path, body string, token string) got {
	r.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return r.serve(req)
}

func TestAuthMask_NumbersAreMaskedWithoutPII(t *testing.T) {
	t.Parallel()
	r, tokens, contact := everybody(t)
	disposition := `{"disposition":"started"}`
	for _, x := range []struct{ method, path, body, token string }{
		{"GET", "/v1/contacts/" + contact, "", "contacts:read"},
		{"GET", "/v1/contacts?channel=a", "", "contacts:read"},
		{"GET", "/v1/channels/a/incoming", "", "contacts:read"},
		{"GET", "/v1/surveys/s/respondents", "", "contacts:read"},
		{"GET", "/v1/surveys/s/respondents", "", "surveys:admin"},
		{"GET", "/v1/surveys/s/respondents/r1", "", "contacts:read"},
		{"GET", "/v1/surveys/s/results.csv", "", "surveys:admin"},
		{"POST", "/v1/surveys/s/respondents/r1/disposition", disposition, "contacts:write"},
		{"GET", "/v1/events", "", "contacts:read"},
		{"GET", "/v1/events", "", "router"},
	} {
		whole, masked := r.as(x.method, x.path, x.body, apiCanary), r.as(x.method, x.path, x.body, tokens.text[x.token])
		if whole.status != masked.status || x.method == "GET" && whole.status != 200 {
			t.Errorf("%s %s: %d and %d %s", x.method, x.path, whole.status, masked.status, masked.body)
			continue
		}
		if x.method == "GET" && (!strings.Contains(whole.body, phoneCanary[1:]) || !strings.Contains(masked.body, "***77")) {
			t.Errorf("%s: whole:\n%s\nmasked:\n%s", x.path, whole.body, masked.body)
		}
		for _, number := range []string{phoneCanary[1:], "555 999 8877"} {
			if strings.Contains(masked.body, number) {
				t.Errorf("%s shows a number to %s:\n%s", x.path, x.token, masked.body)
			}
		}
		if strings.HasPrefix(x.path, "/v1/events") && !strings.Contains(masked.body, `"n":1700000000000000`) {
			t.Errorf("a number that is none was touched: %s", masked.body)
		}
	}
}

// Without pii:read a token cannot find numbers by trial, and with the scope
// router it can read only the router's events.
func TestAuthMask_FiltersFindNoNumbersByTrial(t *testing.T) {
	t.Parallel()
	r, tokens, _ := everybody(t)
	const byPhone = "/v1/surveys/s/respondents?phone=%2B15559998877"
	for _, x := range []struct {
		path, token string
		want        int
	}{
		{byPhone, "contacts:read", 403}, {byPhone, "surveys:admin", 403}, {byPhone, "configured", 200},
		{"/v1/events?source=surveys", "router", 403}, {"/v1/events?source=router", "router", 200}, {"/v1/events?source=surveys", "contacts:read", 200},
	} {
		if g := r.as("GET", x.path, "", tokens.text[x.token]); g.status != x.want {
			t.Errorf("%s with %s: %d, want %d: %s", x.path, x.token, g.status, x.want, g.body)
		}
	}
	if g := r.as("GET", "/v1/events", "", tokens.text["router"]); strings.Contains(g.body, `"surveys"`) || !strings.Contains(g.body, `"router"`) {
		t.Errorf("with the scope router: %s", g.body)
	}
}
