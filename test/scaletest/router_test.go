package scaletest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/hmacsign"
	"weir/internal/polling"
)

const (
	routerVersion = "2024-01-18-preview"
	startSeconds  = 2.0    // of processor time, for a start with 100,000 jobs
	replayedMost  = 50_000 // events, however the program ended: 25,000 and those during a snapshot
)

// TestRouter_StartsWithManyJobs starts the built program with many waiting jobs: after a
// crash, when it has to read the journal, and after an orderly shutdown.
func TestRouter_StartsWithManyJobs(t *testing.T) {
	jobs := 5_000
	if *full {
		jobs = 100_000
	}
	path := build(t)
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			secret := base64.StdEncoding.EncodeToString([]byte("an access key of a scale test"))
			p := newProgram(t, path, database(t, store), "JOB_ROUTER_ACCESS_KEYS="+secret)
			key, err := hmacsign.ParseKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			p.start()
			p.routing(key, http.MethodPatch, "distributionPolicies/d", `{"mode":{"kind":"longestIdle"}}`)
			p.routing(key, http.MethodPatch, "queues/q", `{"distributionPolicyId":"d"}`)
			rate := p.enqueue(key, jobs)
			t.Logf("%s: %d jobs were made at %.0f/s, resident then %s", store, jobs, rate, p.resident())
			p.kill()
			t.Logf("%s: after a crash the router answered %s after the start, resident then %s", store, p.answers(key, jobs), p.resident())
			begun := time.Now()
			p.terminate()
			t.Logf("%s: an orderly end took %v", store, time.Since(begun).Round(time.Millisecond))
			t.Logf("%s: after it the router answered %s after the start, resident then %s, at most %s", store,
				p.answers(key, jobs), p.resident(), memory(t, p.cmd.Process.Pid, "VmHWM"))
			p.terminate()
		})
	}
}

// routing makes a signed request that must succeed.
func (p *program) routing(key hmacsign.Key, method, path, body string) []byte {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+"/routing/"+path+"?api-version="+routerVersion, bytes.NewReader([]byte(body)))
	if err != nil {
		p.t.Error(err)
		return nil
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	key.Sign(r, []byte(body), time.Now())
	answer, err := p.http.Do(r)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		p.t.Errorf("%s %s: %d %v %.300s", method, path, answer.StatusCode, err, text)
	}
	return text
}

// enqueue creates jobs that no worker can take, and returns their rate per second.
func (p *program) enqueue(key hmacsign.Key, jobs int) (rate float64) {
	p.t.Helper()
	begun := time.Now()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for !p.t.Failed() {
				n := next.Add(1)
				if n > int64(jobs) {
					return
				}
				p.routing(key, http.MethodPatch, fmt.Sprint("jobs/j", n), fmt.Sprintf(
					`{"channelId":"chat","queueId":"q","requestedWorkerSelectors":[{"key":"language","labelOperator":"equal","value":"l%d"}]}`, n%50))
			}
		})
	}
	clients.Wait()
	return float64(jobs) / time.Since(begun).Seconds()
}

// answers starts the program, checks that all jobs wait, and returns how long it took
// until the router was ready. The bound is in processor time, because other programs
// use the machine, too.
func (p *program) answers(key hmacsign.Key, jobs int) string {
	p.t.Helper()
	begun := p.start()
	polling.Until(time.Minute, 10*time.Millisecond, p.routes)
	took, used, replayed := time.Since(begun), p.figure("process_cpu_seconds_total"), p.figure("weir_router_replayed_events_total")
	if !(used <= startSeconds && replayed <= replayedMost) {
		p.t.Errorf("the start took %.2f s of processor time, want at most %v; %.0f events were replayed, want at most %d", used, startSeconds, replayed, replayedMost)
	}
	var is struct{ Length int }
	text := p.routing(key, http.MethodGet, "queues/q/statistics", "")
	if err := json.Unmarshal(text, &is); err != nil || is.Length != jobs {
		p.t.Errorf("of %d jobs %d wait: %v", jobs, is.Length, err)
	}
	return fmt.Sprintf("%v (%.2f s of processor time, %.0f events replayed)", took.Round(time.Millisecond), used, replayed)
}

// routes reports whether the router has loaded its state.
func (p *program) routes() bool {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+"/readyz", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.http.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	var is struct{ Router string }
	return json.NewDecoder(answer.Body).Decode(&is) == nil && is.Router == "serving"
}
