package crashtest_test

import (
	"net/http"
	"testing"
	"time"

	"weir/persistence/testmysql"
)

// resumeWithin is the longest time from the store's return to the first dispatch.
const resumeWithin = 5 * time.Second

// TestStore_CrashIsSurvivedWithoutARestart kills MariaDB under load. The program keeps running, refuses
// requests that it cannot store, and continues by itself when the server is back.
func TestStore_CrashIsSurvivedWithoutARestart(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t)
	r := newRig(t, server.URL(t), seed(t), true, newCalls(t, capacity), newSMS(t, capacity))
	r.feed()
	for i := range size().storeKills {
		down := time.Second
		if i == 1 {
			down = 17 * time.Second // longer than the leases last
		}
		rest(nil, 1500*time.Millisecond)
		server.Kill()
		r.refuses()
		rest(nil, 500*time.Millisecond)
		before := r.taken()
		rest(nil, down)
		for i, n := range r.taken() {
			if n != before[i] {
				t.Errorf("%s: %d units went out although no claim can be stored", r.loads[i].out.channel, n-before[i])
			}
		}
		server.Restart()
		r.broker.ups = append(r.broker.ups, time.Now())
		r.resumes(before, time.Now())
	}
	r.settle("store killed", resumeWithin)
}

// taken returns how many units each provider accepted.
func (r *rig) taken() []int {
	var all []int
	for _, l := range r.loads {
		all = append(all, l.out.tally.Line(l.out.line).Taken)
	}
	return all
}

// refuses verifies that a request that cannot be stored gets 503 with Retry-After, and
// that the program itself stays alive.
func (r *rig) refuses() {
	r.t.Helper()
	for _, l := range r.loads {
		l.mu.Lock()
		batch := l.fresh(1)
		l.mu.Unlock()
		began := time.Now()
		a := r.api.do(r.t.Context(), http.MethodPost, "/v1/channels/"+l.out.channel+"/contacts", map[string]any{"contacts": batch})
		if a.status != http.StatusServiceUnavailable || a.retryAfter == "" {
			r.t.Errorf("%s: without its store the program answered %d, Retry-After %q: %s", l.out.channel, a.status, a.retryAfter, a.body)
		}
		r.t.Logf("%s: refused after %v", l.out.channel, time.Since(began).Round(time.Millisecond))
		l.work.Go(func() { l.post(batch, false) }) // it may have been stored
	}
	if a := r.api.do(r.t.Context(), http.MethodGet, "/livez", nil); a.status != http.StatusOK {
		r.t.Errorf("/livez: %d", a.status)
	}
	if a := r.api.do(r.t.Context(), http.MethodGet, "/readyz", nil); a.status != http.StatusServiceUnavailable {
		r.t.Errorf("/readyz: %d", a.status)
	}
}

// resumes waits until both providers get contacts again.
func (r *rig) resumes(before []int, back time.Time) {
	r.t.Helper()
	for i, l := range r.loads {
		for r.taken()[i] == before[i] {
			if time.Since(back) > 6*resumeWithin {
				r.t.Fatalf("%s: nothing goes out %v after the store's return", l.out.channel, time.Since(back))
			}
			rest(nil, 5*time.Millisecond)
		}
		took := time.Since(back) - r.pulse.still(back, time.Now())
		r.t.Logf("%s: the first contact went out %v after the store's return", l.out.channel, took.Round(time.Millisecond))
		if took > resumeWithin {
			r.t.Errorf("%s: the first contact went out %v after the store's return; the limit is %v", l.out.channel, took, resumeWithin)
		}
	}
}
