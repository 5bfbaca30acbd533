package router_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/web/router"
)

func TestBody_MergePatchesChangeOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/jobs/j", `{"channelId":"voice","queueId":"q","labels":{"a":1,"b":"x"},"tags":{"t":true},"priority":5,"dispositionCode":"d","channelReference":"r",
		"requestedWorkerSelectors":[{"key":"k","labelOperator":"equal","value":1},{"key":"l","labelOperator":"equal","value":2}]}`)
	for _, step := range []struct{ patch, want string }{
		{`{"labels":{}}`, `{"labels":{"a":1,"b":"x"}}`},
		{`{"labels":{"a":null,"c":2.5}}`, `{"labels":{"b":"x","c":2.5}}`},
		{`{"labels":{"b":false}}`, `{"labels":{"b":false,"c":2.5}}`},
		{`{"tags":null}`, `{"tags":{}}`},
		{`{"priority":-100}`, `{"priority":-100}`},
		{`{"priority":null}`, `{"priority":1}`},
		{`{"dispositionCode":null,"channelReference":null}`, `{"dispositionCode":null,"channelReference":null}`},
		{`{"requestedWorkerSelectors":[{"key":"m","labelOperator":"notEqual","value":null,"expiresAfterSeconds":null}]}`,
			`{"requestedWorkerSelectors":[{"key":"m","labelOperator":"notEqual","expedite":false,"status":"active"}]}`},
		{`{"requestedWorkerSelectors":null}`, `{"requestedWorkerSelectors":[]}`},
		{`{"notes":[{"message":"later","addedAt":"2026-03-02T11:00:00+01:00"},{"message":"first","addedAt":"2025-01-01T00:00:00.123Z"}]}`,
			`{"notes":[{"message":"first","addedAt":"2025-01-01T00:00:00.1230000+00:00"},{"message":"later","addedAt":"2026-03-02T10:00:00.0000000+00:00"}]}`},
		{`{"matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-03T00:00:00Z"}}`, `{"status":"pendingSchedule","matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-03T00:00:00.0000000+00:00"}}`},
		{`{"matchingMode":{"kind":"suspend"}}`, `{"matchingMode":{"kind":"suspend"}}`},
		{`{"matchingMode":null}`, `{"matchingMode":{"kind":"queueAndMatch"},"status":"queued"}`},
		{`{"id":"other","etag":"x","status":"closed","enqueuedAt":7,"assignments":[],"attachedWorkerSelectors":"no","scheduledAt":null}`, `{"id":"j","status":"queued"}`},
	} {
		got := r.ok(200, "PATCH", "/routing/jobs/j", step.patch).body
		var want map[string]any
		if err := json.Unmarshal([]byte(step.want), &want); err != nil {
			t.Fatal(err)
		}
		for name, v := range want {
			if diff := cmp.Diff(v, got[name]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", step.patch, name, diff)
			}
		}
	}
}

// Clients send resources back as they received them; this must change nothing.
func TestBody_PatchWithOwnResponseChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/exceptionPolicies/e", `{"name":"n","exceptionRules":[{"id":"r","trigger":{"kind":"waitTime","thresholdSeconds":3600},"actions":[{"kind":"cancel"}]}]}`)
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q","prioritizationRule":{"kind":"expression","expression":"If(job.A = true, 5, 3)"}}`)
	r.put("/routing/workers/w", `{"labels":{"A":1},"tags":{"b":true},"maxConcurrentOffers":3}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","classificationPolicyId":"c","notes":[{"message":"m"}],"requestedWorkerSelectors":[{"key":"A","labelOperator":"equal","value":1,"expiresAfterSeconds":3600}]}`)
	r.engine.wait(time.Second)
	r.engine.kinds()
	r.put("/routing/distributionPolicies/best", `{"mode":{"kind":"bestWorker"}}`)
	r.put("/routing/exceptionPolicies/empty", `{"exceptionRules":[{"id":"r","trigger":{"kind":"queueLength"},"actions":[{"id":"m","kind":"manualReclassify"},{"id":"n","kind":"reclassify"}]}]}`)
	for _, path := range []string{"distributionPolicies/d", "distributionPolicies/best", "exceptionPolicies/empty", "exceptionPolicies/e", "classificationPolicies/c", "queues/q", "workers/w", "jobs/j"} {
		was := r.ok(200, "GET", "/routing/"+path, "")
		is := r.ok(200, "PATCH", "/routing/"+path, was.text)
		if diff := cmp.Diff(was.body, is.body); diff != "" {
			t.Errorf("%s (-was +is):\n%s", path, diff)
		}
	}
	if kinds := r.engine.kinds(); len(kinds) > 0 {
		t.Errorf("events %q", kinds)
	}
}

func TestBody_MistakesAreRefusedByPointer(t *testing.T) {
	t.Parallel()
	selector := func(members string) string {
		return `{"channelId":"c","queueId":"q","requestedWorkerSelectors":[{` + members + `}]}`
	}
	for _, c := range []struct {
		path, body string
		want       []string
	}{
		{"workers/w", `{"capacty":1}`, []string{"Unknown /capacty"}},
		{"workers/w", `{"Capacity":1}`, []string{"Unknown /Capacity"}},
		{"workers/w", `{"capacity":"1"}`, []string{"Type /capacity"}},
		{"workers/w", `{"capacity":1.5}`, []string{"Type /capacity"}},
		{"workers/w", `{"capacity":-1}`, []string{"Range /capacity"}},
		{"workers/w", `{"capacity":2147483648}`, []string{"Range /capacity"}},
		{"workers/w", `{"queues":"q"}`, []string{"Type /queues"}},
		{"workers/w", `{"queues":[1,null]}`, []string{"Type /queues/0", "Type /queues/1"}},
		{"workers/w", `{"availableForOffers":"true"}`, []string{"Type /availableForOffers"}},
		{"workers/w", `{"labels":{"a":[],"b/c~d":{}}}`, []string{"Type /labels/a", "Type /labels/b~1c~0d"}},
		{"workers/w", `{"channels":[{"channelId":"c","capacityCostPerJob":0,"maxNumberOfJobs":0}]}`, []string{"Range /channels/0/capacityCostPerJob", "Range /channels/0/maxNumberOfJobs"}},
		{"workers/w", `{"channels":[{}]}`, []string{"Range /channels/0/capacityCostPerJob", "Required /channels/0/channelId"}},
		{"workers/w", `{"channels":[{"channelId":"c","capacityCostPerJob":1},{"channelId":"c","capacityCostPerJob":1}]}`, []string{"Duplicate /channels/1/channelId"}},
		{"jobs/j", `{}`, []string{"Required /channelId", "Required /queueId"}},
		{"jobs/j", `{"channelId":"c","queueId":"none"}`, []string{"NotFound /queueId"}},
		{"jobs/j", `{"channelId":"c","classificationPolicyId":"none"}`, []string{"NotFound /classificationPolicyId"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","priority":101}`, []string{"Range /priority"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","priority":-101}`, []string{"Range /priority"}},
		{"jobs/j", `{"channelId":7,"queueId":true}`, []string{"Type /channelId", "Type /queueId"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","notes":{"2026-01-01":"x"}}`, []string{"Type /notes"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","notes":[{"message":"x","addedAt":"now"}]}`, []string{"Format /notes/0/addedAt"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","matchingMode":{"kind":"scheduleAndSuspend"}}`, []string{"Required /matchingMode/scheduleAt"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","matchingMode":{"kind":"queue-and-match"}}`, []string{"Unknown /matchingMode/kind"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","matchingMode":{"kind":"suspend","scheduleAt":"2026-03-03T00:00:00Z"}}`, []string{"Unknown /matchingMode/scheduleAt"}},
		{"jobs/j", `{"channelId":"c","queueId":"q","matchingMode":"suspend"}`, []string{"Type /matchingMode"}},
		{"jobs/j", selector(`"labelOperator":"equal","value":1`), []string{"Required /requestedWorkerSelectors/0/key"}},
		{"jobs/j", selector(`"key":"k","value":1`), []string{"Unknown /requestedWorkerSelectors/0/labelOperator"}},
		{"jobs/j", selector(`"key":"k","labelOperator":"Equal","value":1`), []string{"Unknown /requestedWorkerSelectors/0/labelOperator"}},
		{"jobs/j", selector(`"key":"k","labelOperator":"equal","value":{}`), []string{"Type /requestedWorkerSelectors/0/value"}},
		{"jobs/j", selector(`"key":"k","labelOperator":"equal","value":1,"expiresAfterSeconds":-1`), []string{"Range /requestedWorkerSelectors/0/expiresAfterSeconds"}},
		{"jobs/j", selector(`"key":"k","labelOperator":"equal","value":1,"expedite":1,"ttl":1`), []string{"Type /requestedWorkerSelectors/0/expedite", "Unknown /requestedWorkerSelectors/0/ttl"}},
		{"queues/x", `{"distributionPolicyId":"none","exceptionPolicyId":"none"}`, []string{"NotFound /distributionPolicyId", "NotFound /exceptionPolicyId"}},
		{"distributionPolicies/d", `{"mode":{"kind":"fastest"}}`, []string{"Unknown /mode/kind"}},
		{"distributionPolicies/d", `{"mode":{"minConcurrentOffers":3,"maxConcurrentOffers":2}}`, []string{"Range /mode/maxConcurrentOffers"}},
		{"distributionPolicies/d", `{"mode":{"kind":"longestIdle","maxConcurrentOffers":0}}`, []string{"Range /mode/maxConcurrentOffers"}},
		{"distributionPolicies/d", `{"mode":{"kind":"longestIdle","scoringRule":{"kind":"static"}}}`, []string{"Unknown /mode/scoringRule"}},
		{"distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"function"}}}`, []string{"Required /mode/scoringRule/functionUri"}},
		{"distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"expression","expression":"If("}}}`, []string{"Format /mode/scoringRule/expression"}},
		{"distributionPolicies/d", `{"offerExpiresAfterSeconds":-1}`, []string{"Range /offerExpiresAfterSeconds"}},
		{"exceptionPolicies/e", `{"exceptionRules":[{"id":"r","trigger":{"kind":"queueLength","threshold":1.5},"actions":[{"kind":"stop"}]}]}`, []string{"Type /exceptionRules/0/trigger/threshold", "Unknown /exceptionRules/0/actions/0/kind"}},
		{"exceptionPolicies/e", `{"exceptionRules":[{"trigger":{},"actions":[]}]}`, []string{"Required /exceptionRules/0/id", "Unknown /exceptionRules/0/trigger/kind"}},
		{"classificationPolicies/c", `{"queueSelectorAttachments":[{"kind":"static"},{"kind":"weightedAllocation","allocations":[]}]}`, []string{"Range /queueSelectorAttachments/1/allocations", "Required /queueSelectorAttachments/0/selector"}},
		{"classificationPolicies/c", `{"prioritizationRule":{"kind":"azure-rule"}}`, []string{"Unknown /prioritizationRule/kind"}},
		{"classificationPolicies/c", `{"fallbackQueueId":"none"}`, []string{"NotFound /fallbackQueueId"}},
		{"queues/" + strings.Repeat("i", 257), `{}`, []string{"Length /id"}},
		{"queues/%ff", `{}`, []string{"Format /id"}},
		{"classificationPolicies/c", `{"workerSelectorAttachments":[` + strings.Repeat(`{"kind":"passThrough","key":"k","labelOperator":"equal"},`, 3000) + `{"kind":"static"}]}`, []string{"Length"}},
		{"queues/x", `[]`, []string{"Type"}},
		{"queues/x", `null`, []string{"Type"}},
		{"queues/x", ``, nil},
		{"queues/x", `{"name":"a"`, nil},
		{"queues/x", `{"name":"a"} {}`, nil},
		{"queues/x", `{"labels":{"a":1e999}}`, []string{"Type /labels/a"}},
		{"queues/x", `{"labels":{"a":9007199254740993,"b":12345678901234567890,"c":1e-400,"d":9007199254740992,"e":1.10,"f":1e3,"g":-0,"h":1e300}}`, []string{"Type /labels/a", "Type /labels/b", "Type /labels/c"}},
		{"queues/x", `{"name":"\ud800"}`, nil},
		{"queues/x", "{\"name\":\"\xff\"}", nil},
	} {
		r := newRig(t)
		r.put("/routing/queues/q", `{}`)
		a := r.do("PATCH", "/routing/"+c.path, c.body).failed(400, "BadRequest")
		got := a.details()
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.path, c.body, diff)
		}
		r.do("GET", "/routing/"+c.path, "").failed(404, "NotFound")
	}
}

func TestBody_BadActionsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	as := "jobs/j/assignments/" + r.accept("w")
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"jobs/j:cancel", `{"note":"` + strings.Repeat("x", 16<<10+1) + `"}`, 400},
		{"jobs/j:cancel", `{"reason":"x"}`, 400}, {"jobs/j:cancel", `{"note":1}`, 400}, {"jobs/j:cancel", `[]`, 400}, {"jobs/j:cancel", `{`, 400},
		{"jobs/none:cancel", ``, 404}, {"jobs/none:reclassify", ``, 404}, {"jobs/j:reclassify", `{"a":1}`, 400},
		{as + ":close", `{"closeAt":"soon"}`, 400}, {as + ":unassign", `{"suspendMatching":1}`, 400}, {as + ":complete", `{"note":{}}`, 400},
		{"jobs/j/assignments/none:complete", ``, 404}, {"jobs/j/assignments/none:close", ``, 404}, {"jobs/j/assignments/none:unassign", ``, 404},
		{"jobs/none/assignments/a:complete", ``, 404},
		{"workers/w/offers/none:accept", ``, 404}, {"workers/none/offers/none:accept", ``, 404}, {"workers/w/offers/none:decline", ``, 404},
		{"workers/w/offers/none:decline", `{"retryOfferAt":5}`, 400}, {"workers/w/offers/none:accept", `{"x":5}`, 400},
	} {
		if a := r.do("POST", "/routing/"+c.path, c.body); a.status != c.status {
			t.Errorf("%s %s: %d %s; want %d", c.path, c.body, a.status, a.text, c.status)
		}
	}
	r.status("j", "assigned")
	r.ok(200, "POST", "/routing/"+as+":complete", `{"note":null}`)
}

func TestBody_BodiesAreBoundedAndTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	r.do("PATCH", "/routing/queues/q", long).failed(413, "RequestEntityTooLarge")
	for _, kind := range []string{"", "text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded"} {
		req := r.sign(r.request("PATCH", "/routing/queues/q", `{}`), `{}`)
		req.Header.Set("Content-Type", kind)
		r.send(req).failed(415, "UnsupportedMediaType")
	}
	req := r.sign(r.request("PATCH", "/routing/queues/q", `{}`), `{}`)
	req.Header.Set("Content-Encoding", "gzip")
	r.send(req).failed(415, "UnsupportedMediaType")
	req = r.sign(r.request("PATCH", "/routing/queues/q", `{}`), `{}`)
	req.Header.Set("Content-Type", "application/json;charset=UTF-8")
	if a := r.send(req); a.status != 201 {
		t.Errorf("application/json: %d %s", a.status, a.text)
	}
}

func TestBody_OlderVersionsLackNewerMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/workers/w", `{"maxConcurrentOffers":2}`)
	if got := r.get("/routing/workers/w")["maxConcurrentOffers"]; got != 2.0 {
		t.Errorf("the newer version shows %v", got)
	}
	r.version = "2023-11-01"
	if got, ok := r.get("/routing/workers/w")["maxConcurrentOffers"]; ok {
		t.Errorf("the older version shows %v", got)
	}
	a := r.do("PATCH", "/routing/workers/w", `{"maxConcurrentOffers":1}`).failed(400, "BadRequest")
	if diff := cmp.Diff([]string{"Unknown /maxConcurrentOffers"}, a.details()); diff != "" {
		t.Error(diff)
	}
}

func TestHTTP_PathsAndMethodsAreStrict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{
		"/routing/", "/routing/queues/", "/routing/queues//", "/routing/Queues", "/routing/queues/q/", "/routing/queues/q/position", "/routing/jobs/j/statistics",
		"/routing/jobs/j/assignments", "/routing/jobs/j/assignments/a", "/routing/jobs/j/assignments/a:accept", "/routing/jobs/j/assignments/:close",
		"/routing/jobs/:cancel", "/routing/workers/w/offers/o", "/routing/queues/q:cancel/x/y/z", "/routing/jobs/j/assignments/a:close/", "/other",
	} {
		for _, method := range []string{"GET", "POST"} {
			r.do(method, path, "").failed(404, "NotFound")
		}
	}
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "/routing/queues/q", "DELETE, GET, PATCH"}, {"POST", "/routing/queues", "GET"}, {"POST", "/routing/queues/q:cancel", "DELETE, GET, PATCH"},
		{"PATCH", "/routing/jobs/j:cancel", "POST"}, {"GET", "/routing/jobs/j:reclassify", "POST"}, {"DELETE", "/routing/workers/w/offers/o:accept", "POST"},
		{"POST", "/routing/jobs/j/position", "GET"}, {"DELETE", "/routing/queues/q/statistics", "GET"}, {"HEAD", "/routing/queues/q", "DELETE, GET, PATCH"},
		{"OPTIONS", "/routing/jobs/j/assignments/a:close", "POST"},
	} {
		if a := r.do(c.method, c.path, ""); a.status != 405 || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q; want %q", c.method, c.path, a.status, a.header.Get("Allow"), c.allow)
		}
	}
	for path, id := range map[string]string{
		"a%20b%2Fc%3Ad%25%C3%A9": "a b/c:d%é", "j%3Acancel": "j:cancel", "a:b": "a:b", "a:cancel": "a:cancel", "..%2F..": "../..", "%2A": "*", "*": "*", "a+b": "a+b",
	} {
		r.put("/routing/queues/"+path, `{"labels":{"v":"`+id+`"}}`)
		got := r.get("/routing/queues/" + path)
		same(t, `{"Id":"`+id+`","v":"`+id+`"}`, got["labels"])
	}
	r.put("/routing/jobs/j%3Acancel", `{"channelId":"chat","queueId":"*"}`)
	r.ok(200, "POST", "/routing/jobs/j%3Acancel:cancel", "")
	r.status("j%3Acancel", "cancelled")
	r.put("/routing/jobs/a:b", `{"channelId":"chat","queueId":"*"}`)
	r.ok(200, "POST", "/routing/jobs/a:b:cancel", "")
	r.status("a:b", "cancelled")
}

func TestHTTP_ResponsesNameTheirRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for id, back := range map[string]string{"5f0a-11": "5f0a-11", "": "", "a b": "", strings.Repeat("x", 129): ""} {
		a := r.do("GET", "/routing/queues/none", "", "X-Ms-Client-Request-Id", id)
		if got := a.header.Get("X-Ms-Client-Request-Id"); got != back {
			t.Errorf("x-ms-client-request-id %q came back as %q", id, got)
		}
		if a.header.Get("X-Ms-Request-Id") == "" || a.header.Get("Api-Supported-Versions") != "2023-11-01, 2024-01-18-preview" {
			t.Errorf("headers %v", a.header)
		}
		same(t, `{"error":{"code":"NotFound","message":"there is no queue \"none\"","target":"/routing/queues/none"}}`, a.body)
	}
}

// Causes of server errors go only to the log, and only server errors are a 5xx.
func TestHTTP_InternalErrorsKeepTheirCausesToTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := rigWith(t, router.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, c := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{&weir.Error{Code: weir.CodeUnavailable, Message: "the store is down", Cause: errors.New("dial db.example"), RetryAfter: 2500 * time.Millisecond}, 503, "ServiceUnavailable", "3"},
		{weir.Errorf(weir.CodeDraining, "shutting down"), 503, "ServiceUnavailable", "2"},
		{fmt.Errorf("writing: %w", http.ErrHandlerTimeout), 500, "InternalServerError", ""},
		{errors.New("dial db.example"), 500, "InternalServerError", ""},
	} {
		r.engine.fail = c.err
		for _, method := range []string{"GET", "PATCH", "DELETE"} {
			a := r.do(method, "/routing/queues/q", `{}`).failed(c.status, c.code)
			if a.header.Get("Retry-After") != c.retry || strings.Contains(a.text, "db.example") {
				t.Errorf("%v: Retry-After %q, %s", c.err, a.header.Get("Retry-After"), a.text)
			}
		}
	}
	if !strings.Contains(log.String(), "db.example") || strings.Contains(log.String(), "/routing/queues") {
		t.Errorf("the log: %s", log.String())
	}
}
