package web_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"weir/api"
	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

func TestAuditLog_ListsChangesAndWhoMadeThem(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens, store := webtest.NewBearers(t, clock.Now), storetest.SQLite(t)
	trail := auth.NewTrail(store)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now, o.Trail = tokens.Gate, clock.Now, trail })
	admin := tokens.Text["channels:admin"]
	for _, x := range []struct{ method, path, body, token string }{
		{"PUT", "/v1/channels/a", webtest.GoodTexts, admin},
		{"GET", "/v1/channels/a", "", admin},                                                    // no change
		{"POST", "/v1/channels/a/contacts", webtest.Batch(webtest.Text("")), webtest.APICanary}, // excluded: traffic
		{"PUT", "/v1/channels/b", webtest.GoodTexts, "nobody's"},                                // invalid token
		{"PUT", "/v1/channels/b", webtest.GoodTexts, tokens.Text["contacts:write"]},             // lacks the scope
		{"PATCH", "/v1/channels/a", `{"paused":1}`, admin},                                      // invalid
		{"PUT", "/v1/channels/" + webtest.PhoneCanary[1:], webtest.GoodTexts, admin},            // a name like a phone number
		{"POST", "/v1/surveys/s:launch", "", webtest.APICanary},                                 // no such survey
		{"DELETE", "/v1/contacts/CANARY%20text", "", tokens.Text["contacts:write"]},             // not an id
	} {
		r.As(x.method, x.path, x.body, x.token)
	}
	if page := webtest.Into[api.AuditList](t, r.As("GET", "/v1/audit", "", admin), 200); len(page.Entries) != 0 {
		t.Errorf("a request waited for the store: %+v", page)
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for cursor := ""; ; {
		page := webtest.Into[api.AuditList](t, r.As("GET", "/v1/audit?limit=4&cursor="+cursor, "", admin), 200)
		for _, e := range page.Entries {
			who := "nobody"
			for name, text := range tokens.Text {
				if id, ok := operators.TokenID(text); ok && id == e.Token || e.Token == "configured-1" && name == "configured" {
					who = name
				}
			}
			got = append(got, strings.Join([]string{who, e.Action, e.Subject, map[bool]string{true: "done", false: "refused"}[e.Status < 400]}, " "))
			if !e.At.Equal(webtest.Start()) || e.Request == "" {
				t.Errorf("%+v", e)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	want := []string{
		"contacts:write cancel-contact  refused", "configured launch-survey s refused", "channels:admin put-channel ***77 done",
		"channels:admin patch-channel a refused", "contacts:write put-channel b refused", "channels:admin put-channel a done",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if g := r.As("GET", "/v1/audit?cursor=x", "", admin); g.Status != 422 {
		t.Errorf("cursor: %d", g.Status)
	}
	if !strings.Contains(r.Logs.String(), "level=INFO msg=\"http request\" route=/v1/channels/{channel} method=PUT status=201") {
		t.Error("the log does not tell of a change")
	}
	for _, part := range []string{"route=/v1/channels/{channel} method=PATCH status=422 channel=a ", "status=201 channel=***77 ", " survey=s "} {
		if !strings.Contains(r.Logs.String(), part) {
			t.Errorf("the log lacks %q", part)
		}
	}
}

// brokenAudit is a store that does not respond.
type brokenAudit struct {
	operators.AuditStore
	down bool
}

func (b *brokenAudit) AddAudit(ctx context.Context, list []operators.AuditEntry) error {
	if b.down {
		return errors.New("down")
	}
	return b.AuditStore.AddAudit(ctx, list)
}

// While the store is down, a bounded number of entries wait in memory.
func TestAuditLog_WaitsForItsStore(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	broken := &brokenAudit{store, true}
	trail := auth.NewTrail(broken)
	r := webtest.New(t, func(o *web.Options) { o.Trail = trail })
	change := func() { r.As("DELETE", "/v1/contacts/x", "", webtest.APICanary) }
	change()
	if err := trail.Write(t.Context()); err == nil {
		t.Error("the failure is not told")
	}
	for range 10_004 {
		change()
	}
	broken.down = false
	if err := trail.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "5 audit log entries") {
		t.Errorf("what was lost: %v", err)
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := store.Audit(t.Context(), operators.AuditFilter{Limit: 20_000}); err != nil || len(list) != 10_000 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// A dry run changes nothing: the audit log must not say that a token that only
// counted dead letters requeued them.
func TestAuditLog_LeavesOutWhatWasOnlyTried(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	trail := auth.NewTrail(store)
	r, _, list := webtest.DeadRig(t, 3, func(o *web.Options) { o.Trail = trail })
	for _, step := range []string{"requeue", "discard"} {
		for _, body := range []string{`{"contacts":["` + list[0].Ref.String() + `"],"dry_run":true}`, `{"all":true,"dry_run":true}`} {
			if g := r.Do("POST", "/v1/dead-letters:"+step, body); g.Status != 200 {
				t.Fatalf("%d %s", g.Status, g.Body)
			}
		}
	}
	r.Do("POST", "/v1/dead-letters:discard", `{"all":true}`)
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := store.Audit(t.Context(), operators.AuditFilter{Limit: 10})
	entries = slices.DeleteFunc(entries, func(e operators.AuditEntry) bool { return e.Action == "put-channel" })
	if err != nil || len(entries) != 1 || entries[0].Action != "discard-dead-letters" {
		t.Errorf("%+v %v", entries, err)
	}
	if logs := r.Logs.String(); strings.Count(logs, "level=INFO msg=\"http request\" route=/v1/dead-letters") != 1 {
		t.Errorf("the log tells of it:\n%s", logs)
	}
}
