package jobrouter_test

import (
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
}

// Scenario 120: a waiting job reports its reason on a separate route of Weir, so
// that the job resource stays as clients expect it.
func TestScenario120_JobsNameTheirReason(t *testing.T) {
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
	r.why("first", "workers_away", "no worker who could take it is available for work (1 are not)")
	job("french", `,"requestedWorkerSelectors":[{"key":"French","labelOperator":"equal","value":true}]`)
	r.why("french", "no_match", "no worker of queue q matches the selectors of the job")
	job("later", `,"matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-02T10:00:00Z"}`)
	r.why("later", "scheduled", "scheduled for 2026-03-02 10:00:00 UTC")
	job("held", `,"matchingMode":{"kind":"suspend"}`)
	r.why("held", "suspended", "its matching is suspended")

	r.put("/routing/classificationPolicies/none", `{}`)
	r.put("/routing/jobs/unclassified", `{"channelId":"chat","classificationPolicyId":"none"}`)
	r.why("unclassified", "classification_failed", "its classification failed")

	r.put("/routing/workers/w", `{"availableForOffers":true}`)
	r.why("first", "offer_pending", "offered to worker w; the offer expires at 2026-03-02 09:01:00 UTC")
	job("second", "")
	r.why("second", "workers_busy", "all workers who could take it are busy (1); 3 jobs of queue q go first")
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
func TestScenario120_JobsNameWhatHoldsThem(t *testing.T) {
	t.Parallel()
	const function = `{"kind":"function","functionUri":"https://functions.example/f"}`
	r := newRig(t).centre()
	r.put("/routing/queues/q", `{"closed":"hold"}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	r.why("j", "queue_closed", "queue q is closed")
	r.put("/routing/queues/q", `{"closed":null}`)
	r.ok(200, "POST", "/routing/workers/w/offers/"+r.offer("w")+":decline", "")
	r.why("j", "declined", "declined it or let its offer expire (1)")
	r.put("/routing/workers/v", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true}`)
	as := r.accept("v")
	r.why("j", "", "")
	r.ok(200, "POST", "/routing/jobs/j/assignments/"+as+":complete", "")
	r.why("j", "closing", "completed, and not closed yet")
	r.ok(200, "POST", "/routing/jobs/j/assignments/"+as+":close", "")
	r.why("j", "", "")

	r.put("/routing/distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":`+function+`}}`)
	r.put("/routing/jobs/scored", `{"channelId":"chat","queueId":"q"}`)
	r.why("scored", "scoring", "a scoring function is being asked")
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q","prioritizationRule":`+function+`}`)
	r.put("/routing/jobs/asked", `{"channelId":"chat","classificationPolicyId":"c"}`)
	r.why("asked", "classification", "its classification is under way")
}
