package router_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/resource"
)

// Jobs that need a function during a hold are classified after the hold, however
// many there are and however long it lasted.
// Scenario 192.
func TestHold_JobsAreClassifiedAfterTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{reply: func(string, string) (int, string, error) { return 200, "17", nil }}
		released, ended := make(chan struct{}), time.Now().Add(10*time.Minute)
		r := start(t, storetest.SQLite(t), func(options *router.Options) {
			options.Caller = o
			options.Hold = func(ctx context.Context) (time.Time, error) {
				select {
				case <-released:
					return ended, nil
				case <-ctx.Done():
					return time.Time{}, ctx.Err()
				}
			}
		})
		r.furnish(0)
		r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: function("p")}})
		const jobs = 40
		for i := range jobs {
			spec := job()
			spec.QueueID, spec.ClassificationPolicyID = "", "c"
			r.do(routing.PutJob{ID: strconv.Itoa(i), Spec: spec})
		}
		time.Sleep(time.Until(ended))
		close(released)
		time.Sleep(time.Minute)
		synctest.Wait()
		var f routing.Figures
		if err := r.View(t.Context(), func(s *routing.State, _ time.Time) { f = s.Figures() }); err != nil {
			t.Fatal(err)
		}
		if f.Jobs[resource.JobQueued] != jobs {
			t.Errorf("jobs after the hold: %v, want %d queued", f.Jobs, jobs)
		}
	})
}
