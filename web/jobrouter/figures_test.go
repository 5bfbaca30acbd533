package jobrouter_test

import (
	"net/url"
	"testing"
	"time"
)

// One call returns everything that a wallboard shows.
func TestFigures(t *testing.T) {
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
		"queues":[{"queueId":"a","length":2,"estimatedWaitTimeMinutes":{"1":1},"longestJobWaitTimeMinutes":3,"name":"Calls"}],"nextLink":"*"}`)
	link, err := url.Parse(r.get("/routing/figures?maxpagesize=1")["nextLink"].(string))
	if err != nil {
		t.Fatal(err)
	}
	q := link.Query()
	q.Del("api-version")
	r.ok(200, "GET", link.Path+"?"+q.Encode(), "").is(`{"jobs":{"queued":2},"workers":{"active":1,"inactive":1},"offersOut":1,"oldestQueuedAt":"2026-03-02T09:00:00.0000000+00:00",
		"queues":[{"queueId":"b","length":0,"closed":"hold"}]}`)
	r.ok(400, "GET", "/routing/figures?maxpagesize=0", "")
}
