package jobrouter_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

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
func TestCaptures(t *testing.T) {
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

func TestFormIsTheCapturedOne(t *testing.T) {
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
