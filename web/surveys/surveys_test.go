package surveys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/events"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/web"
	surveyapi "weir/web/surveys"
	"weir/web/webtest"
)

const applicationCanary = "CANARY-callback-secret-of-application" // begins with a canary that no response may hold

func TestSurvey_IsWrittenAndRead(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	g := r.Do("PUT", "/v1/surveys/s1", webtest.Survey(`"title":"Spring","region":"MX","stop_words":[],"initial_success_rate":0,"application":{"url":"https://app.test/x","secret":"`+applicationCanary+`"},`))
	v := webtest.Into[api.SurveyView](t, g, 201)
	if g.Header.Get("Location") != "/v1/surveys/s1" || v.Survey != "s1" || v.Title != "Spring" || v.State != surveys.Draft || v.Version != 1 {
		t.Errorf("%s %+v", g.Header.Get("Location"), v)
	}
	if v.Application == nil || *v.Application != (api.ApplicationView{URL: "https://app.test/x", HasSecret: true}) {
		t.Errorf("%+v", v.Application)
	}
	if d := v.SurveyDefinition; d.StopWords == nil || d.InitialSuccessRate == nil || *d.InitialSuccessRate != 0 || *d.Quotas[1].Where["age"].From != 31 || d.Questionnaires["main"]["ivr"][0].Call.CallFlowID != 7 {
		t.Errorf("%+v", v.SurveyDefinition)
	}
	if d := cmp.Diff(v, webtest.Into[api.SurveyView](t, r.Do("GET", "/v1/surveys/s1", ""), 200)); d != "" {
		t.Error(d)
	}
	if r.SurveyNow("s1").Application.Secret != applicationCanary {
		t.Error("the secret is not kept")
	}
	webtest.Into[api.SurveyView](t, r.Do("PUT", "/v1/surveys/s1", webtest.Survey(`"title":"Summer",`)), 200)
	if got := r.SurveyNow("s1"); got.Title != "Summer" || got.Application != (surveys.Application{}) || len(r.People.Changes) != 2 {
		t.Errorf("%+v %v", got, r.People.Changes)
	}
	r.Stands("s1", surveys.Running)
	if g := r.Do("PUT", "/v1/surveys/s1", webtest.Survey("")); g.Status != 409 || g.Problem(t).Code != weir.CodeConflict {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

func TestSurveys_AreListed(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	for _, name := range []string{"c", "a", "b"} {
		r.Put(name, "")
	}
	r.Stands("b", surveys.Running)
	names := func(query string) string {
		l := webtest.Into[api.SurveyList](t, r.Do("GET", "/v1/surveys"+query, ""), 200)
		out := ""
		for _, s := range l.Surveys {
			out += s.Survey
		}
		return out + ">" + l.NextCursor
	}
	for query, want := range map[string]string{"": "abc>", "?limit=2": "ab>c3VydmV5cy9i", "?limit=2&cursor=c3VydmV5cy9i": "c>", "?state=running": "b>", "?state=draft,done": "ac>"} {
		if got := names(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?limit=101", "?state=flying", "?cursor=A", "?colour=1"} {
		if g := r.Do("GET", "/v1/surveys"+query, ""); g.Status != 422 {
			t.Errorf("%s: %d", query, g.Status)
		}
	}
}

func TestSurvey_MistakesAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	before := r.Writes()
	replace := func(old, by string) string { return strings.Replace(webtest.Survey(""), old, by, 1) }
	for name, tc := range map[string]struct {
		body string
		want []webtest.Mistake
	}{
		"unknown field":          {webtest.Survey(`"colour":1,`), []webtest.Mistake{{Pointer: "/colour", Code: "unknown"}}},
		"unknown field inside":   {replace(`"from":"09:00"`, `"from":"09:00","until":1`), []webtest.Mistake{{Pointer: "/schedule/windows/0/until", Code: "unknown"}}},
		"nothing":                {`{}`, []webtest.Mistake{{Pointer: "/schedule", Code: "required"}, {Pointer: "/modes", Code: "required"}, {Pointer: "/arms", Code: "required"}, {Pointer: "/questionnaires", Code: "required"}}},
		"no zone":                {replace("America/Mexico_City", "Mars/Base"), []webtest.Mistake{{Pointer: "/schedule/time_zone", Code: "unknown"}}},
		"window that is no time": {replace("09:00", "nine"), []webtest.Mistake{{Pointer: "/schedule/windows/0/from", Code: "format"}}},
		"window backwards":       {replace("09:00", "19:00"), []webtest.Mistake{{Pointer: "/schedule/windows/0/to", Code: "range"}}},
		"ladder of 0":            {replace("10m 2h", "0m"), []webtest.Mistake{{Pointer: "/modes/sms/retries", Code: "format"}}},
		"ladder of words":        {replace("10m 2h", "ten minutes"), []webtest.Mistake{{Pointer: "/modes/sms/retries", Code: "format"}}},
		"ratios":                 {replace(`"arms":[{"modes":["sms","ivr"]}]`, `"arms":[{"modes":["sms"],"ratio":50},{"modes":["ivr"],"ratio":40}]`), []webtest.Mistake{{Pointer: "/arms", Code: "range"}}},
		"mode that is a number":  {replace(`"channel":"calls"`, `"channel":7`), []webtest.Mistake{{Pointer: "/modes/ivr/channel", Code: "type"}}},
		"number that is a text":  {replace(`"from":31`, `"from":"31"`), []webtest.Mistake{{Pointer: "/quotas/1/where/age/from", Code: "type"}}},
		"number too large":       {replace(`"call_flow_id":7`, `"call_flow_id":9007199254740993`), []webtest.Mistake{{Pointer: "/questionnaires/main/ivr/0/call/call_flow_id", Code: "range"}}},
		"buckets that overlap":   {replace(`"from":31`, `"from":30`), []webtest.Mistake{{Pointer: "/quotas/1", Code: "overlap"}}},
		"application":            {webtest.Survey(`"application":{"url":"ftp://x"},`), []webtest.Mistake{{Pointer: "/application/url", Code: "format"}}},
		"application's password": {webtest.Survey(`"application":{"url":"https://u:p@x"},`), []webtest.Mistake{{Pointer: "/application/url", Code: "format"}}},
		"null":                   {webtest.Survey(`"cutoff":null,`), []webtest.Mistake{{Pointer: "/cutoff", Code: "type"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := r.Do("PUT", "/v1/surveys/s1", tc.body)
			if d := cmp.Diff(tc.want, webtest.MistakesOf(t, g)); g.Status != 422 || d != "" {
				t.Errorf("%d (-want +got):\n%s", g.Status, d)
			}
		})
	}
	r.People.Wrong = []weir.FieldError{{Pointer: "/modes/sms/channel", Code: "unknown", Detail: "there is no such channel"}}
	if d := cmp.Diff([]webtest.Mistake{{Pointer: "/modes/sms/channel", Code: "unknown"}}, webtest.MistakesOf(t, r.Do("PUT", "/v1/surveys/s1", webtest.Survey("")))); d != "" {
		t.Error(d)
	}
	if n := r.Writes() - before; n != 0 || len(r.People.Changes) != 0 {
		t.Errorf("%d rows were written", n)
	}
	r.People.Wrong = nil
	for _, name := range []string{"A", "a:b", ".a", strings.Repeat("a", 64)} {
		if g := r.Do("PUT", "/v1/surveys/"+name, webtest.Survey("")); g.Status != 422 || webtest.MistakesOf(t, g)[0].Pointer != "/survey" {
			t.Errorf("%s: %d %s", name, g.Status, g.Body)
		}
	}
}

func TestSurvey_IsPatched(t *testing.T) {
	t.Parallel()
	quota := `{"quotas":[{"where":{"age":{"from":18,"to":30}},"quota":11},{"where":{"age":{"from":31}},"quota":20}]}`
	for _, tc := range []struct {
		name, patch string
		state       surveys.State
		status      int
		conflict    string // the field in conflict
	}{
		{"nothing", `{}`, surveys.Running, 200, ""},
		{"title", `{"title":"x"}`, surveys.Done, 200, ""},
		{"application", `{"application":{"url":"https://b.test"}}`, surveys.Stopping, 200, ""},
		{"schedule", `{"schedule":{"weekdays":["fri"]}}`, surveys.Running, 200, ""},
		{"numbers", `{"cutoff":5,"weight":2,"limit_per_minute":9,"batch_size":3,"initial_success_rate":0.5,"fallback_delay":"3h","stop_words":["alto"],"count_partial":true}`, surveys.Paused, 200, ""},
		{"retries", `{"modes":{"sms":{"retries":"1h"},"ivr":{"retries":"2h"}}}`, surveys.Running, 200, ""},
		{"retries taken away", `{"modes":{"sms":{"retries":null}}}`, surveys.Running, 200, ""},
		{"number of a quota", quota, surveys.Running, 200, ""},
		{"quotas of a draft", `{"quotas":null}`, surveys.Draft, 200, ""},
		{"quotas", `{"quotas":null}`, surveys.Running, 409, "/quotas"},
		{"a quota's attribute", strings.Replace(quota, "31", "32", 1), surveys.Running, 409, "/quotas"},
		{"channel", `{"modes":{"sms":{"channel":"others"}}}`, surveys.Running, 409, "/modes"},
		{"mode", `{"modes":{"mobileweb":{"channel":"texts"}}}`, surveys.Paused, 409, "/modes"},
		{"arms", `{"arms":[{"modes":["sms"]}]}`, surveys.Running, 409, "/arms"},
		{"content", `{"questionnaires":{"main":{"sms":[{"messages":["Hi"]}]}}}`, surveys.Running, 409, "/questionnaires"},
		{"content of a draft", `{"questionnaires":{"main":{"sms":[{"messages":["Hi"]}]}}}`, surveys.Draft, 200, ""},
		{"region", `{"region":"MX"}`, surveys.Running, 409, "/region"},
		{"cutoff when over", `{"cutoff":1}`, surveys.Done, 409, "/cutoff"},
		{"bad", `{"cutoff":-1}`, surveys.Running, 422, ""},
		{"type", `{"cutoff":"1"}`, surveys.Running, 422, ""},
		{"unknown", `{"colour":null}`, surveys.Running, 422, ""},
		{"unknown inside", `{"schedule":{"colour":1}}`, surveys.Running, 422, ""},
		{"required taken away", `{"schedule":null}`, surveys.Running, 422, ""},
		{"no object", `[]`, surveys.Running, 422, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			r.Put("s1", `"application":{"url":"https://a.test","secret":"`+applicationCanary+`"},`)
			before := r.Stands("s1", tc.state)
			g := r.Do("PATCH", "/v1/surveys/s1", tc.patch, "Content-Type", "application/merge-patch+json")
			if g.Status != tc.status {
				t.Fatalf("%d %s", g.Status, g.Body)
			}
			after := r.SurveyNow("s1")
			if (g.Status == 200 && tc.name != "nothing") != (after.Version == before.Version+1) || after.Application.Secret != applicationCanary {
				t.Errorf("version %d, was %d; %v", after.Version, before.Version, after.Application)
			}
			if tc.conflict != "" && (len(g.Problem(t).Errors) != 1 || g.Problem(t).Errors[0].Pointer != tc.conflict) {
				t.Error(g.Body)
			}
		})
	}
}

// overtaken is a store in which a survey is changed by others, just before.
type overtaken struct {
	surveyapi.Store
	by *func()
}

func (s overtaken) UpdateSurvey(ctx context.Context, v surveys.Survey, told ...events.Event) (surveys.Survey, error) {
	if *s.by != nil {
		(*s.by)()
	}
	return s.Store.UpdateSurvey(ctx, v, told...)
}

func TestSurvey_PatchOfAnOtherVersionIsAConflict(t *testing.T) {
	t.Parallel()
	var meanwhile func()
	r := webtest.New(t, func(o *web.Options) { o.SurveyStore = overtaken{o.SurveyStore, &meanwhile} })
	r.Put("s1", "")
	if g := r.Do("PATCH", "/v1/surveys/s1?version=2", `{"title":"x"}`); g.Status != 409 {
		t.Errorf("%d", g.Status)
	}
	if g := r.Do("PATCH", "/v1/surveys/s1?version=1", `{"title":"x"}`); g.Status != 200 {
		t.Errorf("%d", g.Status)
	}
	meanwhile = func() { r.Stands("s1", surveys.Draft) }
	if g := r.Do("PATCH", "/v1/surveys/s1", `{"title":"y"}`); g.Status != 409 || g.Problem(t).Code != weir.CodeConflict {
		t.Errorf("%d", g.Status)
	}
	meanwhile = nil
	webtest.Into[api.SurveyView](t, r.Do("PATCH", "/v1/surveys/s1", `{"application":null,"title":null}`), 200)
	if s := r.SurveyNow("s1"); s.Title != "" || s.Application != (surveys.Application{}) {
		t.Errorf("%+v", s)
	}
}

func TestSurvey_StepsLeadFromStateToState(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s.1-a", "")
	for _, tc := range []struct {
		step   string
		status int
		state  surveys.State
	}{
		{"pause", 409, surveys.Draft}, {"launch", 200, surveys.Running}, {"launch", 200, surveys.Running}, {"pause", 200, surveys.Paused}, {"pause", 200, surveys.Paused},
		{"resume", 200, surveys.Running}, {"stop", 200, surveys.Stopping}, {"stop", 200, surveys.Stopping}, {"launch", 409, surveys.Stopping},
	} {
		g := r.Do("POST", "/v1/surveys/s.1-a:"+tc.step, "")
		if g.Status != tc.status || r.SurveyNow("s.1-a").State != tc.state {
			t.Errorf("%s: %d %s", tc.step, g.Status, g.Body)
		}
		if g.Status == 200 && webtest.Into[api.SurveyView](t, g, 200).State != tc.state {
			t.Errorf("%s: %s", tc.step, g.Body)
		}
	}
	for path, status := range map[string]int{"s.1-a:fly": 404, "s.1-a:": 404, "s.1-a": 405, "nobody:launch": 404, "S:launch": 404, ":launch": 404, "a:b:launch": 404, "s.1-a:finish": 404} {
		if g := r.Do("POST", "/v1/surveys/"+path, ""); g.Status != status || g.Status == 405 && !strings.Contains(g.Header.Get("Allow"), "PATCH") {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	if n := r.Counter("weir_http_requests_total", "route", "/v1/surveys/{survey}:launch", "method", "POST", "status", "2xx"); n != 2 {
		t.Errorf("counted %v", n)
	}
}

// Users change nothing about a locked survey; its respondents they do.
func TestSurvey_ThatIsLockedIsChangedByRespondentsOnly(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	for _, tc := range []struct {
		method, path, body string
		status             int
		code               weir.Code
		locked             bool
	}{
		{"POST", "s1:lock", "", 409, weir.CodeConflict, false},
		{"POST", "s1:launch", "", 200, "", false},
		{"POST", "s1:unlock", "", 200, "", false},
		{"POST", "s1:lock", "", 200, "", true},
		{"POST", "s1:lock", "", 200, "", true},
		{"POST", "s1:launch", "", 200, "", true},
		{"POST", "s1:pause", "", 409, weir.CodeLocked, true},
		{"POST", "s1:stop", "", 409, weir.CodeLocked, true},
		{"PATCH", "s1", `{"title":"x"}`, 409, weir.CodeLocked, true},
		{"DELETE", "s1", "", 409, weir.CodeLocked, true},
		{"POST", "s1/respondents", `{"respondents":[{"phone":"+15550001","attributes":{"first_name":"Ana"}}]}`, 200, "", true},
		{"POST", "nobody:lock", "", 404, weir.CodeNotFound, true},
		{"POST", "s1:unlock", "", 200, "", false},
		{"POST", "s1:pause", "", 200, "", false},
	} {
		g := r.Do(tc.method, "/v1/surveys/"+tc.path, tc.body)
		if locked := r.SurveyNow("s1").Locked; g.Status != tc.status || locked != tc.locked {
			t.Errorf("%s %s: %d, locked: %v; %s", tc.method, tc.path, g.Status, locked, g.Body)
		}
		if tc.status == 409 && (g.Problem(t).Code != tc.code || tc.code == weir.CodeLocked && !strings.Contains(g.Problem(t).Detail, "surveys:admin can unlock it")) {
			t.Errorf("%s %s: %s", tc.method, tc.path, g.Body)
		}
		if view := webtest.Into[api.SurveyView](t, r.Do("GET", "/v1/surveys/s1", ""), 200); view.Locked != tc.locked {
			t.Errorf("%s %s: the survey as read is locked: %v", tc.method, tc.path, view.Locked)
		}
	}
}

func TestSurvey_IsDeleted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	for _, state := range []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping} {
		r.Stands("s1", state)
		if g := r.Do("DELETE", "/v1/surveys/s1", ""); g.Status != 409 || !strings.Contains(g.Problem(t).Detail, "delete it when it is done") {
			t.Errorf("%s: %d %s", state, g.Status, g.Body)
		}
	}
	r.Stands("s1", surveys.Done)
	for i, status := range []int{204, 404} {
		if g := r.Do("DELETE", "/v1/surveys/s1", ""); g.Status != status {
			t.Errorf("%d. %d %s", i, g.Status, g.Body)
		}
	}
	r.Put("s1", "")
}

func TestSurvey_StatsShowSumsQuotasAndChannels(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.People.Statistic = surveys.Stats{
		Sums: surveys.Sums{
			Respondents: map[surveys.Group]int{
				{Status: surveys.Active, Disposition: surveys.Queued, Bucket: 1}:                     3,
				{Status: surveys.Active, Disposition: surveys.Queued, Bucket: surveys.NoBucket}:      4,
				{Status: surveys.Completed, Disposition: surveys.Complete, Bucket: 1, Counted: true}: 5,
			},
			Attempts: map[surveys.Made]int{{Mode: surveys.SMS, Outcome: weir.Completed}: 9, {Mode: surveys.IVR, Outcome: weir.Busy}: 2},
		},
		Tally: surveys.Tally{Counted: 5}, Target: 30, Rate: 1.5, EndsAt: webtest.Start(), Success: 0.25, Open: true, Next: calendar.Span{Open: webtest.Start(), Close: webtest.Start().Add(1)},
		Quotas: []surveys.BucketStats{{Bucket: surveys.Bucket{Quota: 10}, Counted: 5}}, Zoneless: 71,
		Using: []surveys.ChannelUse{{Mode: surveys.SMS, Channel: "texts", Health: weir.Up, Since: webtest.Start()}},
	}
	v := webtest.Into[api.StatsView](t, r.Do("GET", "/v1/surveys/s1/stats", ""), 200)
	sum := 0
	for _, n := range v.Statuses {
		sum += n
	}
	if sum != 12 || v.Respondents != 12 || len(v.Statuses) != 6 || len(v.Dispositions) != 13 || v.Dispositions["queued"] != 7 || v.Counted != 5 || v.Target != 30 {
		t.Errorf("%+v", v)
	}
	if d := cmp.Diff([]api.AttemptsView{{Mode: "ivr", Outcome: "busy", Count: 2}, {Mode: "sms", Outcome: "completed", Count: 9}}, v.Attempts); d != "" {
		t.Error(d)
	}
	if v.Quotas[0].Counted != 5 || v.Channels[0].State != string(weir.Up) || !v.Window.OpensAt.Equal(webtest.Start()) || v.RatePerMinute != 1.5 || !v.EndsAt.Equal(webtest.Start()) || v.Zoneless != surveys.RespondentID(71).String() {
		t.Errorf("%+v", v)
	}
}

// TestStats_FunnelCountsWhatHappened: a refusal takes nobody out of the steps before it.
func TestStats_FunnelCountsWhatHappened(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.People.Statistic.Sums.Respondents = map[surveys.Group]int{
		{Status: surveys.Pending, Disposition: surveys.Registered, Furthest: surveys.Registered}: 3,
		{Status: surveys.Failed, Disposition: surveys.Refused, Furthest: surveys.Contacted}:      2,
		{Status: surveys.Completed, Disposition: surveys.Refused, Furthest: surveys.Started}:     1,
		{Status: surveys.Completed, Disposition: surveys.Complete, Furthest: surveys.Complete}:   4,
	}
	v := webtest.Into[api.StatsView](t, r.Do("GET", "/v1/surveys/s1/stats", ""), 200)
	want := []api.StepView{{Step: "registered", Respondents: 10}, {Step: "queued", Respondents: 7}, {Step: "contacted", Respondents: 7}, {Step: "started", Respondents: 5}, {Step: "interim partial", Respondents: 4}, {Step: "completed", Respondents: 4}}
	if d := cmp.Diff(want, v.Funnel); d != "" {
		t.Error(d)
	}
}

// TestSurvey_ExamplesWork: the examples in the API description are accepted.
func TestSurvey_ExamplesWork(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	tried, first := 0, ""
	for _, id := range []string{"put-survey", "patch-survey", "post-respondents", "post-disposition"} {
		for path, ops := range r.Spec().Paths {
			for method, op := range ops {
				if op.OperationID != id {
					continue
				}
				raw, err := json.Marshal(op.RequestBody.Content["application/json"].Example)
				if err != nil {
					t.Fatal(err)
				}
				url := strings.NewReplacer("{survey}", "s1", "{id}", first).Replace(path)
				if g := r.Do(strings.ToUpper(method), url, string(raw)); g.Status > 201 {
					t.Errorf("%s: %d %s", id, g.Status, g.Body)
				}
				tried++
			}
		}
		if id == "post-respondents" {
			first = r.RespondentsOf("s1")[0].ID.String()
			r.Stands("s1", surveys.Running)
		}
	}
	if tried != 4 {
		t.Errorf("%d examples", tried)
	}
}

func TestSurvey_EveryRouteSays503WhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("a", "")
	for _, err := range []error{webtest.ErrDown, fmt.Errorf("read: %w", webtest.TimeoutError{}), weir.Errorf(weir.CodeDraining, "shutting down")} {
		r.Down = err
		for _, req := range [][3]string{
			{"GET", "/v1/surveys", ""}, {"PUT", "/v1/surveys/a", webtest.Survey("")}, {"GET", "/v1/surveys/a", ""}, {"PATCH", "/v1/surveys/a", `{}`}, {"DELETE", "/v1/surveys/a", ""},
			{"POST", "/v1/surveys/a:launch", ""}, {"GET", "/v1/surveys/a/stats", ""}, {"GET", "/v1/surveys/a/respondents", ""}, {"GET", "/v1/surveys/a/respondents/r1", ""},
			{"POST", "/v1/surveys/a/respondents", `{}`}, {"POST", "/v1/surveys/a/respondents/r1/disposition", `{}`},
			{"GET", "/v1/surveys/a/results.csv", ""}, {"GET", "/v1/surveys/a/log.csv", ""},
		} {
			g := r.Do(req[0], req[1], req[2])
			if c := g.Problem(t).Code; g.Status != 503 || c != weir.CodeUnavailable && c != weir.CodeDraining {
				t.Errorf("%s %s: %d %s", req[0], req[1], g.Status, c)
			}
		}
	}
}

// FuzzSurvey: any survey or patch gets a documented response, and nothing
// rejected is written.
func FuzzSurvey(f *testing.F) {
	f.Add(webtest.Survey(`"title":"x",`), `{"cutoff":1}`)
	f.Add(webtest.Survey(`"cutoff":1e300,`), `{"modes":{"sms":null}}`)
	f.Add(`{"schedule":{"windows":[null]}}`, `{"arms":{"0":1},"quotas":[[]]}`)
	f.Add(`[]`, `{"application":{"url":7},"questionnaires":{"main":{"ivr":{"0":{}}}}}`)
	r := webtest.New(f)
	f.Fuzz(func(t *testing.T, body, patch string) {
		r.T = t
		if s, err := r.Store.Survey(t.Context(), "s"); err == nil {
			if err := r.RemoveSurvey(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
		for i, req := range [][2]string{{"PUT", body}, {"PUT", webtest.Survey("")}, {"PATCH", patch}} {
			writes := r.Writes()
			g := r.Do(req[0], "/v1/surveys/s", req[1]+" ")
			switch g.Status {
			case 200, 201:
				var v api.SurveyView
				if err := json.Unmarshal([]byte(g.Body), &v); err != nil {
					t.Fatal(err)
				}
				if _, wrong := surveys.Definition(v.SurveyDefinition).Compile(surveys.Defaults{}); len(wrong) > 0 {
					t.Errorf("accepted: %v", wrong)
				}
			case 400, 422:
				if i == 1 || r.Writes() != writes {
					t.Errorf("%s: %d, written %v\n%s", req[0], g.Status, r.Writes() != writes, g.Body)
				}
			default:
				t.Errorf("%d: %s", g.Status, g.Body)
			}
		}
	})
}
