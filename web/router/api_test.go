package router_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Policies and queues: each request of their routes, with its response.
func TestAPI_PoliciesAndQueuesAreAsDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, row := range []struct{ path, body, want, change, changed string }{
		{
			"distributionPolicies/d", `{"name":"n","mode":{"kind":"bestWorker"}}`,
			`{"id":"d","etag":"*","name":"n","offerExpiresAfterSeconds":60,"mode":{"kind":"bestWorker","minConcurrentOffers":1,"maxConcurrentOffers":1,"bypassSelectors":false,
			"scoringRuleOptions":{"batchSize":20,"scoringParameters":["jobLabels","workerSelectors"],"isBatchScoringEnabled":false,"descendingOrder":true}}}`,
			`{"name":null,"offerExpiresAfterSeconds":1.5,"mode":{"kind":"roundRobin","maxConcurrentOffers":3,"bypassSelectors":true}}`,
			`{"id":"d","etag":"*","offerExpiresAfterSeconds":1.5,"mode":{"kind":"roundRobin","minConcurrentOffers":1,"maxConcurrentOffers":3,"bypassSelectors":true}}`,
		},
		{
			"exceptionPolicies/e", `{"exceptionRules":[{"id":"r","trigger":{"kind":"queueLength","threshold":10},"actions":[{"id":"a","kind":"cancel","note":"full"}]}]}`,
			`{"id":"e","etag":"*","exceptionRules":[{"id":"r","trigger":{"kind":"queueLength","threshold":10},"actions":[{"id":"a","kind":"cancel","note":"full"}]}]}`,
			`{"name":"n","exceptionRules":[{"id":"s","trigger":{"kind":"waitTime","thresholdSeconds":0.5},"actions":[
				{"kind":"manualReclassify","priority":0,"workerSelectors":[{"key":"k","labelOperator":"equal","value":1}]},{"id":"b","kind":"reclassify","labelsToUpsert":{"x":true}}]}]}`,
			`{"id":"e","etag":"*","name":"n","exceptionRules":[{"id":"s","trigger":{"kind":"waitTime","thresholdSeconds":0.5},"actions":[
				{"id":"*","kind":"manualReclassify","priority":0,"workerSelectors":[{"key":"k","labelOperator":"equal","value":1,"expedite":false}]},{"id":"b","kind":"reclassify","labelsToUpsert":{"x":true}}]}]}`,
		},
		{
			"queues/q", `{"distributionPolicyId":"d","exceptionPolicyId":"e","labels":{"Region":"north"}}`,
			`{"id":"q","etag":"*","distributionPolicyId":"d","exceptionPolicyId":"e","labels":{"Id":"q","Region":"north"}}`,
			`{"name":"n","exceptionPolicyId":null,"labels":{"Region":null,"A":1.5}}`,
			`{"id":"q","etag":"*","name":"n","distributionPolicyId":"d","labels":{"Id":"q","A":1.5}}`,
		},
		{
			"classificationPolicies/c", `{}`,
			`{"id":"c","etag":"*","queueSelectorAttachments":[],"workerSelectorAttachments":[]}`,
			`{"name":"n","fallbackQueueId":"q","prioritizationRule":{"kind":"static","value":7}}`,
			`{"id":"c","etag":"*","name":"n","fallbackQueueId":"q","prioritizationRule":{"kind":"static","value":7},"queueSelectorAttachments":[],"workerSelectorAttachments":[]}`,
		},
	} {
		path := "/routing/" + row.path
		list, _, _ := strings.Cut(path[len("/routing/"):], "/")
		r.ok(200, "GET", "/routing/"+list, "").is(`{"value":[]}`)
		r.ok(404, "GET", path, "").failed(404, "NotFound")
		made := r.ok(201, "PATCH", path, row.body).is(row.want)
		r.tagged(made)
		r.tagged(r.ok(200, "GET", path, "").is(row.want))
		r.engine.wait(time.Second)
		r.tagged(r.ok(200, "PATCH", path, row.change).is(row.changed))
		same(t, `{"value":[`+row.changed+`]}`, r.get("/routing/"+list))
	}
	for _, path := range []string{"classificationPolicies/c", "queues/q", "distributionPolicies/d", "exceptionPolicies/e", "distributionPolicies/none"} {
		if a := r.ok(204, "DELETE", "/routing/"+path, ""); a.text != "" {
			t.Errorf("a 204 has the body %q", a.text)
		}
		r.ok(404, "GET", "/routing/"+path, "")
	}
}

// tagged checks the entity tag and the date of a response.
func (r *rig) tagged(a answered) {
	r.t.Helper()
	tag, _ := a.body["etag"].(string)
	if !strings.HasPrefix(tag, `"`) || len(tag) < 3 || tag != a.header.Get("ETag") {
		r.t.Errorf("etag %q, ETag %q", tag, a.header.Get("ETag"))
	}
	if got, want := a.header.Get("Last-Modified"), r.engine.now().Format(http.TimeFormat); got != want {
		r.t.Errorf("Last-Modified %q; want %q", got, want)
	}
}

func TestAPI_ClassificationPolicyIsKeptInFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"queueSelectorAttachments":[
		{"kind":"static","queueSelector":{"key":"a","labelOperator":"equal","value":"x"}},
		{"kind":"conditional","condition":{"kind":"expression","language":"powerFx","expression":"job.A = true"},"queueSelectors":[{"key":"b","labelOperator":"notEqual","value":2}]},
		{"kind":"passThrough","key":"c","labelOperator":"equal"},
		{"kind":"ruleEngine","rule":{"kind":"directMap"}},
		{"kind":"weightedAllocation","allocations":[{"weight":0.3,"queueSelectors":[{"key":"d","labelOperator":"equal","value":true}]},{"weight":0.7,"queueSelectors":[]}]}],
	"workerSelectorAttachments":[
		{"kind":"static","workerSelector":{"key":"a","labelOperator":"lessThan","value":1,"expiresAfterSeconds":5,"expedite":true}},
		{"kind":"conditional","condition":{"kind":"static","value":true},"workerSelectors":[{"key":"b","labelOperator":"greaterThanOrEqual","value":2,"expedite":false}]},
		{"kind":"passThrough","key":"c","labelOperator":"lessThanOrEqual","expiresAfterSeconds":7},
		{"kind":"ruleEngine","rule":{"kind":"static","value":"[]"}},
		{"kind":"weightedAllocation","allocations":[{"weight":1,"workerSelectors":[{"key":"d","labelOperator":"greaterThan","value":0,"expedite":false}]}]}]}`
	want := `{"id":"c","etag":"*",` + body[1:]
	r.ok(201, "PATCH", "/routing/classificationPolicies/c", body).is(want)
	again := r.ok(200, "GET", "/routing/classificationPolicies/c", "").is(want)
	r.engine.wait(time.Second)
	sent := r.ok(200, "PATCH", "/routing/classificationPolicies/c", again.text)
	if sent.body["etag"] != again.body["etag"] {
		t.Error("sending a policy back as it came changed it")
	}
}

func TestAPI_JobsAndWorkersAreAsDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.ok(201, "PATCH", "/routing/jobs/j", `{"channelId":"chat","queueId":"q","channelReference":"ref","tags":{"a":"b"},"notes":[{"message":"hello"}]}`).is(`{
		"id":"j","etag":"*","status":"created","channelId":"chat","channelReference":"ref","queueId":"q","priority":1,"requestedWorkerSelectors":[],"attachedWorkerSelectors":[],
		"labels":{},"tags":{"a":"b"},"notes":[{"message":"hello","addedAt":"2026-03-02T09:00:00.0000000+00:00"}],"assignments":{},"matchingMode":{"kind":"queueAndMatch"}}`)
	same(t, `{"status":"queued","enqueuedAt":"2026-03-02T09:00:00.0000000+00:00","queueId":"q"}`, pick(r.get("/routing/jobs/j"), "status", "enqueuedAt", "queueId", "scheduledAt"))
	same(t, `{"jobId":"j","position":1,"queueId":"q","queueLength":1,"estimatedWaitTimeMinutes":1}`, r.get("/routing/jobs/j/position"))
	r.engine.wait(30 * time.Second)
	same(t, `{"queueId":"q","length":1,"estimatedWaitTimeMinutes":{"1":1},"longestJobWaitTimeMinutes":0.5}`, r.get("/routing/queues/q/statistics"))

	offer := r.offer("w")
	accepted := r.ok(200, "POST", "/routing/workers/w/offers/"+offer+":accept", "").is(`{"assignmentId":"*","jobId":"j","workerId":"w"}`)
	again := r.ok(200, "POST", "/routing/workers/w/offers/"+offer+":accept", "")
	if diff := cmp.Diff(accepted.body, again.body); diff != "" {
		t.Errorf("accepting again: %s", diff)
	}
	same(t, `{"queueId":"q","length":0}`, r.get("/routing/queues/q/statistics"))
	r.ok(404, "GET", "/routing/jobs/j/position", "").failed(404, "NotFound")
	same(t, `{"assignedJobs":[{"assignmentId":"*","jobId":"j","capacityCost":1,"assignedAt":"2026-03-02T09:00:30.0000000+00:00"}],"loadRatio":1}`,
		pick(r.get("/routing/workers/w"), "assignedJobs", "loadRatio"))

	as := "/routing/jobs/j/assignments/" + accepted.body["assignmentId"].(string)
	r.do("POST", as+":close", "").failed(409, "Conflict")
	r.ok(200, "POST", as+":unassign", `{"suspendMatching":true}`).is(`{"jobId":"j","unassignmentCount":1}`)
	same(t, `{"status":"queued","matchingMode":{"kind":"suspend"},"assignments":{}}`, pick(r.get("/routing/jobs/j"), "status", "matchingMode", "assignments"))
	r.ok(200, "PATCH", "/routing/jobs/j", `{"matchingMode":{"kind":"queueAndMatch"}}`)
	as = "/routing/jobs/j/assignments/" + r.accept("w")
	r.ok(200, "POST", as+":complete", `{"note":"done"}`).is(`{}`)
	r.do("POST", as+":unassign", "").failed(409, "Conflict")
	r.ok(200, "POST", as+":close", `{"dispositionCode":"Resolved","note":"closed"}`).is(`{}`)
	got := r.get("/routing/jobs/j")
	same(t, `{"status":"closed","dispositionCode":"Resolved","notes":[{"message":"hello","addedAt":"*"},{"message":"done","addedAt":"*"},{"message":"closed","addedAt":"*"}]}`,
		pick(got, "status", "dispositionCode", "notes"))
	for _, a := range got["assignments"].(map[string]any) {
		same(t, `{"assignmentId":"*","workerId":"w","assignedAt":"*","completedAt":"*","closedAt":"*"}`, a)
	}
	r.ok(204, "DELETE", "/routing/jobs/j", "")
	r.ok(404, "GET", "/routing/jobs/j", "")
	r.ok(204, "DELETE", "/routing/workers/w", "")
	r.ok(404, "GET", "/routing/workers/w", "")
}

func TestAPI_UnassigningEndsAfterThreeTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	for i := 1; i <= 3; i++ {
		r.ok(200, "POST", "/routing/jobs/j/assignments/"+r.accept("w")+":unassign", `{}`).is(fmt.Sprintf(`{"jobId":"j","unassignmentCount":%d}`, i))
	}
	r.do("POST", "/routing/jobs/j/assignments/"+r.accept("w")+":unassign", "").failed(409, "Conflict")
}

func TestAPI_ActionsHaveTheirResponses(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q"}`)
	r.put("/routing/jobs/a", `{"channelId":"chat","classificationPolicyId":"c"}`)
	r.ok(200, "POST", "/routing/jobs/a:reclassify", `{}`).is(`{}`)
	r.ok(200, "POST", "/routing/jobs/a:reclassify", "").is(`{}`)
	r.ok(200, "POST", "/routing/jobs/a:cancel", `{"note":"n","dispositionCode":"d"}`).is(`{}`)
	same(t, `{"status":"cancelled","dispositionCode":"d","notes":[{"message":"n","addedAt":"*"}]}`, pick(r.get("/routing/jobs/a"), "status", "dispositionCode", "notes"))
	r.do("POST", "/routing/jobs/a:cancel", "").failed(409, "Conflict")
	r.do("POST", "/routing/jobs/a:reclassify", "").failed(409, "Conflict")
	r.put("/routing/jobs/b", `{"channelId":"chat","queueId":"q"}`)
	r.do("POST", "/routing/jobs/b:reclassify", "").failed(409, "Conflict")
	r.ok(200, "POST", "/routing/jobs/b:cancel", "").is(`{}`)
	same(t, `{"status":"cancelled","dispositionCode":"Cancelled"}`, pick(r.get("/routing/jobs/b"), "status", "dispositionCode"))
	r.put("/routing/jobs/c", `{"channelId":"chat","queueId":"q"}`)
	r.do("DELETE", "/routing/jobs/c", "").failed(409, "Conflict")
	r.ok(200, "POST", "/routing/workers/w/offers/"+r.offer("w")+":decline", `{"retryOfferAt":"2026-03-02T09:00:10.000Z"}`).is(`{}`)
	same(t, `[]`, r.get("/routing/workers/w")["offers"])
	r.engine.wait(10 * time.Second)
	declined := r.offer("w")
	r.ok(200, "POST", "/routing/workers/w/offers/"+declined+":decline", "").is(`{}`)
	r.do("POST", "/routing/workers/w/offers/"+declined+":decline", "").failed(404, "NotFound")
	r.do("POST", "/routing/workers/w/offers/"+declined+":accept", "").failed(404, "NotFound")
}

func TestAPI_AnotherWorkerHasTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/distributionPolicies/d", `{"mode":{"kind":"longestIdle","maxConcurrentOffers":2}}`)
	r.put("/routing/workers/v", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	lost := r.offer("v")
	r.accept("w")
	r.do("POST", "/routing/workers/v/offers/"+lost+":accept", "").failed(409, "Conflict")
	r.do("POST", "/routing/workers/v/offers/"+lost+":decline", "").failed(409, "Conflict")
}

func TestAPI_ResourcesInUseAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/exceptionPolicies/e", `{}`)
	r.put("/routing/queues/q", `{"exceptionPolicyId":"e"}`)
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q"}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","classificationPolicyId":"c"}`)
	for path, code := range map[string]string{
		"distributionPolicies/d": "QueueExistsWithDistributionPolicy", "exceptionPolicies/e": "QueueExistsWithExceptionPolicy",
		"classificationPolicies/c": "ActiveJobWithClassificationPolicyExist",
	} {
		a := r.do("DELETE", "/routing/"+path, "").failed(400, "BadRequest")
		if diff := cmp.Diff([]string{code}, a.details()); diff != "" || a.message() != "One or more validation errors occurred." {
			t.Errorf("%s: %s %s", path, a.message(), diff)
		}
	}
	a := r.do("DELETE", "/routing/queues/q", "").failed(409, "Conflict")
	if lines := strings.Split(a.message(), "\n"); len(lines) != 4 {
		t.Errorf("%q; want three reasons, a line each", a.message())
	}
	r.accept("w")
	r.do("DELETE", "/routing/workers/w", "").failed(409, "Conflict")
}
