package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/actors/router"
	"weir/persistence"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// The default limits are days, which take long even on simulated time.
const (
	idleLife = 2 * time.Hour
	jobLife  = 5 * time.Hour
)

// watch returns a channel of the kinds of events as they are announced.
func watch() (kinds chan string, tell func([]journal.Event)) {
	kinds = make(chan string, 1000)
	return kinds, func(events []journal.Event) {
		for _, e := range events {
			kinds <- e.Kind()
		}
	}
}

// within waits for a kind of event and returns how long that took.
func within(t *testing.T, kinds <-chan string, kind string, most time.Duration) time.Duration {
	t.Helper()
	begin := time.Now()
	late := time.After(most)
	for {
		select {
		case k := <-kinds:
			if k == kind {
				return time.Since(begin)
			}
		case <-late:
			t.Fatalf("%s did not happen within %v", kind, most)
		}
	}
}

// deadlines returns everything that happens by timer.
func deadlines() map[string]struct {
	set   func(*rig)
	kind  string
	after time.Duration
} {
	put := func(change func(*resource.JobSpec)) func(*rig) {
		return func(r *rig) {
			spec := job()
			change(&spec)
			r.do(routing.PutJob{ID: "j", Spec: spec})
		}
	}
	unmatched := func(s *resource.JobSpec) {
		s.RequestedWorkerSelectors = []resource.WorkerSelector{{Key: "none", Operator: label.Equal, Value: label.Bool(true), ExpiresAfterSeconds: 500}}
	}
	type deadline = struct {
		set   func(*rig)
		kind  string
		after time.Duration
	}
	return map[string]deadline{
		"an offer expires":     {put(func(*resource.JobSpec) {}), "RouterWorkerOfferExpired", time.Hour},
		"a selector expires":   {put(unmatched), "RouterJobWorkerSelectorsExpired", 500 * time.Second},
		"a job waits for long": {func(r *rig) { loadIsSlow(r); put(func(s *resource.JobSpec) { s.ChannelID = "none" })(r) }, "RouterJobExceptionTriggered", 200 * time.Second},
		"a job's schedule comes": {put(func(s *resource.JobSpec) {
			s.MatchingMode = resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: time.Now().Add(time.Hour)}
		}), "RouterJobWaitingForActivation", time.Hour},
		"a worker is idle":  {func(*rig) {}, "RouterWorkerDeregistered", idleLife},
		"a job is very old": {put(func(s *resource.JobSpec) { s.MatchingMode.Kind = resource.Suspend }), "RouterJobCancelled", jobLife},
	}
}

// loadIsSlow sets an exception policy that acts on waiting jobs.
func loadIsSlow(r *rig) {
	r.do(routing.PutException{ID: "x", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{{
		ID: "late", Trigger: resource.Trigger{Kind: resource.TriggerWaitTime, ThresholdSeconds: 200},
		Actions: []resource.Action{{Kind: resource.ActionManualReclassify, Priority: new(9)}},
	}}}})
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "d", ExceptionPolicyID: "x"}})
}

// A timer that came due while no process ran fires at the next start; one that
// is due later fires at its time, whichever process set it.
func TestTimers_SurviveARestart(t *testing.T) {
	for name, d := range deadlines() {
		for down, ran := range map[time.Duration]string{d.after / 2: "and is not due at the restart", d.after + time.Minute: "and was due while nothing ran"} {
			t.Run(name+" "+ran, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := storetest.Open(t, "sqlite://:memory:", persistence.Options{})
					kinds, tell := watch()
					limits := func(o *router.Options) {
						o.Watch = tell
						o.Settings = routing.DefaultSettings()
						o.Settings.IdleLife, o.Settings.JobLife = idleLife, jobLife
					}
					r := start(t, store, limits)
					r.furnish(1)
					d.set(r)
					r.Close()
					time.Sleep(down)
					for len(kinds) > 0 {
						<-kinds
					}
					start(t, store, limits)
					took := within(t, kinds, d.kind, d.after)
					if want := max(0, d.after-down); took < want || took > want+time.Second {
						t.Errorf("it happened %v after the restart, want %v", took, want)
					}
				})
			})
		}
	}
}
