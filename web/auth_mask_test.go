package web_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"weir"
	"weir/events"
	"weir/surveys"
	"weir/web"
	"weir/web/webtest"
)

// everybody returns a rig with a phone number wherever one can occur, and the
// tokens of two readers, one of them with pii:read.
func everybody(t *testing.T) (r *webtest.Rig, tokens webtest.Bearers, contact, respondent string) {
	t.Helper()
	clock := &webtest.Clock{Instant: webtest.Start()}
	store := &storeOfEvents{}
	tokens = webtest.NewBearers(t, clock.Now)
	r = webtest.New(t, func(o *web.Options) { o.Gate, o.Now, o.Events = tokens.Gate, clock.Now, store })
	ch := r.Channel("a", "texts")
	c := r.Contact(ch, weir.Progress{State: weir.Done, Outcome: weir.Failed, Reason: "no route to " + webtest.PhoneCanary, ProviderRef: webtest.PhoneCanary, Attempt: 1}, func(c *weir.Contact) {
		c.Key, c.Survey = "k-"+webtest.PhoneCanary[1:], "s"
		c.Labels = map[string]string{"phone": webtest.PhoneCanary[1:], "note": "at " + webtest.PhoneCanary, webtest.PhoneCanary: "x", "at 555 999 8877": "y"}
		c.Messages = []string{"is " + webtest.PhoneCanary + " your number?"}
		c.Call = &weir.Call{CallbackURL: "https://x.example/?n=%2B" + webtest.PhoneCanary[1:], TwiML: "<Dial>" + webtest.PhoneCanary + "</Dial>"}
	})
	if _, err := r.Receive(t.Context(), ch.ID, weir.Incoming{From: webtest.PhoneCanary[1:], To: webtest.PhoneCanary, Body: "I am +1 555 999 8877 or " + webtest.PhoneCanary, GUID: "g", ReceivedAt: webtest.Start(),
		Fields: map[string]string{"sender": webtest.PhoneCanary, "text": webtest.PhoneCanary[1:], "guid": "g"}}); err != nil {
		t.Fatal(err)
	}
	r.Put("s", "")
	p := r.Respondent("s", webtest.Active, func(p *surveys.Respondent) {
		p.Phone = webtest.PhoneCanary
		p.Attributes = map[string]string{"other": webtest.PhoneCanary, "same": webtest.PhoneCanary[1:], "age": "34"}
	})
	r.Log(p, surveys.LogEntry{At: webtest.Start(), Event: "ended", Outcome: weir.Failed, Reason: "no route to " + webtest.PhoneCanary})
	data := `{"tags":{"to":"` + webtest.PhoneCanary + `"},"text":"call ` + webtest.PhoneCanary[1:] + `","n":1700000000000000}`
	store.list = []events.Event{
		{ID: 1, Type: "a", Source: "router", Subject: "job/1", At: webtest.Start(), Data: json.RawMessage(data)},
		{ID: 2, Type: "b", Source: "surveys", Subject: "s", At: webtest.Start(), Data: json.RawMessage(data)},
		{ID: 3, Type: events.ContactDone, Source: events.SourceContacts, Subject: "contact/" + c.Ref.String(), At: webtest.Start(), Data: json.RawMessage(`{"contact":"` + c.Ref.String() + `","key":"k-` + webtest.PhoneCanary[1:] +
			`","to":"` + webtest.PhoneCanary + `","labels":{"note":"at 555 999 8877","` + webtest.PhoneCanary + `":"x","at 555 999 8877":"y"},"provider_ref":"` + webtest.PhoneCanary[1:] + `","reason":"no route to ` + webtest.PhoneCanary[1:] + `"}`)},
		{ID: 4, Type: events.MessageReceived, Source: events.SourceContacts, Subject: "channel/a/incoming/1", At: webtest.Start(), Data: json.RawMessage(`{"from":"` + webtest.PhoneCanary[1:] +
			`","to":"` + webtest.PhoneCanary + `","text":"I am 555 999 8877","guid":"g` + webtest.PhoneCanary[1:] + `"}`)},
	}
	return r, tokens, c.Ref.String(), p.ID.String()
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

func TestAuthMask_NumbersAreMaskedWithoutPII(t *testing.T) {
	t.Parallel()
	r, tokens, contact, respondent := everybody(t)
	disposition := `{"disposition":"started"}`
	for _, x := range []struct{ method, path, body, token string }{
		{"GET", "/v1/contacts/" + contact, "", "contacts:read"},
		{"GET", "/v1/contacts?channel=a", "", "contacts:read"},
		{"GET", "/v1/channels/a/incoming", "", "contacts:read"},
		{"GET", "/v1/surveys/s/respondents", "", "contacts:read"},
		{"GET", "/v1/surveys/s/respondents", "", "surveys:admin"},
		{"GET", "/v1/surveys/s/respondents/" + respondent, "", "contacts:read"},
		{"GET", "/v1/surveys/s/results.csv", "", "surveys:admin"},
		{"GET", "/v1/surveys/s/log", "", "contacts:read"},
		{"GET", "/v1/surveys/s/log.csv", "", "surveys:admin"},
		{"GET", "/v1/surveys/s/log.csv?format=ncd", "", "contacts:read"},
		{"POST", "/v1/surveys/s/respondents/" + respondent + "/disposition", disposition, "contacts:write"},
		{"GET", "/v1/events", "", "contacts:read"},
		{"GET", "/v1/events", "", "router"},
	} {
		whole, masked := r.As(x.method, x.path, x.body, webtest.APICanary), r.As(x.method, x.path, x.body, tokens.Text[x.token])
		if whole.Status != masked.Status || x.method == "GET" && whole.Status != 200 {
			t.Errorf("%s %s: %d and %d %s", x.method, x.path, whole.Status, masked.Status, masked.Body)
			continue
		}
		if x.method == "GET" && (!strings.Contains(whole.Body, webtest.PhoneCanary[1:]) || !strings.Contains(masked.Body, "***77")) {
			t.Errorf("%s: whole:\n%s\nmasked:\n%s", x.path, whole.Body, masked.Body)
		}
		for _, number := range []string{webtest.PhoneCanary[1:], "555 999 8877"} {
			if strings.Contains(masked.Body, number) {
				t.Errorf("%s shows a number to %s:\n%s", x.path, x.token, masked.Body)
			}
		}
		if strings.HasPrefix(x.path, "/v1/events") && !strings.Contains(masked.Body, `"n":1700000000000000`) {
			t.Errorf("a number that is none was touched: %s", masked.Body)
		}
	}
}

// Without pii:read a token cannot find numbers by trial, and with the scope
// router it can read only the router's events.
func TestAuthMask_FiltersFindNoNumbersByTrial(t *testing.T) {
	t.Parallel()
	r, tokens, _, _ := everybody(t)
	const byPhone = "/v1/surveys/s/respondents?phone=%2B15559998877"
	for _, x := range []struct {
		path, token string
		want        int
	}{
		{byPhone, "contacts:read", 403}, {byPhone, "surveys:admin", 403}, {byPhone, "configured", 200},
		{"/v1/events?source=surveys", "router", 403}, {"/v1/events?source=router", "router", 200}, {"/v1/events?source=surveys", "contacts:read", 200},
	} {
		if g := r.As("GET", x.path, "", tokens.Text[x.token]); g.Status != x.want {
			t.Errorf("%s with %s: %d, want %d: %s", x.path, x.token, g.Status, x.want, g.Body)
		}
	}
	if g := r.As("GET", "/v1/events", "", tokens.Text["router"]); strings.Contains(g.Body, `"surveys"`) || !strings.Contains(g.Body, `"router"`) {
		t.Errorf("with the scope router: %s", g.Body)
	}
}
