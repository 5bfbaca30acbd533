package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/events"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// hookRig is a rig with webhooks in a real store.
func hookRig(t *testing.T, change ...func(*web.Options)) (*webtest.Rig, *persistence.Store, *auth.Trail) {
	t.Helper()
	store := storetest.SQLite(t)
	trail := auth.NewTrail(store)
	r := webtest.New(t, append([]func(*web.Options){func(o *web.Options) {
		o.Events, o.Webhooks, o.Trail = store, store, trail
		o.TestWebhook = func(_ context.Context, w events.Webhook) (events.Try, error) {
			return events.Try{Webhook: w.ID, At: webtest.Start(), Type: events.WebhookTest, Status: 503, Duration: 1500 * time.Microsecond, Error: "status"}, nil
		}
		o.MayCall = func(url string) error {
			if strings.HasPrefix(url, "http://10.") {
				return errors.New("the host has an address that may not be called")
			}
			return nil
		}
	}}, change...)...)
	r.Channel("texts", "texts")
	return r, store, trail
}

const (
	secretURL = "https://app.example/hook?key=CANARY-url"
	goodHook  = `{"url":"` + secretURL + `","types":["weir.contact.*","weir.survey.state"],"channel":"texts","description":"ours"}`
)

func TestWebhooks_AreCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	r, store, trail := hookRig(t)
	g := r.Do("POST", "/v1/webhooks", goodHook)
	v := webtest.Into[api.WebhookView](t, g, 201)
	if g.Header.Get("Location") != "/v1/webhooks/"+v.ID || g.Header.Get("ETag") != `"1"` || !strings.HasPrefix(v.Secret, "whsec_") || v.State != "enabled" || v.URL != secretURL {
		t.Errorf("created %+v with %v", v, g.Header)
	}
	path := "/v1/webhooks/" + v.ID
	if g := r.Do("GET", path, ""); strings.Contains(g.Body, "whsec_") || g.Header.Get("ETag") != `"1"` {
		t.Errorf("shown: %s", g.Body)
	}
	if list := webtest.Into[api.WebhookList](t, r.Do("GET", "/v1/webhooks", ""), 200); len(list.Webhooks) != 1 || list.Webhooks[0].Secret != "" {
		t.Errorf("listed: %+v", list)
	}
	stored, err := store.Webhook(t.Context(), v.ID)
	if err != nil || stored.Secret != v.Secret {
		t.Errorf("stored %+v (%v)", stored, err)
	}
	if g := r.Do("PATCH", path, `{"enabled":false,"channel":""}`, "If-Match", `"7"`); g.Status != 412 || g.Problem(t).Code != weir.CodePrecondition {
		t.Errorf("another version: %d %s", g.Status, g.Body)
	}
	g = r.Do("PATCH", path, `{"enabled":false,"channel":""}`, "If-Match", `"7", "1"`)
	if p := webtest.Into[api.WebhookView](t, g, 200); p.State != "paused" || p.Channel != "" || p.Description != "ours" || g.Header.Get("ETag") != `"2"` || p.Secret != "" {
		t.Errorf("changed: %+v", p)
	}
	first := webtest.Into[api.WebhookView](t, r.Do("POST", path+"/rotate", `{"overlap_hours":2}`), 200)
	if first.Secret == v.Secret || first.OldSecretUntil.IsZero() || !first.OldSecretUntil.Equal(webtest.Start().Add(2*time.Hour)) {
		t.Errorf("rotated: %+v", first)
	}
	second := webtest.Into[api.WebhookView](t, r.Do("POST", path+"/rotate", `{"overlap_hours":1}`), 200)
	if second.OldSecretUntil.IsZero() || !second.OldSecretUntil.Equal(webtest.Start().Add(2*time.Hour)) {
		t.Errorf("rotated within the overlap: %+v", second)
	}
	stored, _ = store.Webhook(t.Context(), v.ID)
	for after, want := range map[time.Duration][]string{0: {second.Secret, first.Secret, v.Secret}, time.Hour: {second.Secret, v.Secret}, 2 * time.Hour: {second.Secret}} {
		if got := stored.Secrets(webtest.Start().Add(after)); !slices.Equal(got, want) {
			t.Errorf("%v after two rotations, %v sign, want %v", after, got, want)
		}
	}
	for range 2 {
		webtest.Into[api.WebhookView](t, r.Do("POST", path+"/rotate", `{}`), 200)
	}
	if g := r.Do("POST", path+"/rotate", `{}`); g.Status != 409 || !strings.Contains(g.Body, "overlap of 0 hours ends them") {
		t.Errorf("a fifth rotation: %d %s", g.Status, g.Body)
	}
	if now := webtest.Into[api.WebhookView](t, r.Do("POST", path+"/rotate", `{"overlap_hours":0}`), 200); !now.OldSecretUntil.IsZero() {
		t.Errorf("rotated at once: %+v", now)
	}
	if stored, _ = store.Webhook(t.Context(), v.ID); len(stored.Secrets(webtest.Start())) != 1 {
		t.Errorf("stored after a rotation without overlap: %+v", stored)
	}
	if d := webtest.Into[api.DeliveryView](t, r.Do("POST", path+"/test", ""), 200); d.Result != "failed" || d.Status != 503 || d.DurationMS != 1.5 || d.Type != "weir.webhook.test" {
		t.Errorf("tested: %+v", d)
	}
	if g := r.Do("DELETE", path, "", "If-Match", `"1"`); g.Status != 412 {
		t.Errorf("deleted another version: %d", g.Status)
	}
	if g := r.Do("DELETE", path, ""); g.Status != 204 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	for _, request := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"PATCH", ""}, {"POST", "/rotate"}, {"POST", "/test"}, {"GET", "/deliveries"}} {
		if g := r.Do(request[0], path+request[1], map[bool]string{true: "{}"}[request[1] == "/rotate" || request[0] == "PATCH"]); g.Status != 404 {
			t.Errorf("%v of a deleted one: %d", request, g.Status)
		}
	}
	wantAudit(t, store, trail, v.ID)
	if log := r.Logs.String(); strings.Contains(log, "CANARY-url") || strings.Contains(log, "whsec_") {
		t.Errorf("the log has secrets:\n%s", log)
	}
}

func wantAudit(t *testing.T, store *persistence.Store, trail *auth.Trail, id string) {
	t.Helper()
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := store.AuditOf(t.Context(), id, 100)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range list {
		actions = append(actions, e.Action)
		for _, c := range e.Changes {
			if (c.Field == "url" || c.Field == "secret") != c.Secret {
				t.Errorf("%s has the change %+v", e.Action, c)
			}
		}
	}
	if len(list) < 7 || actions[0] != "create-webhook" || len(list[0].Changes) == 0 {
		t.Errorf("the audit log has %v", actions)
	}
}

func TestWebhooks_MistakesAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	r, _, _ := hookRig(t)
	refuse := func(body string, mistakes ...webtest.Mistake) {
		t.Helper()
		r.Refuses(t, "POST", "/v1/webhooks", webtest.Refused{Body: body, Mistakes: mistakes})
	}
	refuse(`{}`, webtest.Mistake{Pointer: "/url", Code: "required"}, webtest.Mistake{Pointer: "/types", Code: "required"})
	refuse(`{"url":"https://a.example","types":[]}`, webtest.Mistake{Pointer: "/types", Code: "length"})
	refuse(`{"url":"https://a.example","types":["weir.survey.state","weir.contact.dun","weir.sur*","*","weir.*.done","weir.survey.state"]}`,
		webtest.Mistake{Pointer: "/types/1", Code: "enum"}, webtest.Mistake{Pointer: "/types/2", Code: "enum"}, webtest.Mistake{Pointer: "/types/3", Code: "enum"}, webtest.Mistake{Pointer: "/types/4", Code: "enum"}, webtest.Mistake{Pointer: "/types/5", Code: "duplicate"})
	refuse(`{"url":"http://10.0.0.1/x","types":["weir.*"]}`, webtest.Mistake{Pointer: "/url", Code: "not_allowed"})
	refuse(`{"url":"https://u:p@a.example","types":["weir.*"]}`, webtest.Mistake{Pointer: "/url", Code: "format"})
	refuse(`{"url":"ftp://a.example","types":["weir.*"],"channel":"none","survey":"none","color":1}`,
		webtest.Mistake{Pointer: "/color", Code: "unknown"}, webtest.Mistake{Pointer: "/url", Code: "format"}, webtest.Mistake{Pointer: "/channel", Code: "not_found"}, webtest.Mistake{Pointer: "/survey", Code: "not_found"})
	g := r.Do("POST", "/v1/webhooks", `{"url":"https://a.example","types":["weir.contact.dun"]}`)
	if p := g.Problem(t); !strings.Contains(p.Errors[0].Detail, "weir.contact.done") {
		t.Errorf("the allowed types are not named: %s", g.Body)
	}
	if list := webtest.Into[api.WebhookList](t, r.Do("GET", "/v1/webhooks", ""), 200); len(list.Webhooks) != 0 {
		t.Errorf("created all the same: %+v", list)
	}
	v := webtest.Into[api.WebhookView](t, r.Do("POST", "/v1/webhooks", goodHook), 201)
	path := "/v1/webhooks/" + v.ID
	r.Refuses(t, "PATCH", path, webtest.Refused{Body: `{"types":["nothing"],"url":"x"}`, Mistakes: []webtest.Mistake{{Pointer: "/url", Code: "format"}, {Pointer: "/types/0", Code: "enum"}}})
	r.Refuses(t, "POST", path+"/rotate", webtest.Refused{Body: `{"overlap_hours":169}`, Mistakes: []webtest.Mistake{{Pointer: "/overlap_hours", Code: "range"}}})
	for _, body := range []string{`{}`, `{"event":"1","failed_since":"2026-01-01T00:00:00Z"}`} {
		r.Refuses(t, "POST", path+"/replay", webtest.Refused{Body: body, Mistakes: []webtest.Mistake{{Pointer: "", Code: "required"}}})
	}
	r.Refuses(t, "POST", path+"/replay", webtest.Refused{Body: `{"event":"7"}`, Mistakes: []webtest.Mistake{{Pointer: "/event", Code: "not_found"}}})
	r.Refuses(t, "POST", path+"/replay", webtest.Refused{Body: `{"event":"x"}`, Mistakes: []webtest.Mistake{{Pointer: "/event", Code: "format"}}})
	if g := r.Do("GET", path+"/deliveries?cursor=x", ""); g.Status != 422 {
		t.Errorf("an unknown cursor: %d", g.Status)
	}
}

func TestWebhooks_EventsAreReplayed(t *testing.T) {
	t.Parallel()
	r, store, _ := hookRig(t)
	v := webtest.Into[api.WebhookView](t, r.Do("POST", "/v1/webhooks", goodHook), 201)
	for _, kind := range []string{"weir.survey.state", "weir.channel.state"} {
		if err := store.Emit(t.Context(), events.Event{Type: kind, Source: "surveys", Subject: "s", Data: []byte(`{"channel":"texts"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	path := "/v1/webhooks/" + v.ID
	if g := r.Do("POST", path+"/replay", `{"event":"1"}`); g.Status != 409 || !strings.Contains(g.Body, "will be sent without a replay") {
		t.Errorf("an event that is still to be sent: %d %s", g.Status, g.Body)
	}
	hasPassed(t, store, 2, v.ID)
	if g := webtest.Into[api.ReplayView](t, r.Do("POST", path+"/replay", `{"event":"1"}`), 202); g.Replayed != 1 || g.More {
		t.Errorf("%+v", g)
	}
	if w, err := store.Webhook(t.Context(), v.ID); err != nil || w.Generation != 2 || w.Revision != 1 {
		t.Errorf("after a replay: %+v (%v)", w, err)
	}
	r.Refuses(t, "POST", path+"/replay", webtest.Refused{Body: `{"event":"2"}`, Mistakes: []webtest.Mistake{{Pointer: "/event", Code: "conflict"}}})
	if g := webtest.Into[api.ReplayView](t, r.Do("POST", path+"/replay", `{"failed_since":"2026-01-01T00:00:00Z"}`), 202); g.Replayed != 0 {
		t.Errorf("%+v", g)
	}
	var tries []events.Try
	for n := range 5 {
		tries = append(tries, events.Try{Webhook: v.ID, At: webtest.Start().Add(time.Duration(n) * time.Second), Event: int64(n), Type: "weir.survey.state", Status: 200 + n*100, Error: map[bool]string{true: "status"}[n > 0], Abandoned: n == 4})
	}
	if err := store.AddTries(t.Context(), tries); err != nil {
		t.Fatal(err)
	}
	var got []string
	for cursor := ""; ; {
		page := webtest.Into[api.DeliveryList](t, r.Do("GET", path+"/deliveries?limit=2&cursor="+cursor, ""), 200)
		for _, d := range page.Deliveries {
			got = append(got, d.Event+" "+d.Result)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if want := "4 abandoned,3 failed,2 failed,1 failed, delivered"; strings.Join(got, ",") != want {
		t.Errorf("tries: %v", got)
	}
}

// hasPassed has webhooks be done with the log up to an event.
func hasPassed(t *testing.T, store *persistence.Store, event int64, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := store.Advance(t.Context(), events.Step{Receiver: events.WebhookReceiver(id), Cursor: event}); err != nil {
			t.Fatal(err)
		}
	}
}

// A replay sends only what the webhook gets by its filters.
func TestReplayWebhook_ChecksEveryFilter(t *testing.T) {
	t.Parallel()
	r, store, _ := hookRig(t)
	for i, c := range []struct {
		channel, survey, data string
		status                int
	}{
		{"texts", "", `{"channel":"texts"}`, 202},
		{"texts", "", `{"channel":"two"}`, 422},
		{"texts", "", `{}`, 422},
		{"", "poll", `{"survey":"poll"}`, 202},
		{"", "poll", `{"survey":"other"}`, 422},
		{"texts", "poll", `{"channel":"texts","survey":"other"}`, 422},
		{"texts", "poll", `{"channel":"two","survey":"poll"}`, 422},
		{"texts", "poll", `{"channel":"texts","survey":"poll"}`, 202},
	} {
		w := events.Webhook{
			ID: "whaaaaaaaaaaaaa" + string(rune('a'+i)), URL: secretURL, Types: []string{"weir.*"}, Channel: c.channel, Survey: c.survey,
			Enabled: true, Secret: "whsec_x", Revision: 1, Generation: 1, Created: webtest.Start(), Updated: webtest.Start(),
		}
		if err := store.AddWebhook(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if err := store.Emit(t.Context(), events.Event{Type: "weir.survey.state", Source: "surveys", Subject: "s", Data: []byte(c.data)}); err != nil {
			t.Fatal(err)
		}
		hasPassed(t, store, int64(i+1), w.ID)
		g := r.Do("POST", "/v1/webhooks/"+w.ID+"/replay", `{"event":"`+strconv.Itoa(i+1)+`"}`)
		if g.Status != c.status {
			t.Errorf("filters %q and %q, event with %s: %d, want %d", c.channel, c.survey, c.data, g.Status, c.status)
		}
	}
}

// Personal data goes only where a token with pii:read sends it.
func TestWebhooks_PersonalDataNeedsATokenWithPII(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	b := webtest.NewBearers(t, clock.Now)
	r, store, _ := hookRig(t, func(o *web.Options) { o.Gate, o.Now = b.Gate, clock.Now })
	as := func(name, method, path, body string) webtest.Got {
		return r.Do(method, path, body, "Authorization", "Bearer "+b.Text[name])
	}
	const pii = `{"url":"https://a.example","types":["weir.*"],"pii":true}`
	if g := as(string(operators.ScopeWebhooksAdmin), "POST", "/v1/webhooks", pii); g.Status != http.StatusForbidden || !strings.Contains(g.Body, "pii:read") {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	v := webtest.Into[api.WebhookView](t, as("configured", "POST", "/v1/webhooks", pii), 201)
	for action, body := range map[string]string{"rotate": `{}`, "replay": `{"failed_since":"2026-01-01T00:00:00Z"}`} {
		if g := as(string(operators.ScopeWebhooksAdmin), "POST", "/v1/webhooks/"+v.ID+"/"+action, body); g.Status != http.StatusForbidden || !strings.Contains(g.Body, "pii:read") {
			t.Errorf("%s without pii:read: %d %s", action, g.Status, g.Body)
		}
	}
	if g := as(string(operators.ScopeWebhooksAdmin), "PATCH", "/v1/webhooks/"+v.ID, `{"url":"https://elsewhere.example"}`); g.Status != http.StatusForbidden {
		t.Errorf("it was sent elsewhere: %d", g.Status)
	}
	if g := as(string(operators.ScopeWebhooksAdmin), "PATCH", "/v1/webhooks/"+v.ID, `{"url":"https://elsewhere.example","pii":false}`); g.Status != 200 {
		t.Errorf("without personal data: %d %s", g.Status, g.Body)
	}
	if w, err := store.Webhook(t.Context(), v.ID); err != nil || w.PII {
		t.Errorf("%+v (%v)", w, err)
	}
}
