package jobrouter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The bodies as printed on Microsoft's page "How jobs are matched to workers".
func TestAzurePage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/distributionPolicies/d", `{"offerExpiresAfterSeconds":60,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/queue1", `{"distributionPolicyId":"d"}`)
	r.put("/routing/queues/queue2", `{"distributionPolicyId":"d"}`)
	worker := `{"availableForOffers":true,"capacity":2,"queues":["queue1","queue2"],
		"channels":[{"channelId":"voice","capacityCostPerJob":2},{"channelId":"chat","capacityCostPerJob":1}],
		"labels":{"Skill":11,"English":true,"French":false,"Vendor":"Acme"}}`
	r.ok(201, "PATCH", "/routing/workers/worker-1", worker).is(`{
		"id":"worker-1","etag":"*","state":"active","queues":["queue1","queue2"],"capacity":2,"loadRatio":0,"availableForOffers":true,
		"channels":[{"channelId":"voice","capacityCostPerJob":2},{"channelId":"chat","capacityCostPerJob":1}],
		"labels":{"Id":"worker-1","Skill":11,"English":true,"French":false,"Vendor":"Acme"},"tags":{},"offers":[],"assignedJobs":[]}`)
	job := `{"channelId":"chat","queueId":"queue1","requestedWorkerSelectors":[
		{"key":"English","labelOperator":"equal","value":true},
		{"key":"Skill","labelOperator":"greaterThan","value":10,"expiresAfterSeconds":300}],"labels":{"name":"John"}}`
	r.ok(201, "PATCH", "/routing/jobs/job1", job).is(`{
		"id":"job1","etag":"*","status":"created","channelId":"chat","queueId":"queue1","priority":1,
		"requestedWorkerSelectors":[
			{"key":"English","labelOperator":"equal","value":true,"expedite":false,"status":"active"},
			{"key":"Skill","labelOperator":"greaterThan","value":10,"expiresAfterSeconds":300,"expedite":false,"status":"active","expiresAt":"2026-03-02T09:05:00.0000000+00:00"}],
		"attachedWorkerSelectors":[],"labels":{"name":"John"},"tags":{},"notes":[],"assignments":{},"matchingMode":{"kind":"queueAndMatch"}}`)
	same(t, `[{"offerId":"*","jobId":"job1","capacityCost":1,"offeredAt":"2026-03-02T09:00:00.0000000+00:00","expiresAt":"2026-03-02T09:01:00.0000000+00:00"}]`,
		r.get("/routing/workers/worker-1")["offers"])
	r.engine.wait(time.Second)
	r.ok(200, "PATCH", "/routing/workers/worker-1", `{"availableForOffers":false}`)
	same(t, `{"state":"inactive","offers":[]}`, pick(r.get("/routing/workers/worker-1"), "state", "offers"))
	want := []string{"RouterWorkerRegistered", "RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferRevoked", "RouterWorkerDeregistered"}
	if diff := cmp.Diff(want, r.engine.kinds()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// pick returns some members of an object.
func pick(m map[string]any, names ...string) any {
	out := map[string]any{}
	for _, n := range names {
		if v, ok := m[n]; ok {
			out[n] = v
		}
	}
	return out
}
