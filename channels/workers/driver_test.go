package workers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/channels"
	"weir/channels/workers"
	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
	"weir/router/routertest"
)

const phone = "+15550001234"

// shop is a router with a queue, and a driver for that queue.
type shop struct {
	t   *testing.T
	e   *routertest.Engine
	d   channels.Driver
	now time.Time
}

func newShop(t *testing.T, more ...weir.Settings) *shop {
	t.Helper()
	s := &shop{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	s.e = routertest.New(func() time.Time { return s.now })
	s.e.Must(router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 600}})
	s.e.Must(router.PutQueue{ID: "interviews", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	settings := weir.Settings{"queue": "interviews"}
	for _, m := range more {
		for k, v := range m {
			settings[k] = v
		}
	}
	s.d = driver(t, s.e, settings)
	return s
}

func driver(t *testing.T, e router.Engine, s weir.Settings) channels.Driver {
	t.Helper()
	typ := workers.Type(e)
	if wrong := typ.CheckSettings(s, 10); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	d, err := typ.New(channels.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func attempt(number int) channels.Attempt {
	return channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: number}, To: phone,
		Messages: []string{"Ask about the flu", "Then thank"}, Labels: map[string]string{"language": "Spanish", "region": "north", "level": "3", "zip": "007"},
	}
}

// worker creates a worker of the interviews' queue.
func (s *shop) worker(id string) { s.e.Must(workerPut(id)) }

func workerPut(id string) router.Command {
	return router.PutWorker{ID: id, Spec: resource.WorkerSpec{
		Queues: []string{"interviews"}, Capacity: 1, AvailableForOffers: true,
		Channels: []resource.Channel{{ChannelID: "contact", CapacityCostPerJob: 1}},
	}}
}

// try applies a command that may be refused.
func (s *shop) try(c router.Command) {
	_ = s.e.Do(context.Background(), func(*router.State, time.Time) (router.Command, error) { return c, nil }, nil)
}

// accept makes a worker accept the job that it is offered, and returns job and
// assignment.
func (s *shop) accept(worker string) (job, assignment string) {
	s.t.Helper()
	var offer router.Offer
	_ = s.e.View(s.t.Context(), func(st *router.State, _ time.Time) {
		if w, _ := st.Worker(worker); len(w.Offers) > 0 {
			offer = w.Offers[0]
		}
	})
	s.e.Must(router.AcceptOffer{WorkerID: worker, OfferID: offer.OfferID})
	j, _ := s.e.Job(offer.JobID)
	for id := range j.Assignments {
		assignment = id
	}
	return offer.JobID, assignment
}

func (s *shop) finish(worker, code string) {
	s.t.Helper()
	job, a := s.accept(worker)
	s.e.Must(router.CompleteJob{JobID: job, AssignmentID: a, Note: "she said " + phone})
	s.e.Must(router.CloseJob{JobID: job, AssignmentID: a, DispositionCode: code})
}

func (s *shop) asked(number int) channels.Answer {
	s.t.Helper()
	return s.d.Query(s.t.Context(), attempt(number))
}

func TestDriver_MakesAJobOfAContact(t *testing.T) {
	t.Parallel()
	s := newShop(t, weir.Settings{
		"selectors": "language=*, region, level<=skill, zip=post!, absent", "require": "cati,Vendor!=Acme", "router_channel": "voice",
		"priority": 95.0, "wait_minutes": 30.0,
	})
	a := attempt(1)
	a.Priority, a.Survey, a.Call = weir.High, "flu", &weir.Call{CallbackURL: "https://form.example/71"}
	a.NotAfter = s.now.Add(time.Hour)
	if diff := cmp.Diff(channels.SendResult{Status: channels.Accepted, ProviderRef: "7-1z-1"}, s.d.Send(t.Context(), a)); diff != "" {
		t.Fatal(diff)
	}
	j, _ := s.e.Job("7-1z-1")
	is := func(key string, op label.Operator, v label.Value) resource.WorkerSelector {
		return resource.WorkerSelector{Key: key, Operator: op, Value: v, Status: resource.SelectorActive}
	}
	want := resource.JobSpec{
		ChannelID: "voice", ChannelReference: "weir:7-1z-1", QueueID: "interviews", Priority: new(100),
		RequestedWorkerSelectors: []resource.WorkerSelector{
			is("cati", label.Equal, label.Bool(true)), is("Vendor", label.NotEqual, label.Text("Acme")), is("Spanish", label.Equal, label.Bool(true)),
			is("region", label.Equal, label.Text("north")), is("skill", label.LessOrEqual, label.Number(3)), is("post", label.Equal, label.Text("007")),
		},
		Labels: label.Set{"language": label.Text("Spanish"), "region": label.Text("north"), "level": label.Number(3), "zip": label.Text("007")},
		Tags:   label.Set{"to": label.Text(phone), "contact": label.Text("7-1z"), "survey": label.Text("flu"), "link": label.Text("https://form.example/71")},
		Notes:  []resource.Note{{Message: "Ask about the flu", AddedAt: s.now}, {Message: "Then thank", AddedAt: s.now}}, NotAfter: s.now.Add(30 * time.Minute),
		MatchingMode: resource.MatchingMode{Kind: resource.QueueAndMatch},
	}
	same := cmp.Comparer(func(a, b label.Value) bool { return a == b })
	blank := func(sel []resource.WorkerSelector) []resource.WorkerSelector {
		for i := range sel {
			sel[i].Status = resource.SelectorActive
		}
		return sel
	}
	j.RequestedWorkerSelectors = blank(j.RequestedWorkerSelectors)
	if diff := cmp.Diff(want, j.JobSpec, same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However often a contact is dispatched, it is one job.
func TestDriver_DispatchingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.worker("ann")
	s.e.Fail(routertest.LosesAnswer)
	if got := s.d.Send(t.Context(), attempt(1)); got.Status != channels.Unclear || !got.ChannelFault {
		t.Errorf("lost answer: %+v", got)
	}
	s.e.Reopen()
	if got := s.asked(1); got.Status != channels.Underway {
		t.Errorf("asked: %+v", got)
	}
	job, _ := s.accept("ann")
	before := len(s.e.Log())
	if got := s.d.Send(t.Context(), attempt(1)); got.Status != channels.Accepted || len(s.e.Log()) != before {
		t.Errorf("again: %+v, %d writes", got, len(s.e.Log())-before)
	}
	if j, _ := s.e.Job(job); j.Status != resource.JobAssigned {
		t.Errorf("it is %s", j.Status)
	}
	s = newShop(t)
	s.e.Fail(routertest.LosesWrite)
	if got := s.d.Send(t.Context(), attempt(1)); got.Status != channels.Unclear {
		t.Errorf("lost write: %+v", got)
	}
	if got := s.asked(1); got.Status != channels.Absent {
		t.Errorf("asked: %+v", got)
	}
}

type broken struct{ err error }

func (b broken) Do(context.Context, func(*router.State, time.Time) (router.Command, error), func(*router.State, []journal.Event)) error {
	return b.err
}
func (b broken) View(context.Context, func(*router.State, time.Time)) error { return b.err }

// crowded is a router without room for another job.
type crowded struct{ *routertest.Engine }

func (crowded) Do(_ context.Context, build func(*router.State, time.Time) (router.Command, error), _ func(*router.State, []journal.Event)) error {
	settings, now := router.DefaultSettings(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var state *router.State
	for range 2 { // the second time with room for a queue and its policy alone
		state = router.New(settings)
		for _, c := range []router.Command{
			router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 600}},
			router.PutQueue{ID: "interviews", Spec: resource.QueueSpec{DistributionPolicyID: "d"}},
		} {
			if _, err := state.Execute(c, now); err != nil {
				return err
			}
		}
		settings.MaxStored = state.SizeOf(resource.Distribution, "d") + state.SizeOf(resource.Queue, "interviews")
	}
	c, err := build(state, now)
	if err != nil {
		return err
	}
	_, err = state.Execute(c, now)
	return err
}

func TestDriver_EachFaultHasItsResult(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.e.Must(router.PutQueue{ID: "shut", Spec: resource.QueueSpec{Closed: resource.ClosedRefuse}})
	s.e.Must(router.PutJob{ID: "7-1z-9", Spec: resource.JobSpec{ChannelID: "x", QueueID: "interviews"}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	elsewhere := broken{&weir.Error{Code: weir.CodeUnavailable, Message: "elsewhere", RetryAfter: time.Second}}
	refused := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: reason}
	}
	for name, c := range map[string]struct {
		ctx      context.Context
		engine   router.Engine
		settings weir.Settings
		change   func(*channels.Attempt)
		want     channels.SendResult
	}{
		"no such queue":  {settings: weir.Settings{"queue": "none"}, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the router has no such queue or policy"}},
		"no such policy": {settings: weir.Settings{"classification_policy": "none"}, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the router has no such queue or policy"}},
		"closed queue":   {settings: weir.Settings{"queue": "shut"}, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the queue is closed", RetryAfter: 30 * time.Second}},
		"full router":    {engine: crowded{s.e}, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the router is full", RetryAfter: 30 * time.Second}},
		"lacks a label":  {settings: weir.Settings{"selectors": "absent!"}, want: refused("the contact lacks a label that the channel needs")},
		"no number":      {settings: weir.Settings{"selectors": "region>=region"}, want: refused("a label of the contact must be a number")},
		"TwiML":          {change: func(a *channels.Attempt) { a.Call = &weir.Call{TwiML: "<Response/>"} }, want: refused("call instructions cannot be given to people")},
		"long label":     {settings: weir.Settings{"selectors": "long=*"}, change: func(a *channels.Attempt) { a.Labels["long"] = strings.Repeat("ä", 200) }, want: refused("the router refused the job")},
		"taken id":       {change: func(a *channels.Attempt) { a.ID.Number = 9 }, want: refused("the router has another job with this id")},
		"elsewhere":      {engine: elsewhere, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, RetryAfter: time.Second, Reason: "the router is not available"}},
		"draining":       {engine: broken{weir.Errorf(weir.CodeDraining, "x")}, want: channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the router is not available"}},
		"given up":       {ctx: gone, want: channels.SendResult{Status: channels.NotSent, Reason: "given up by us"}},
	} {
		a, e, ctx := attempt(1), router.Engine(s.e), t.Context()
		if c.change != nil {
			c.change(&a)
		}
		if c.engine != nil {
			e = c.engine
		}
		if c.ctx != nil {
			ctx = c.ctx
		}
		if c.settings == nil {
			c.settings = weir.Settings{}
		}
		if c.settings["queue"] == nil {
			c.settings["queue"] = "interviews"
		}
		if diff := cmp.Diff(c.want, driver(t, e, c.settings).Send(ctx, a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
