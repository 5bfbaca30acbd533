package router_test

import (
	"net/http"
	"testing"
	"time"
)

func TestResource_ConditionsOfRequestsAreKept(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"distributionPolicies/x", "exceptionPolicies/x", "classificationPolicies/x", "queues/x", "workers/x", "jobs/x",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.put("/routing/queues/home", `{}`)
			body, change := `{"name":"a"}`, `{"name":"b"}`
			switch path {
			case "workers/x":
				body, change = `{"tags":{"v":1}}`, `{"tags":{"v":2}}`
			case "jobs/x":
				body, change = `{"channelId":"chat","queueId":"home","tags":{"v":1}}`, `{"tags":{"v":2}}`
			}
			path := "/routing/" + path
			for _, h := range [][]string{
				{"If-Match", `"1"`}, {"If-Match", "*"}, {"If-Match", ""}, {"If-Unmodified-Since", r.engine.now().Format(http.TimeFormat)},
			} {
				r.do("PATCH", path, body, h...).failed(412, "PreconditionFailed")
			}
			r.ok(404, "GET", path, "") // a failed condition creates nothing
			made := r.do("PATCH", path, body, "If-None-Match", "*")
			if made.status != 201 {
				t.Fatalf("If-None-Match of what is not there: %d %s", made.status, made.text)
			}
			tag, before := made.header.Get("ETag"), r.engine.now()
			r.engine.wait(1500 * time.Millisecond)
			for _, h := range [][]string{
				{"If-Match", `"0"`}, {"If-Match", "W/" + tag}, {"If-Match", "1"}, {"If-Match", `"0", "f0"`}, {"If-None-Match", "*"}, {"If-None-Match", tag},
				{"If-Unmodified-Since", before.Add(-time.Second).Format(http.TimeFormat)},
			} {
				r.do("PATCH", path, change, h...).failed(412, "PreconditionFailed")
			}
			r.do("PATCH", path, change, "If-Unmodified-Since", "2026-03-02T09:00:00Z").failed(400, "BadRequest")
			if got := r.ok(200, "GET", path, "").header.Get("ETag"); got != tag {
				t.Fatalf("conditions that failed changed it from %s to %s", tag, got)
			}
			for i, h := range [][]string{
				{"If-Match", tag}, {"If-Match", `"0" , ` + tag}, {"If-Match", "*"}, {"If-None-Match", `"0"`},
				{"If-Unmodified-Since", before.Format(http.TimeFormat)},
				{"If-Match", "*", "If-Unmodified-Since", before.Add(-time.Hour).Format(http.TimeFormat)},
			} {
				if a := r.do("PATCH", path, body, h...); a.status != 200 || a.header.Get("ETag") != tag || a.header.Get("Last-Modified") != before.Format(http.TimeFormat) {
					t.Errorf("%d: %v: %d %s, ETag %s (%s)", i, h, a.status, a.text, a.header.Get("ETag"), tag)
				}
			}
			if a := r.do("PATCH", path, change, "If-Match", tag); a.status != 200 || a.header.Get("ETag") == tag {
				t.Errorf("a change: %d, ETag %s", a.status, a.header.Get("ETag"))
			}
			r.do("PATCH", path, body, "If-Match", tag).failed(412, "PreconditionFailed")
		})
	}
}
