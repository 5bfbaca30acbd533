package router_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// why fails the test unless a job waits for the reason with this code and a text
// that contains sentence.
func (r *rig) why(job, code, sentence string) {
	r.t.Helper()
	got := r.get("/routing/jobs/" + job + "/why")
	text, _ := got["why"].(string)
	if is, _ := got["whyCode"].(string); is != code || !strings.Contains(text, sentence) {
		r.t.Errorf("job %s waits because of %s: %q; want %s: %q", job, is, text, code, sentence)
	}
	if at, has := got["whyInstants"].([]any); has != strings.Contains(text, " UTC") || has && !strings.HasPrefix(at[0].(string), "2026-03-02T") {
		r.t.Errorf("job %s: %q has the instants %v", job, text, at)
	}
}

// Scenario 120: a waiting job reports its reason on a separate route of Weir, so
// that the job resource stays as clients expect it.
func TestExtensions_JobsNameTheirReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/distributionPolicies/d", `{"offerExpiresAfterSeconds":60,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
	job := func(id, members string) {
		t.Helper()
		r.put("/routing/jobs/"+id, `{"channelId":"chat","queueId":"q"`+members+`}`)
	}
	job("first", "")
	r.why("first", "no_worker", "no worker of queue q serves channel chat")
	r.put("/routing/workers/w", `{"availableForOffers":false,"capacity":1,"queues":["q"],"channels":[{"channelId":"chat","capacityCostPerJob":1}],"labels":{"Spanish":true}}`)
	r.why("first", "workers_away", "no worker that matches is available (1 unavailable)")
	job("french", `,"requestedWorkerSelectors":[{"key":"French","labelOperator":"equal","value":true}]`)
	r.why("french", "no_match", "no worker of queue q matches the selectors of the job")
	job("later", `,"matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-02T10:00:00Z"}`)
	r.why("later", "scheduled", "scheduled for 2026-03-02 10:00:00 UTC")
	job("held", `,"matchingMode":{"kind":"suspend"}`)
	r.why("held", "suspended", "matching is suspended")

	r.put("/routing/classificationPolicies/none", `{}`)
	r.put("/routing/jobs/unclassified", `{"channelId":"chat","classificationPolicyId":"none"}`)
	r.why("unclassified", "classification_failed", "classification failed")

	r.put("/routing/workers/w", `{"availableForOffers":true}`)
	r.why("first", "offer_pending", "offered to worker w; the offer expires at 2026-03-02 09:01:00 UTC")
	job("second", "")
	r.why("second", "workers_busy", "all workers that match are busy (1); 3 jobs of queue q are ahead")
	r.ok(200, "POST", "/routing/workers/w/offers/"+r.offer("w")+":decline", "")
	r.why("first", "workers_busy", "are busy (1)") // with the second job
	r.accept("w")
	r.why("second", "", "")
	if _, has := r.get("/routing/jobs/second")["why"]; has {
		t.Error("a job of the API has a field that its clients do not know")
	}
	r.ok(200, "POST", "/routing/jobs/first:cancel", "")
	r.why("first", "", "")
	r.ok(404, "GET", "/routing/jobs/none/why", "")
	r.engine.wait(time.Hour)
	r.why("later", "activation", "waiting for activation")
}

// Scenario 120: this also holds for a job that waits for a function, for its queue
// to open, for a worker that did not decline it, or to be closed.
func TestExtensions_JobsNameWhatHoldsThem(t *testing.T) {
	t.Parallel()
	const function = `{"kind":"function","functionUri":"https://functions.example/f"}`
	r := newRig(t).centre()
	r.put("/routing/queues/q", `{"closed":"hold"}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	r.why("j", "queue_closed", "queue q is closed")
	r.put("/routing/queues/q", `{"closed":null}`)
	r.ok(200, "POST", "/routing/workers/w/offers/"+r.offer("w")+":decline", "")
	r.why("j", "declined", "each available worker that matches (1) declined the job")
	r.put("/routing/workers/v", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true}`)
	as := r.accept("v")
	r.why("j", "", "")
	r.ok(200, "POST", "/routing/jobs/j/assignments/"+as+":complete", "")
	r.why("j", "closing", "completed, not closed yet")
	r.ok(200, "POST", "/routing/jobs/j/assignments/"+as+":close", "")
	r.why("j", "", "")

	r.put("/routing/distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":`+function+`}}`)
	r.put("/routing/jobs/scored", `{"channelId":"chat","queueId":"q"}`)
	r.why("scored", "scoring", "waiting for the scores of a scoring function")
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q","prioritizationRule":`+function+`}`)
	r.put("/routing/jobs/asked", `{"channelId":"chat","classificationPolicyId":"c"}`)
	r.why("asked", "classification", "being classified")
}

// One call returns everything that a wallboard shows.
func TestExtensions_FiguresHoldAllOfAWallboard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(200, "GET", "/routing/figures", "").is(`{"jobs":{},"workers":{},"offersOut":0,"queues":[]}`)
	r.put("/routing/distributionPolicies/d", `{"offerExpiresAfterSeconds":600,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/a", `{"distributionPolicyId":"d","name":"Calls"}`)
	r.put("/routing/queues/b", `{"distributionPolicyId":"d","closed":"hold"}`)
	r.put("/routing/workers/w", `{"availableForOffers":true,"capacity":1,"queues":["a"],"channels":[{"channelId":"call","capacityCostPerJob":1}]}`)
	r.put("/routing/workers/off", `{"capacity":1,"queues":["a"],"channels":[{"channelId":"call","capacityCostPerJob":1}]}`)
	r.put("/routing/jobs/1", `{"channelId":"call","queueId":"a"}`)
	r.put("/routing/jobs/2", `{"channelId":"call","queueId":"a"}`)
	r.engine.wait(3 * time.Minute)
	r.ok(200, "GET", "/routing/figures?maxpagesize=1", "").is(`{"jobs":{"queued":2},"workers":{"active":1,"inactive":1},"offersOut":1,"oldestQueuedAt":"2026-03-02T09:00:00.0000000+00:00",
		"queues":[{"queueId":"a","length":2,"longestJobWaitTimeMinutes":3,"name":"Calls"}],"nextLink":"*"}`)
	link, err := url.Parse(r.get("/routing/figures?maxpagesize=1")["nextLink"].(string))
	if err != nil {
		t.Fatal(err)
	}
	q := link.Query()
	q.Del("api-version")
	r.ok(200, "GET", link.Path+"?"+q.Encode(), "").is(`{"jobs":{"queued":2},"workers":{"active":1,"inactive":1},"offersOut":1,"oldestQueuedAt":"2026-03-02T09:00:00.0000000+00:00",
		"queues":[{"queueId":"b","length":0,"closed":"hold"}]}`)
	r.ok(200, "GET", "/routing/figures?queueId=b", "").is(`{"jobs":{"queued":2},"workers":{"active":1,"inactive":1},"offersOut":1,"oldestQueuedAt":"2026-03-02T09:00:00.0000000+00:00",
		"queues":[{"queueId":"b","length":0,"closed":"hold"}]}`)
	same(t, `[]`, r.get("/routing/figures?queueId=c")["queues"])
	r.ok(400, "GET", "/routing/figures?maxpagesize=0", "")
}

// The routes of Weir itself estimate a wait only from recent assignments; those of the
// API always do, because its clients expect that.
func TestExtensions_WaitsAreEstimatedFromRecentAssignments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/distributionPolicies/d", `{"autoAccept":true,"offerExpiresAfterSeconds":600,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
	estimates := func(known bool, want int) {
		t.Helper()
		queue, _ := r.get("/routing/figures?queueId=q")["queues"].([]any)[0].(map[string]any)
		why := r.get("/routing/jobs/last/why")
		_, inQueue := queue["estimatedWaitTimeMinutes"]
		n, ofJob := why["estimatedWaitTimeMinutes"]
		if inQueue != known || ofJob != known || known && n != float64(want) {
			t.Errorf("the queue %v, the job %v", queue, why)
		}
		same(t, strconv.Itoa(want), r.get("/routing/jobs/last/position")["estimatedWaitTimeMinutes"])
	}
	for _, id := range []string{"a", "b", "last"} {
		r.put("/routing/jobs/"+id, `{"channelId":"call","queueId":"q"}`)
	}
	estimates(false, 1)
	for _, id := range []string{"v", "w"} {
		r.put("/routing/workers/"+id, `{"availableForOffers":true,"capacity":1,"queues":["q"],"channels":[{"channelId":"call","capacityCostPerJob":1}]}`)
		r.engine.wait(3 * time.Minute)
	}
	estimates(true, 3)
	r.engine.wait(48 * time.Minute)
	estimates(false, 3)
}

// Extensions that Azure's router does not have: pools, the list of ready workers,
// and jobs with notAfter.
func TestExtensions_PoolsReadyWorkersAndNotAfterWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/distributionPolicies/d", `{"autoAccept":true,"mode":{"kind":"shortestIdle"}}`)
	r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
	for _, id := range []string{"old", "new"} {
		r.put("/routing/workers/"+id, `{"availableForOffers":true,"capacity":1,"queues":["q"],"channels":[{"channelId":"call","capacityCostPerJob":1}],"labels":{"Spanish":true,"gender":"M"}}`)
		r.engine.wait(time.Second)
	}
	r.ok(201, "PATCH", "/routing/pools/Q%23Spanish%23M", `{"queueId":"q","channelId":"call","selectors":[{"key":"Spanish","labelOperator":"equal","value":true}]}`).is(
		`{"etag":"*","id":"Q#Spanish#M","queueId":"q","channelId":"call","selectors":[{"key":"Spanish","labelOperator":"equal","value":true,"expedite":false,"status":"active"}],"depth":2,"version":0}`)
	const ready = "/routing/ready?queueId=q&channelId=call&filter=Q%23Spanish%23M"
	r.ok(200, "GET", ready+"&maxpagesize=1", "").is(`{"depth":2,"value":[{"workerId":"new","availableSince":"2026-03-02T09:00:01.0000000+00:00"}]}`)
	r.ok(201, "PATCH", "/routing/jobs/1", `{"channelId":"call","queueId":"q"}`)
	r.ok(200, "GET", ready, "").is(`{"depth":1,"value":[{"workerId":"old","availableSince":"2026-03-02T09:00:00.0000000+00:00"}]}`)
	same(t, `[{"id":"Q#Spanish#M","depth":1,"version":1}]`, []any{pick(r.get("/routing/pools")["value"].([]any)[0].(map[string]any), "id", "depth", "version")})
	r.ok(400, "GET", "/routing/ready?queueId=q&filter=Q%23", "")
	r.ok(404, "GET", "/routing/ready?queueId=none&channelId=call", "")
	r.ok(404, "GET", "/routing/pools/none", "")
	r.ok(400, "PATCH", "/routing/pools/p", `{"channelId":"call","depth":7,"color":"red"}`)
	r.ok(204, "DELETE", "/routing/pools/Q%23Spanish%23M", "")

	r.put("/routing/jobs/2", `{"channelId":"fax","queueId":"q","notAfter":"2026-03-02T09:01:00Z"}`)
	same(t, `{"status":"queued","notAfter":"2026-03-02T09:01:00.0000000+00:00"}`, pick(r.get("/routing/jobs/2"), "status", "notAfter"))
	r.ok(200, "GET", "/routing/queues/q/unmatchable", "").is(`{"queueId":"q","value":["2"]}`)
	r.ok(404, "GET", "/routing/queues/none/unmatchable", "")
	r.engine.wait(time.Minute)
	same(t, `{"status":"cancelled","dispositionCode":"Expired"}`, pick(r.get("/routing/jobs/2"), "status", "dispositionCode"))
}
