package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// dryDocuments are the routes that can check without saving: where each saves, two bodies that it takes and one that it refuses.
func dryDocuments() map[string]struct{ method, path, right, other, wrong string } {
	document := `"schedule":{"time_zone":"UTC"}`
	return map[string]struct{ method, path, right, other, wrong string }{
		"channel":  {"PUT", "/v1/channels/a", webtest.GoodTexts, strings.Replace(webtest.GoodTexts, "Our texts", "Theirs", 1), `{"type":"texts","capacity":0,"name":7,"settings":{}}`},
		"limit":    {"PUT", "/v1/limits/a", `{"channels":["texts"],"in_flight":1}`, `{"channels":["texts"],"in_flight":2}`, `{"channels":["gone"],"in_flight":0}`},
		"price":    {"PUT", "/v1/prices/texts", `{"currency":"USD","per_segment":"1"}`, `{"currency":"USD","per_segment":"2"}`, `{"currency":"us","minutes":900}`},
		"purpose":  {"PUT", "/v1/purposes/a", `{"title":"One"}`, `{"title":"Two"}`, `{"title":1,"caps":[{"max":0,"within":"x"}]}`},
		"survey":   {"PUT", "/v1/surveys/a", webtest.Survey(""), webtest.Survey(`"title":"Two",`), `{"title":1,` + document + `}`},
		"token":    {"POST", "/v1/tokens", `{"name":"a","scopes":["contacts:read"]}`, `{"name":"b","scopes":["contacts:read"]}`, `{"name":" ","scopes":["odd"]}`},
		"contacts": {"POST", "/v1/channels/texts/contacts", `{"contacts":[{"to":"+15550001","messages":["x"]}]}`, `{"contacts":[{"to":"+15550002","messages":["x"]}]}`, `{"contacts":[{"to":"","messages":[]},{"messages":["x"],"priority":"odd"}]}`},
	}
}

// Scenario 421.
func TestDryRun_ChecksWhollyAndChangesNothing(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens, store := webtest.NewBearers(t, clock.Now), storetest.SQLite(t)
	trail := auth.NewTrail(store)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now, o.Trail = tokens.Gate, clock.Now, trail })
	r.Channel("texts", "texts")
	r.Channel("calls", "calls")
	for name, x := range dryDocuments() {
		read := x.path
		if x.method == "POST" {
			read = map[string]string{"token": "/v1/tokens", "contacts": "/v1/contacts"}[name]
		}
		for _, step := range []string{"nothing is there", "there is one"} {
			before := r.Do("GET", read, "")
			if got := r.Do(x.method, x.path+"?dry_run=true", x.other); got.Status != 204 || got.Body != "" {
				t.Errorf("%s, %s, right: %d %s", name, step, got.Status, got.Body)
			}
			dry, wet := r.Do(x.method, x.path+"?dry_run=true", x.wrong), r.Do(x.method, x.path, x.wrong)
			if dry.Status != 422 || dry.Body != wet.Body {
				t.Errorf("%s, %s, wrong: %d %s\nwithout a dry run: %d %s", name, step, dry.Status, dry.Body, wet.Status, wet.Body)
			}
			if after := r.Do("GET", read, ""); after.Status != before.Status || after.Status == 200 && after.Body != before.Body {
				t.Errorf("%s, %s: it was %s\nit is %s", name, step, before.Body, after.Body)
			}
			if got := r.Do(x.method, x.path, x.right); got.Status >= 300 {
				t.Fatalf("%s, %s: %d %s", name, step, got.Status, got.Body)
			}
		}
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := store.Audit(t.Context(), operators.AuditFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	if want := (len(dryDocuments()) - 1) * 4; len(entries) != want { // contacts are traffic; dry runs, also those that were refused, are not in it
		t.Errorf("%d entries of the audit log, want %d: %+v", len(entries), want, entries)
	}
}

// What the store alone knows is found, too: a dry run goes the same way as far as the last check.
func TestDryRun_FindsWhatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	r.Channel("calls", "calls")
	for _, x := range [][3]string{
		{"/v1/channels/a", webtest.GoodTexts}, {"/v1/prices/texts", `{"currency":"USD","per_segment":"1"}`}, {"/v1/limits/purse", `{"channels":["texts"],"currency":"USD","money":"5"}`},
	} {
		if got := r.Do("PUT", x[0], x[1]); got.Status != 201 {
			t.Fatalf("%s: %d %s", x[0], got.Status, got.Body)
		}
	}
	for path, body := range map[string]string{
		"/v1/channels/a?create=true&dry_run=true": webtest.GoodTexts,
		"/v1/channels/a?dry_run=true":             `{"type":"calls","settings":{"base_url":"http://p.test","token":"t"}}`,
		"/v1/prices/texts?dry_run=true":           `{"currency":"EUR","per_segment":"1"}`,
	} {
		dry, wet := r.Do("PUT", path, body), r.Do("PUT", strings.Replace(path, "dry_run=true", "dry_run=false", 1), body)
		if dry.Status != wet.Status || dry.Status < 400 || dry.Body != wet.Body {
			t.Errorf("%s: %d %s\nwithout a dry run: %d %s", path, dry.Status, dry.Body, wet.Status, wet.Body)
		}
	}
	if got := r.Do("PUT", "/v1/channels/b?dry_run=true", webtest.GoodTexts, "If-Match", `"1"`); got.Status != 412 {
		t.Errorf("a version of a channel that does not exist: %d %s", got.Status, got.Body)
	}
	if got := r.Do("PUT", "/v1/limits/purse?dry_run=perhaps", `{}`); got.Status != 422 || !strings.Contains(got.Body, "/dry_run") {
		t.Errorf("neither yes nor no: %d %s", got.Status, got.Body)
	}
	webtest.Into[api.ChannelView](t, r.Do("GET", "/v1/channels/a", ""), 200)
}

// A patch is checked as it would be made, against the document as it is.
func TestDryRun_OfAPatchChangesNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	r.Channel("calls", "calls")
	r.Put("flu", "")
	for _, x := range []struct {
		path, patch string
		status      int // of a dry run
	}{
		{"/v1/channels/texts", `{"name":"Other","capacity":7}`, 204},
		{"/v1/channels/texts", `{}`, 204},
		{"/v1/channels/texts", `{"capacity":0,"name":7}`, 422},
		{"/v1/channels/texts", `{"type":"calls"}`, 409},
		{"/v1/channels/gone", `{"capacity":7}`, 404},
		{"/v1/surveys/flu", `{"title":"Other"}`, 204},
		{"/v1/surveys/flu", `{"title":7,"odd":1}`, 422},
		{"/v1/surveys/flu?version=99", `{"title":"Other"}`, 409},
		{"/v1/surveys/gone", `{"title":"Other"}`, 404},
	} {
		at, query, _ := strings.Cut(x.path, "?")
		before := r.Do("GET", at, "")
		dry := r.Do("PATCH", at+"?dry_run=true&"+query, x.patch)
		if dry.Status != x.status || x.status == 204 && dry.Body != "" {
			t.Errorf("%s %s: %d %s", x.path, x.patch, dry.Status, dry.Body)
		}
		if after := r.Do("GET", at, ""); after.Body != before.Body || after.Header.Get("ETag") != before.Header.Get("ETag") {
			t.Errorf("%s %s: it was %s\nit is %s", x.path, x.patch, before.Body, after.Body)
		}
		if wet := r.Do("PATCH", x.path, x.patch); x.status != 204 && (wet.Status != x.status || wet.Body != dry.Body) {
			t.Errorf("%s %s: %d %s\nwithout a dry run: %d %s", x.path, x.patch, dry.Status, dry.Body, wet.Status, wet.Body)
		}
	}
	if got := r.Do("PATCH", "/v1/channels/texts?dry_run=true", `{"capacity":8}`, "If-Match", `"99"`); got.Status != 412 {
		t.Errorf("another version: %d %s", got.Status, got.Body)
	}
}

// A dry run of a survey has the warnings of the request itself, and shows what the survey would be; without any it has no body.
func TestDryRun_HasTheWarningsOfASurvey(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("texts", "texts")
	r.Channel("calls", "calls")
	doubtful := webtest.Survey(`"quota_message":"Goodbye {name}",`)
	for _, step := range []string{"nothing is there", "there is one"} {
		before := r.Do("GET", "/v1/surveys/a", "")
		got := r.Do("PUT", "/v1/surveys/a?dry_run=true", doubtful)
		dry := webtest.Into[api.SurveyView](t, got, 200)
		if after := r.Do("GET", "/v1/surveys/a", ""); after.Status != before.Status || after.Status == 200 && after.Body != before.Body {
			t.Errorf("%s: it was %s\nit is %s", step, before.Body, after.Body)
		}
		put := r.Do("PUT", "/v1/surveys/a", doubtful)
		if put.Status >= 300 {
			t.Fatalf("%s: %d %s", step, put.Status, put.Body)
		}
		wet := webtest.Into[api.SurveyView](t, put, put.Status)
		if diff := cmp.Diff(wet.Warnings, dry.Warnings); diff != "" || len(dry.Warnings) != 1 || dry.Warnings[0].Pointer != "/quota_message" {
			t.Errorf("%s: the dry run warns of %v:\n%s", step, dry.Warnings, diff)
		}
		if dry.Survey != "a" || dry.State != "draft" || dry.QuotaMessage != wet.QuotaMessage || dry.Version != wet.Version-1 {
			t.Errorf("%s: %+v", step, dry)
		}
	}
	if got := r.Do("PUT", "/v1/surveys/a?dry_run=true", webtest.Survey("")); got.Status != 204 || got.Body != "" {
		t.Errorf("without a warning: %d %s", got.Status, got.Body)
	}
}
