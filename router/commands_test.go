package router_test

import (
	"fmt"

	"pgregory.net/rapid"

	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// setUp creates the resources that histories use.
func (h *history) setUp() {
	h.do(router.PutDistribution{ID: "d0", Spec: h.distribution()})
	h.do(router.PutDistribution{ID: "d1", Spec: h.distribution()})
	h.do(router.PutQueue{ID: "q0", Spec: resource.QueueSpec{DistributionPolicyID: "d0", Labels: label.Set{"Region": label.Text("north")}}})
	h.do(router.PutQueue{ID: "q1", Spec: resource.QueueSpec{DistributionPolicyID: "d1", Labels: label.Set{"Region": label.Text("south")}}})
	h.do(router.PutClassification{ID: "c0", Spec: resource.ClassificationSpec{
		FallbackQueueID:    "q0",
		PrioritizationRule: &resource.Rule{Kind: resource.RuleExpression, Expression: `If(job.Vip = true, 10, 2)`},
		QueueSelectorAttachments: []resource.QueueAttachment{
			{Kind: resource.AttachPassThrough, Key: "Region", Operator: label.Equal},
		},
		WorkerSelectorAttachments: []resource.WorkerAttachment{
			{Kind: resource.AttachPassThrough, Key: "Lang", Operator: label.Equal, ExpiresAfterSeconds: 30},
			{Kind: resource.AttachWeighted, Allocations: []resource.WorkerAllocation{
				{Weight: 1, WorkerSelectors: []resource.WorkerSelector{{Key: "Skill", Operator: label.GreaterOrEqual, Value: label.Number(3)}}}, {Weight: 2},
			}},
		},
	}})
	h.do(router.PutClassification{ID: "c1", Spec: resource.ClassificationSpec{PrioritizationRule: rule(resource.RuleFunction, "https://f"), FallbackQueueID: "q1"}})
	h.do(router.PutException{ID: "e0", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{
		{ID: "long", Trigger: resource.Trigger{Kind: resource.TriggerQueueLength, Threshold: 3}, Actions: []resource.Action{{Kind: resource.ActionManualReclassify, QueueID: "q1", Priority: new(7)}}},
		{ID: "slow", Trigger: resource.Trigger{Kind: resource.TriggerWaitTime, ThresholdSeconds: 45}, Actions: []resource.Action{{Kind: resource.ActionReclassify, ClassificationPolicyID: "c0", LabelsToUpsert: label.Set{"Vip": label.Bool(true)}}}},
		{ID: "never", Trigger: resource.Trigger{Kind: resource.TriggerWaitTime, ThresholdSeconds: 4000}, Actions: []resource.Action{{Kind: resource.ActionCancel, Note: "waited too long"}}},
	}}})
	h.do(router.PutPool{ID: "p0", Spec: resource.PoolSpec{ChannelID: "chat", Selectors: []resource.WorkerSelector{{Key: "Lang", Operator: label.Equal, Value: label.Text("es")}}}})
	for i := range 4 {
		h.do(router.PutWorker{ID: fmt.Sprint("w", i), Spec: h.worker()})
	}
}

func pick[T any](h *history, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.t, label)
}

func (h *history) distribution() resource.DistributionSpec {
	m := resource.Mode{
		Kind:                pick(h, "mode", resource.LongestIdle, resource.RoundRobin, resource.BestWorker, resource.ShortestIdle),
		MinConcurrentOffers: 1, MaxConcurrentOffers: pick(h, "offers", 1, 1, 2, 3),
		BypassSelectors: pick(h, "bypass", false, false, true),
	}
	if m.Kind == resource.BestWorker && pick(h, "remote", false, true) {
		m.ScoringRule = rule(resource.RuleFunction, "https://scores")
	}
	if pick(h, "ascending", false, true) {
		m.ScoringRuleOptions = &resource.ScoringOptions{DescendingOrder: new(false)}
	}
	return resource.DistributionSpec{OfferExpiresAfterSeconds: pick(h, "life", 0.0, 20, 90, 5000), Mode: m, AutoAccept: pick(h, "auto", false, false, false, true)}
}

func (h *history) labels() label.Set {
	l := label.Set{}
	if v := pick(h, "lang", "", "en", "es"); v != "" {
		l["Lang"] = label.Text(v)
	}
	if v := pick(h, "skill", 0.0, 1, 3, 5.5); v != 0 {
		l["Skill"] = label.Number(v)
	}
	if v := pick(h, "vip", 0, 1, 2); v != 0 {
		l["Vip"] = label.Bool(v == 1)
	}
	return l
}

func (h *history) worker() resource.WorkerSpec {
	s := resource.WorkerSpec{
		Queues:   pick(h, "queues", []string{"q0"}, []string{"q0", "q1"}, []string{"q1"}, []string{"q1", "q1", "nowhere"}),
		Capacity: pick(h, "capacity", 0, 1, 2, 3, 5), Labels: h.labels(), AvailableForOffers: pick(h, "available", true, true, true, false),
		MaxConcurrentOffers: pick(h, "most", 0, 0, 0, 1, 2),
	}
	s.Channels = []resource.Channel{{ChannelID: "chat", CapacityCostPerJob: 1, MaxNumberOfJobs: pick(h, "jobs", 0, 0, 1)}}
	if pick(h, "voice", true, false) {
		s.Channels = append(s.Channels, resource.Channel{ChannelID: "voice", CapacityCostPerJob: 2})
	}
	return s
}

func (h *history) selectors() []resource.WorkerSelector {
	var out []resource.WorkerSelector
	for range pick(h, "selectors", 0, 0, 1, 1, 2) {
		s := resource.WorkerSelector{ExpiresAfterSeconds: pick(h, "ttl", 0.0, 0, 0.5, 30), Expedite: pick(h, "expedite", false, false, true)}
		if pick(h, "by", true, false) {
			s.Key, s.Value = "Lang", label.Text(pick(h, "which", "en", "es", "fr"))
			s.Operator = pick(h, "is", label.Equal, label.NotEqual, label.LessThan)
		} else {
			s.Key, s.Value = "Skill", label.Number(pick(h, "least", -1.0, 0, 1, 3, 4))
			s.Operator = pick(h, "than", label.Equal, label.NotEqual, label.LessThan, label.LessOrEqual, label.GreaterThan, label.GreaterOrEqual)
		}
		out = append(out, s)
	}
	return out
}

func (h *history) job() resource.JobSpec {
	s := resource.JobSpec{
		ChannelID: pick(h, "channel", "chat", "chat", "voice", "fax"), QueueID: pick(h, "queue", "q0", "q0", "q1"),
		Labels: h.labels(), RequestedWorkerSelectors: h.selectors(),
	}
	if p := pick(h, "priority", 1, 1, 1, -100, 5, 100); p != 1 {
		s.Priority = &p
	}
	if pick(h, "classified", false, false, true) {
		s.ClassificationPolicyID = pick(h, "classes", "c0", "c0", "c1")
		s.Labels["Region"] = label.Text(pick(h, "region", "north", "south", "west"))
	}
	switch pick(h, "matching", 0, 0, 0, 0, 0, 1, 2) {
	case 1:
		s.MatchingMode.Kind = resource.Suspend
	case 2:
		s.MatchingMode = resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: h.now.Add(h.pause())}
	}
	if pick(h, "limited", false, false, false, true) {
		s.NotAfter = h.now.Add(h.pause())
	}
	return s
}

func (h *history) jobID() string { return fmt.Sprint("j", rapid.IntRange(0, 15).Draw(h.t, "job")) }

func (h *history) workerID() string { return fmt.Sprint("w", rapid.IntRange(0, 5).Draw(h.t, "worker")) }

// offer returns a recent offer, open or not.
func (h *history) offer() (worker, offer string) {
	if len(h.offers) == 0 {
		return "w0", "o-0"
	}
	o := h.offers[rapid.IntRange(max(0, len(h.offers)-6), len(h.offers)-1).Draw(h.t, "offer")]
	return o.WorkerID, o.OfferID
}

// assignment returns a job with an open assignment, if there is one.
func (h *history) assignment() (job, assignment string) {
	for _, id := range h.live.IDs(resource.Job, "", 100) {
		j, _ := h.live.Job(id)
		for a, v := range j.Assignments {
			if v.ClosedAt.IsZero() && rapid.Bool().Draw(h.t, "this") {
				return id, a
			}
		}
	}
	return h.jobID(), "a-0"
}

func (h *history) command() router.Command {
	switch rapid.IntRange(0, 31).Draw(h.t, "command") {
	case 0, 1, 2, 3, 4, 5:
		return router.PutJob{ID: h.jobID(), Spec: h.job(), NoWait: pick(h, "nowait", false, false, false, true)}
	case 6, 7, 8:
		return router.PutWorker{ID: h.workerID(), Spec: h.worker()}
	case 9:
		return router.DeleteWorker{ID: h.workerID()}
	case 10, 11, 12, 13, 14:
		w, o := h.offer()
		return router.AcceptOffer{WorkerID: w, OfferID: o}
	case 15, 16:
		w, o := h.offer()
		c := router.DeclineOffer{WorkerID: w, OfferID: o}
		if pick(h, "retry", false, true) {
			c.RetryOfferAt = h.now.Add(h.pause())
		}
		return c
	case 17, 18, 19:
		j, a := h.assignment()
		return router.CompleteJob{JobID: j, AssignmentID: a, Note: pick(h, "note", "", "done")}
	case 20, 21, 22:
		j, a := h.assignment()
		c := router.CloseJob{JobID: j, AssignmentID: a, DispositionCode: "Resolved"}
		if pick(h, "later", false, true) {
			c.CloseAt = h.now.Add(h.pause())
		}
		return c
	case 23:
		j, a := h.assignment()
		return router.UnassignJob{JobID: j, AssignmentID: a, SuspendMatching: pick(h, "suspend", false, false, true)}
	case 24:
		return router.CancelJob{ID: h.jobID(), Note: "n"}
	}
	if asked := h.live.AwaitingJobs(); len(asked) > 0 {
		return h.answer(pick(h, "asked", asked...))
	}
	return h.rareCommand()
}

// answer returns the command with the result that a job waits for.
func (h *history) answer(id string) router.Command {
	j, _ := h.live.Job(id)
	if j.Awaits == router.AwaitScores {
		scores := map[string]float64{}
		for i := range 5 {
			scores[fmt.Sprint("w", i)] = pick(h, "score", 0.0, 1, 2)
		}
		return router.SupplyScores{JobID: id, Round: j.Round, Scores: scores}
	}
	if pick(h, "fails", false, false, true) {
		return router.SupplyRules{JobID: id, Round: j.Round, Failure: &journal.Failure{Code: "Status", Message: "500"}}
	}
	return router.SupplyRules{JobID: id, Round: j.Round, Results: map[string]router.Result{"prioritizationRule": {Value: label.Number(3)}}}
}

func (h *history) rareCommand() router.Command {
	switch rapid.IntRange(0, 8).Draw(h.t, "rare") {
	case 0:
		return router.DeleteJob{ID: h.jobID()}
	case 1:
		return router.ReclassifyJob{ID: h.jobID()}
	case 2, 3:
		return router.PutDistribution{ID: pick(h, "policy", "d0", "d1"), Spec: h.distribution()}
	case 4, 5:
		return router.PutQueue{ID: pick(h, "which queue", "q0", "q1"), Spec: resource.QueueSpec{
			DistributionPolicyID: pick(h, "distribution", "d0", "d1", ""), ExceptionPolicyID: pick(h, "exception", "e0", ""),
			Labels: label.Set{"Region": label.Text(pick(h, "queue region", "north", "south"))},
			Closed: pick(h, "closed", resource.Open, resource.Open, resource.ClosedHold, resource.ClosedRefuse),
		}}
	case 6:
		return router.SetAvailable{Available: pick(h, "all", true, false)}
	case 7:
		return router.Delete{Resource: pick(h, "resource", resource.Queue, resource.Distribution, resource.Exception), ID: pick(h, "id", "q0", "d1", "e0")}
	}
	return router.Tick{}
}
