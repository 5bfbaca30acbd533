package acd_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/router"
	"weir/router/acd"
	"weir/router/journal"
	"weir/router/resource"
	"weir/router/routertest"
)

// callCenter is a contact center on a running router, with a clock that the test
// moves.
type callCenter struct {
	t     testing.TB
	e     *routertest.Engine
	clock atomic.Pointer[time.Time]
}

func emptyCallCenter(t testing.TB, now time.Time) *callCenter {
	d := &callCenter{t: t}
	d.at(now)
	d.e = routertest.New(func() time.Time { return *d.clock.Load() })
	return d
}

func newCallCenter(t testing.TB) *callCenter {
	t.Helper()
	d := emptyCallCenter(t, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	for _, c := range acd.Setup().Commands() {
		d.e.Must(c)
	}
	return d
}

// lifo makes the agent available last go first.
func (d *callCenter) lifo() *callCenter {
	p := acd.Setup().Distribution[acd.Policy]
	p.Mode.Kind = resource.ShortestIdle
	d.e.Must(router.PutDistribution{ID: acd.Policy, Spec: p})
	return d
}

func (d *callCenter) at(now time.Time) { d.clock.Store(&now) }

func (d *callCenter) wait(by time.Duration) *callCenter {
	d.at(d.clock.Load().Add(by))
	return d
}

// do returns the error of a command.
func (d *callCenter) do(c router.Command) error {
	return d.e.Do(context.Background(), func(*router.State, time.Time) (router.Command, error) { return c, nil }, nil)
}

func (d *callCenter) refused(code weir.Code, c router.Command) {
	d.t.Helper()
	if err := d.do(c); weir.CodeOf(err) != code {
		d.t.Errorf("%T: %v, not %s", c, err, code)
	}
}

// agent creates an available agent.
func (d *callCenter) agent(id string, skills ...string) *callCenter {
	d.e.Must(router.PutWorker{ID: id, Spec: acd.Agent("Agent "+id, "F", skills...)})
	return d
}

func selectors(t testing.TB, filter string) []resource.WorkerSelector {
	t.Helper()
	if filter == "" {
		return nil
	}
	s, err := acd.ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call creates a call in the callers' queue, where callers wait.
func (d *callCenter) call(id string, skills ...string) *callCenter {
	d.t.Helper()
	d.e.Must(router.PutJob{ID: id, Spec: resource.JobSpec{
		ChannelID: acd.Channel, QueueID: acd.Callers, RequestedWorkerSelectors: selectors(d.t, strings.Join(skills, ",")),
	}})
	return d
}

// ask requests an agent now or not at all; it returns the agent's id or "".
func (d *callCenter) ask(id, filter string) (who string) {
	d.t.Helper()
	c := router.PutJob{ID: id, Spec: resource.JobSpec{ChannelID: acd.Channel, QueueID: acd.Agents, RequestedWorkerSelectors: selectors(d.t, filter)}}
	err := d.e.Do(context.Background(), func(*router.State, time.Time) (router.Command, error) { return c, nil },
		func(s *router.State, _ []journal.Event) { who = holder(s, id) })
	if err != nil {
		d.t.Errorf("ask %s: %v", filter, err)
	}
	return who
}

// holder returns the worker to which a job is assigned.
func holder(s *router.State, id string) string {
	j, _ := s.Job(id)
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			return a.WorkerID
		}
	}
	return ""
}

func (d *callCenter) see(f func(*router.State)) {
	if err := d.e.View(context.Background(), func(s *router.State, _ time.Time) { f(s) }); err != nil {
		d.t.Error(err)
	}
}

// has checks that an agent has a call; "" is no agent.
func (d *callCenter) has(agent, call string) *callCenter {
	d.t.Helper()
	d.see(func(s *router.State) {
		if got := holder(s, call); got != agent {
			d.t.Errorf("%s is with %q, not with %q", call, got, agent)
		}
	})
	return d
}

func (d *callCenter) status(call string, want resource.JobStatus) *callCenter {
	d.t.Helper()
	if j, ok := d.e.Job(call); !ok || j.Status != want {
		d.t.Errorf("%s is %q, not %s", call, j.Status, want)
	}
	return d
}

// finish ends an assigned call.
func (d *callCenter) finish(call string) *callCenter {
	d.t.Helper()
	j, _ := d.e.Job(call)
	for id, a := range j.Assignments {
		if !a.ClosedAt.IsZero() {
			continue
		}
		d.e.Must(router.CompleteJob{JobID: call, AssignmentID: id})
		d.e.Must(router.CloseJob{JobID: call, AssignmentID: id})
	}
	return d
}

func (d *callCenter) worker(id string) (w router.Worker) {
	d.see(func(s *router.State) { w, _ = s.Worker(id) })
	return w
}

// pool returns a pool's version and depth.
func (d *callCenter) pool(id string) (out router.PoolDepth) {
	d.see(func(s *router.State) { out = s.PoolDepth(id) })
	return out
}

// pools returns the depth of every pool.
func pools(s *router.State) (out []router.PoolDepth) {
	for _, id := range s.IDs(resource.Pool, "", 1000) {
		out = append(out, s.PoolDepth(id))
	}
	return out
}

func (d *callCenter) waiting() (n int) {
	d.see(func(s *router.State) {
		f, _ := s.Statistics(acd.Callers, *d.clock.Load())
		n = f.Length
	})
	return n
}
