package router_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type capture struct {
	Call    string
	Method  string
	Target  string
	Headers map[string]string
	Body    json.RawMessage
	Form    bool
}

func captures(t testing.TB) []capture {
	t.Helper()
	text, err := os.ReadFile("testdata/captures.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Requests []capture }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Requests
}

// form serializes a query as URLSearchParams does, independently of the code under
// test.
func form(target string) string {
	path, query, _ := strings.Cut(target, "?")
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		n, _ := url.QueryUnescape(name)
		v, _ := url.QueryUnescape(value)
		fix := strings.NewReplacer("%2A", "*", "~", "%7E")
		pairs = append(pairs, fix.Replace(url.QueryEscape(n))+"="+fix.Replace(url.QueryEscape(v)))
	}
	return path + "?" + strings.Join(pairs, "&")
}

// Requests captured from the client, in their order, get the responses that it
// expects. The ids of offers and assignments are filled in; the rest is as
// captured.
func TestCaptures_GetTheResponsesThatTheClientExpects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/queues/queue1", `{}`)
	r.put("/routing/queues/queue2", `{}`)
	again := `{"availableForOffers":true}`
	before := map[string]func(){ // state that the captured session reached by other requests
		"conditional":   func() { r.put("/routing/workers/worker-1", again) },
		"delete-job":    func() { r.ok(200, "POST", "/routing/jobs/job1:cancel", "") },
		"cancel-nobody": func() { r.put("/routing/jobs/job1", string(body(t, "create-job"))) },
		"cancel-body": func() {
			r.ok(204, "DELETE", "/routing/jobs/job1", "")
			r.put("/routing/jobs/job1", string(body(t, "create-job")))
		},
		"reclassify": func() {
			r.ok(204, "DELETE", "/routing/jobs/job1", "")
			r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"queue1"}`)
			r.put("/routing/jobs/job1", `{"channelId":"chat","classificationPolicyId":"c"}`)
		},
		"decline-retry": func() { r.put("/routing/jobs/job2", `{"channelId":"chat","queueId":"queue2"}`) },
		"unassign":      func() { r.accept("worker-1") },
		"position": func() {
			r.ok(204, "DELETE", "/routing/jobs/job1", "")
			r.put("/routing/workers/worker-1", `{"availableForOffers":false}`)
			r.put("/routing/jobs/job1", string(body(t, "create-job")))
		},
		"odd-id": func() { r.put("/routing/queues/a%20b%2Fc%3Ad%25%C3%A9", `{}`) },
	}
	want := map[string]int{"create-worker": 201, "create-job": 201, "delete-job": 204, "conditional": 412}
	for _, c := range captures(t) {
		if do := before[c.Call]; do != nil {
			do()
		}
		target := c.Target
		switch {
		case strings.Contains(target, "/off-1:"):
			target = strings.Replace(target, "off-1", r.offer("worker-1"), 1)
		case c.Call == "unassign":
			target = strings.Replace(target, "job1/assignments/as-1", "job2/assignments/"+r.assignment("job2"), 1)
		case strings.Contains(target, "/as-1:"):
			target = strings.Replace(target, "as-1", r.assignment("job1"), 1)
		}
		text := ""
		if string(c.Body) != "null" {
			var compact strings.Builder
			enc := json.NewEncoder(&compact)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(c.Body); err != nil {
				t.Fatal(err)
			}
			text = strings.TrimSpace(compact.String())
		}
		signed := target
		if c.Form {
			signed = form(target)
		}
		req := r.request(c.Method, target, text)
		req.Header.Del("Content-Type")
		for name, value := range c.Headers {
			req.Header.Set(name, value)
		}
		status := want[c.Call]
		if status == 0 {
			status = 200
		}
		if a := r.send(r.signAs(req, signed, text)); a.status != status {
			t.Errorf("%s: %s %s: %d %s; want %d", c.Call, c.Method, target, a.status, a.text, status)
		}
	}
}

func body(t testing.TB, call string) json.RawMessage {
	t.Helper()
	for _, c := range captures(t) {
		if c.Call == call {
			return c.Body
		}
	}
	t.Fatalf("no capture of %s", call)
	return nil
}

// assignment returns the id of a job's only assignment.
func (r *rig) assignment(job string) string {
	r.t.Helper()
	all, _ := r.get("/routing/jobs/" + job)["assignments"].(map[string]any)
	if len(all) != 1 {
		r.t.Fatalf("job %s has %d assignments", job, len(all))
	}
	for id := range all {
		return id
	}
	return ""
}

func TestCaptures_ReserializedFormMatchesCaptures(t *testing.T) {
	t.Parallel()
	const want = "/routing/jobs?maxpagesize=2&status=active&queueId=q+a%2Bb%7E%21%27%28%29*&scheduledBefore=2023-11-14T22%3A13%3A20.000Z&api-version=2024-01-18-preview"
	for _, c := range captures(t) {
		if c.Form {
			if diff := cmp.Diff(want, form(c.Target)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// The bodies as printed on Microsoft's page "How jobs are matched to workers".
func TestCaptures_BodiesOfAzuresPageAreTaken(t *testing.T) {
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
