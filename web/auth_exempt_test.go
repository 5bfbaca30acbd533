package web_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"weir/api"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// A purpose that reaches people who refused needs a scope of its own, wherever it is used, all of a request or nothing; who
// used it is in the audit log.
func TestExempt_PurposesNeedTheirScope(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens, store := webtest.NewBearers(t, clock.Now), storetest.SQLite(t)
	trail := auth.NewTrail(store)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now, o.Trail = tokens.Gate, clock.Now, trail })
	ch := r.Channel("a", "texts")
	const exempt = `{"exempt_from":["consent"],"exempt_reason":"floods"}`
	for name, rules := range map[string]string{"emergency": exempt, "reminders": `{"title":"x"}`} {
		if g := r.As("PUT", "/v1/purposes/"+name, rules, webtest.APICanary); g.Status != 201 {
			t.Fatal(g.Body)
		}
	}
	forPurpose := func(purpose string) string {
		c := webtest.Text("")
		if purpose != "" {
			c = webtest.Text(`,"purpose":"` + purpose + `"`)
		}
		return webtest.Batch(webtest.Text(""), c)
	}
	file := func(purpose string) string {
		return "to,text,purpose\n+15550001,hello,\n+15550002,hello," + purpose + "\n"
	}
	pilot := `{"respondents":[{"phone":"+15550001","attributes":{"first_name":"A","age":"20"}}]}`
	contacts, plain := "/v1/channels/"+ch.Name+"/contacts", forPurpose("reminders")
	for _, x := range []struct {
		scopes       string
		method, path string
		body         string
		refused      string // the pointer of the mistake; empty: it may
	}{
		{"contacts:write", "POST", contacts, forPurpose(""), ""},
		{"contacts:write", "POST", contacts, plain, ""},
		{"contacts:write", "POST", contacts, forPurpose("emergency"), "/contacts/1/purpose"},
		{"contacts:write@a", "POST", contacts, forPurpose("emergency"), "/contacts/1/purpose"},
		{"contacts:write contacts:read channels:admin surveys:admin people:admin pii:read", "POST", contacts, forPurpose("emergency"), "/contacts/1/purpose"},
		{"contacts:write contacts:exempt", "POST", contacts, forPurpose("emergency"), ""},
		{"contacts:write@a contacts:exempt", "POST", contacts, forPurpose("emergency"), ""},
		{"surveys:admin", "PUT", "/v1/surveys/s1", webtest.Survey(`"purpose":"reminders",`), ""},
		{"surveys:admin", "PUT", "/v1/surveys/s2", webtest.Survey(`"purpose":"emergency",`), "/purpose"},
		{"surveys:admin", "PATCH", "/v1/surveys/s1", `{"purpose":"emergency"}`, "/purpose"},
		{"surveys:admin contacts:exempt", "PUT", "/v1/surveys/s3", webtest.Survey(`"purpose":"emergency",`), ""},
		{"surveys:admin contacts:exempt", "PATCH", "/v1/surveys/s1", `{"purpose":"emergency"}`, ""},
	} {
		g := r.As(x.method, x.path, x.body, r.Token(strings.Fields(x.scopes)...))
		may := g.Status/100 == 2
		if may != (x.refused == "") || !may && (g.Status != 422 || !strings.Contains(g.Body, `"pointer":"`+x.refused+`","code":"exempt"`) || !strings.Contains(g.Body, "contacts:exempt")) {
			t.Errorf("%s %s with %s: %d %s", x.method, x.path, x.scopes, g.Status, g.Body)
		}
	}
	for scopes, may := range map[string]bool{"contacts:write": false, "contacts:write@a": false, "contacts:write contacts:exempt": true} {
		g := r.Do("POST", contacts+":import?run="+url.QueryEscape(scopes), file("emergency"), "Content-Type", "text/csv", "Authorization", "Bearer "+r.Token(strings.Fields(scopes)...))
		got := webtest.Into[api.ContactImport](t, g, 200)
		if may != (got.Rejected == 0 && got.Queued == 2) || !may && (got.Queued != 1 || len(got.Errors) != 1 || got.Errors[0].Column != "purpose" || !strings.Contains(got.Errors[0].Reason, "contacts:exempt")) {
			t.Errorf("a file with %s: %s", scopes, g.Body)
		}
	}
	// The purpose of a survey becomes exempt after the survey was put.
	for _, name := range []string{"l1", "l2"} {
		if g := r.As("PUT", "/v1/surveys/"+name, webtest.Survey(`"purpose":"reminders",`), r.Token("surveys:admin")); g.Status != 201 {
			t.Fatal(g.Body)
		}
	}
	if g := r.As("PUT", "/v1/purposes/reminders", exempt, webtest.APICanary); g.Status != 200 {
		t.Fatal(g.Body)
	}
	for _, x := range []struct{ method, path, body string }{{"PUT", "/v1/surveys/l1/pilots/1", pilot}, {"POST", "/v1/surveys/l2:launch", ""}} {
		if g := r.As(x.method, x.path, x.body, r.Token("surveys:admin")); g.Status != 422 || !strings.Contains(g.Body, `"pointer":"/purpose","code":"exempt"`) {
			t.Errorf("%s: %d %s", x.path, g.Status, g.Body)
		}
		if g := r.As(x.method, x.path, x.body, r.Token("surveys:admin", "contacts:exempt")); g.Status/100 != 2 {
			t.Errorf("%s with the scope: %d %s", x.path, g.Status, g.Body)
		}
	}
	if g := r.As("PUT", "/v1/purposes/default", exempt, webtest.APICanary); g.Status/100 != 2 {
		t.Fatal(g.Body)
	}
	if g := r.As("POST", contacts, forPurpose(""), r.Token("contacts:write")); g.Status != 422 || !strings.Contains(g.Body, `"/contacts/0/purpose","code":"exempt"`) {
		t.Errorf("the default purpose: %d %s", g.Status, g.Body)
	}
	if err := trail.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	used, imported := 0, 0
	for _, e := range webtest.Into[api.AuditList](t, r.As("GET", "/v1/audit?limit=500", "", webtest.APICanary), 200).Entries {
		if e.Action == "import-contacts" && slices.ContainsFunc(e.Changes, func(c api.AuditChangeView) bool {
			return c.Field == "contacts for emergency" && c.After == "1; exempt: floods"
		}) {
			imported++
		}
		if e.Action != "post-contacts" {
			continue
		}
		used++
		if e.Subject != "a" || e.Token == "" || len(e.Changes) != 1 || e.Changes[0].Field != "contacts for emergency" || e.Changes[0].After != "1; exempt: floods" {
			t.Errorf("the audit log has %+v", e)
		}
	}
	if used != 2 {
		t.Errorf("%d requests for exempt contacts are in the audit log, want 2", used)
	}
	if imported != 1 {
		t.Errorf("%d files with exempt contacts are in the audit log, want 1", imported)
	}
}
