package jobrouter_test

import (
	"testing"
	"time"
)

// Extensions that Azure's router does not have: pools, the list of ready workers,
// and jobs with notAfter.
func TestPoolsAndWhoIsReady(t *testing.T) {
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
