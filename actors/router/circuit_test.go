package router_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/resource"
)

// Scenario 190: a function that hangs delays only the jobs whose policy calls it,
// and is not called for each of them.
func TestCircuit_HangingFunctionHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{reply: func(url, _ string) (int, string, error) {
			if strings.Contains(url, "hangs") {
				time.Sleep(5 * time.Second)
				return 0, "", errors.New("timeout")
			}
			return 200, "5", nil
		}}
		r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller = o })
		r.furnish(0)
		for _, name := range []string{"hangs", "works"} {
			r.do(routing.PutClassification{ID: name, Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: function(name)}})
		}
		const jobs = 100
		put := func(name string, i int) {
			spec := job()
			spec.QueueID, spec.ClassificationPolicyID = "", name
			r.do(routing.PutJob{ID: fmt.Sprint(name, i), Spec: spec})
		}
		for i := range jobs {
			put("hangs", i)
		}
		begin := time.Now()
		for i := range jobs {
			put("works", i)
		}
		queued := func(name string) (n int) {
			if err := r.View(t.Context(), func(s *routing.State, _ time.Time) {
				for i := range jobs {
					if j, _ := s.Job(fmt.Sprint(name, i)); j.Status == resource.JobQueued {
						n++
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := queued("works"); n != jobs {
			t.Errorf("after %v, %d of %d jobs of the policy whose function works are queued", time.Since(begin), n, jobs)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		calls := 0
		for _, call := range o.calls {
			if strings.Contains(call, "hangs") {
				calls++
			}
		}
		if calls >= jobs {
			t.Errorf("the function that hangs was called %d times for %d jobs", calls, jobs)
		}
		o.mu.Lock()
		o.reply = func(string, string) (int, string, error) { return 200, "5", nil }
		o.mu.Unlock()
		put("hangs", jobs)
		time.Sleep(time.Minute)
		synctest.Wait()
		for i := range jobs {
			put("hangs", 1000+i)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		var f routing.Figures
		if err := r.View(t.Context(), func(s *routing.State, _ time.Time) { f = s.Figures() }); err != nil {
			t.Fatal(err)
		}
		if n := f.Jobs[resource.JobQueued]; n < 2*jobs {
			t.Errorf("after the function works again %d jobs are queued, want at least %d", n, 2*jobs)
		}
	})
}
