package router_test

import (
	"fmt"
	"strings"
	"testing"

	"weir"
	routing "weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// small returns a router with room for little.
func small(t *testing.T) *testRouter {
	t.Helper()
	set := routing.DefaultSettings()
	set.MaxStored = 64 << 10
	return &testRouter{t: t, s: routing.New(set), now: start()}
}

// full checks that a command is refused for lack of room.
func (r *testRouter) full(c routing.Command) {
	r.t.Helper()
	if fields := r.refusal(weir.CodeConflict, c); len(fields) != 1 || fields[0].Code != routing.QuotaExceeded || !strings.Contains(fields[0].Detail, "JOB_ROUTER_MAX_MIB") {
		r.t.Fatalf("%T: %v", c, fields)
	}
}

// Whatever clients store counts, by its size, and is refused once there is no room for it.
func TestStore_IsBoundedForEveryKind(t *testing.T) {
	t.Parallel()
	large := label.Set{"text": label.Text(strings.Repeat("x", 12<<10))}
	value := large["text"]
	for kind, put := range map[string]func(id string) routing.Command{
		"job": func(id string) routing.Command {
			return routing.PutJob{ID: id, Spec: resource.JobSpec{ChannelID: "c", QueueID: "q", Tags: large}}
		},
		"worker": func(id string) routing.Command {
			return routing.PutWorker{ID: id, Spec: resource.WorkerSpec{Labels: large}}
		},
		"queue": func(id string) routing.Command {
			return routing.PutQueue{ID: id, Spec: resource.QueueSpec{Labels: large}}
		},
		"distribution": func(id string) routing.Command {
			return routing.PutDistribution{ID: id, Spec: resource.DistributionSpec{Mode: resource.Mode{Kind: resource.BestWorker, ScoringRule: &resource.Rule{Kind: resource.RuleStatic, Value: value}}}}
		},
		"classification": func(id string) routing.Command {
			return routing.PutClassification{ID: id, Spec: resource.ClassificationSpec{PrioritizationRule: &resource.Rule{Kind: resource.RuleStatic, Value: value}}}
		},
		"exception": func(id string) routing.Command {
			return routing.PutException{ID: id, Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{{ID: "r", Trigger: resource.Trigger{Kind: resource.TriggerQueueLength, Threshold: 1},
				Actions: []resource.Action{{Kind: resource.ActionCancel, Note: value.String()}}}}}}
		},
		"pool": func(id string) routing.Command {
			return routing.PutPool{ID: id, Spec: resource.PoolSpec{ChannelID: "c", Selectors: []resource.WorkerSelector{where("text", label.Equal, value)}}}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := small(t)
			r.do(routing.PutQueue{ID: "q"})
			n := 0
			for err := error(nil); err == nil && n < 10; n++ {
				_, err = r.s.Execute(put(fmt.Sprint(n)), r.now)
				if err != nil && weir.CodeOf(err) != weir.CodeConflict {
					t.Fatal(err)
				}
			}
			if n--; n != 2 && n != 5 { // jobs are small: their texts count once
				t.Fatalf("%d of 12 kB each are stored in 64 kB", n)
			}
			r.full(put("more"))
			r.do(put("0")) // the same again is no growth
		})
	}
}

// What is deleted, shrinks or is forgotten makes room; a restart changes nothing.
func TestStore_RegainsRoom(t *testing.T) {
	t.Parallel()
	r := small(t).queue("q", resource.Mode{})
	put := func(id string, kilobytes int) routing.PutJob {
		spec := chatSpec()
		spec.Tags = label.Set{}
		for i := range kilobytes {
			spec.Tags[fmt.Sprint(i)] = label.Text(strings.Repeat("x", 1<<10))
		}
		return routing.PutJob{ID: id, Spec: spec}
	}
	r.do(put("a", 25)).do(put("b", 25)).full(put("c", 25))
	r.full(put("b", 50))
	r.do(put("b", 20)).do(put("b", 25)).do(routing.CancelJob{ID: "b"}).full(put("c", 25))
	restored, err := routing.Restore(snapshot(t, r.s))
	if err != nil {
		t.Fatal(err)
	}
	r.s = restored
	r.full(put("c", 25))
	r.do(routing.DeleteJob{ID: "b"}).do(put("c", 25)).do(routing.CancelJob{ID: "c"})
	r.full(put("d", 25))
	r.wait(r.s.Settings().KeepFinished).do(put("d", 25))
	// Work that is under way is never refused.
	r.agent("w", nil)
	r.do(routing.CompleteJob{JobID: "a", AssignmentID: r.accept("a", "w"), Note: strings.Repeat("x", 15<<10)})
	r.full(put("e", 0))
}

// A page ends early if its jobs are large, and the next one goes on from there.
func TestPagesOfJobs_EndBySize(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	const jobs = 100
	spec := chatSpec()
	spec.Tags = label.Set{}
	for i := range 7 {
		spec.Tags[fmt.Sprint(i)] = label.Text(strings.Repeat("x", 16<<10))
	}
	for i := range jobs {
		r.do(routing.PutJob{ID: fmt.Sprint(i), Spec: spec})
	}
	seen, pages := 0, 0
	for after := uint64(0); pages == 0 || after != 0; pages++ {
		var page []routing.Job
		page, after = r.s.Jobs(after, 1000, nil)
		size := 0
		for _, j := range page {
			if j.ID != fmt.Sprint(seen) {
				t.Fatalf("job %s follows %d others", j.ID, seen)
			}
			seen++
			size += 7 * 16 << 10
		}
		if size > routing.PageSize+7*16<<10 {
			t.Errorf("a page of %d bytes", size)
		}
	}
	if seen != jobs || pages != 3 {
		t.Errorf("%d jobs on %d pages", seen, pages)
	}
}
