package routing

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"weir"
)

func (q *queue) mode() Mode {
	if q.dist == nil {
		return Mode{Kind: LongestIdle}
	}
	return q.dist.Mode
}

func (q *queue) bypass() bool { return q.dist != nil && q.dist.Mode.BypassSelectors }

func (q *queue) maxOffers() int {
	if q.dist == nil {
		return 1
	}
	return max(1, q.dist.Mode.MaxConcurrentOffers)
}

func (q *queue) offerLife() time.Duration {
	if q.dist == nil {
		return usualOfferLife * time.Second
	}
	return seconds(q.dist.OfferExpiresAfterSeconds)
}

func (c PutQueue) decide(s *State) error {
	old := s.queues[c.ID]
	var st *stamp
	if old != nil {
		st = &old.stamp
	}
	if err := c.If.check(st); err != nil {
		return err
	}
	var m mistakes
	m.id("/id", c.ID)
	m.text("/name", c.Spec.Name, maxText)
	m.labels("/labels", c.Spec.Labels)
	if id := c.Spec.DistributionPolicyID; id != "" && s.dists[id] == nil {
		m.add("/distributionPolicyId", "not_found", "there is no distribution policy %q", id)
	}
	if id := c.Spec.ExceptionPolicyID; id != "" && s.excepts[id] == nil {
		m.add("/exceptionPolicyId", "not_found", "there is no exception policy %q", id)
	}
	if k := c.Spec.Closed; k != Open && k != ClosedHold && k != ClosedRefuse {
		m.add("/closed", "unknown", "hold or refuse")
	}
	if err := m.err(); err != nil {
		return err
	}
	spec := c.Spec
	spec.Labels = spec.Labels.with("Id", Text(c.ID))
	if old == nil || !alike(old.QueueSpec, spec) {
		s.emit(&QueuePutEvent{ID: c.ID, Spec: spec})
	}
	return nil
}

func (c PutDistribution) decide(s *State) error {
	old := s.dists[c.ID]
	var st *stamp
	if old != nil {
		st = &old.stamp
	}
	if err := c.If.check(st); err != nil {
		return err
	}
	spec := c.Spec
	if err := validateDistribution(c.ID, &spec); err != nil {
		return err
	}
	if old == nil || !alike(old.DistributionSpec, spec) {
		s.emit(&DistributionPutEvent{ID: c.ID, Spec: spec})
	}
	return nil
}

// alike reports whether two specifications have the same JSON form, so that an
// absent list equals an empty one. Clients see an empty list for an absent one
// and send back what they see.
func alike[T any](a, b T) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// orUsual returns the options with defaults filled in; clients see the defaults
// and send them back.
func (o *ScoringOptions) orUsual() *ScoringOptions {
	out := ScoringOptions{DescendingOrder: new(true)}
	if o != nil {
		out.IsBatchScoringEnabled = o.IsBatchScoringEnabled
		out.BatchSize, out.ScoringParameters = o.BatchSize, o.ScoringParameters
	}
	if o != nil && o.DescendingOrder != nil {
		out.DescendingOrder = o.DescendingOrder
	}
	if out.BatchSize == 0 {
		out.BatchSize = 20
	}
	if len(out.ScoringParameters) == 0 {
		out.ScoringParameters = []string{"jobLabels", "workerSelectors"}
	}
	return &out
}

// usualOfferLife is the default life of an offer in seconds. The API publishes
// no default; its examples use one minute.
const usualOfferLife = 60

// validateDistribution checks a policy and fills in its defaults.
func validateDistribution(id string, d *DistributionSpec) error {
	var m mistakes
	m.id("/id", id)
	m.text("/name", d.Name, maxText)
	m.seconds("/offerExpiresAfterSeconds", d.OfferExpiresAfterSeconds)
	if d.OfferExpiresAfterSeconds == 0 {
		d.OfferExpiresAfterSeconds = usualOfferLife
	}
	mode := &d.Mode
	switch mode.Kind {
	case "":
		mode.Kind = LongestIdle
	case LongestIdle, RoundRobin, BestWorker, ShortestIdle:
	default:
		m.add("/mode/kind", "unknown", "there is no mode %q", mode.Kind)
	}
	m.between("/mode/minConcurrentOffers", mode.MinConcurrentOffers, 0, maxNumber)
	m.between("/mode/maxConcurrentOffers", mode.MaxConcurrentOffers, 0, maxNumber)
	mode.MinConcurrentOffers = max(1, mode.MinConcurrentOffers)
	if mode.MaxConcurrentOffers == 0 {
		mode.MaxConcurrentOffers = mode.MinConcurrentOffers
	}
	if mode.MaxConcurrentOffers < mode.MinConcurrentOffers {
		m.add("/mode/maxConcurrentOffers", "range", "at least minConcurrentOffers")
	}
	if mode.Kind == BestWorker {
		mode.ScoringRuleOptions = mode.ScoringRuleOptions.orUsual()
	} else {
		mode.ScoringRule, mode.ScoringRuleOptions = nil, nil
	}
	m.rule("/mode/scoringRule", mode.ScoringRule)
	return m.err()
}

// rule validates a rule; nil is allowed.
func (m *mistakes) rule(pointer string, r *Rule) {
	if r == nil {
		return
	}
	switch r.Kind {
	case RuleStatic, RuleDirectMap:
	case RuleExpression:
		if r.Language != "" && r.Language != "powerFx" {
			m.add(pointer+"/language", "unknown", "powerFx is the only one")
		}
		if _, err := parseExpression(r.Expression); err != nil {
			m.add(pointer+"/expression", "format", "%v", err)
		}
	case RuleFunction:
		m.required(pointer+"/functionUri", r.FunctionURI)
	case RuleWebhook:
		m.required(pointer+"/webhookUri", r.WebhookURI)
	default:
		m.add(pointer+"/kind", "unknown", "there is no rule %q", r.Kind)
	}
}

func (m *mistakes) required(pointer, text string) {
	if text == "" {
		m.add(pointer, "required", "it must not be empty")
	}
	m.text(pointer, text, maxText)
}

func (c PutException) decide(s *State) error {
	old := s.excepts[c.ID]
	var st *stamp
	if old != nil {
		st = &old.stamp
	}
	if err := c.If.check(st); err != nil {
		return err
	}
	if err := s.validateException(c.ID, &c.Spec); err != nil {
		return err
	}
	spec := c.Spec
	spec.ExceptionRules = s.numbered(spec.ExceptionRules)
	if old == nil || !alike(old.ExceptionSpec, spec) {
		s.emit(&ExceptionPutEvent{ID: c.ID, Spec: spec})
	}
	return nil
}

// numbered assigns ids to actions that have none.
func (s *State) numbered(rules []ExceptionRule) []ExceptionRule {
	out := slices.Clone(rules)
	n := 0
	for i := range out {
		out[i].Actions = slices.Clone(out[i].Actions)
		for k := range out[i].Actions {
			if a := &out[i].Actions[k]; a.ID == "" {
				n++
				a.ID = "x-" + strconv.FormatUint(s.seq+1, 36) + "-" + strconv.Itoa(n)
			}
		}
	}
	return out
}

func (c PutPool) decide(s *State) error {
	old := s.pools[c.ID]
	var st *stamp
	if old != nil {
		st = &old.stamp
	}
	if err := c.If.check(st); err != nil {
		return err
	}
	var m mistakes
	m.id("/id", c.ID)
	m.id("/channelId", c.Spec.ChannelID)
	m.workerSelectors("/selectors", c.Spec.Selectors)
	if err := m.err(); err != nil {
		return err
	}
	if old == nil || !alike(old.PoolSpec, c.Spec) {
		s.emit(&PoolPutEvent{ID: c.ID, Spec: c.Spec})
	}
	return nil
}

func (c Delete) decide(s *State) error {
	if err := s.deletable(c.Resource, c.ID); err != nil {
		return err
	}
	s.emit(&DeletedEvent{Resource: c.Resource, ID: c.ID})
	return nil
}

func (s *State) deletable(kind Resource, id string) error {
	found := false
	switch kind {
	case ResourceQueue:
		if s.queues[id] != nil {
			return s.queueDeletable(id)
		}
	case ResourceDistribution:
		for _, q := range s.queues {
			if q.DistributionPolicyID == id {
				return inUse(QueueUsesDistribution, "a queue uses it")
			}
		}
		found = s.dists[id] != nil
	case ResourceException:
		for _, q := range s.queues {
			if q.ExceptionPolicyID == id {
				return inUse(QueueUsesException, "a queue uses it")
			}
		}
		found = s.excepts[id] != nil
	case ResourceClassification:
		for _, j := range s.jobs {
			if j.ClassificationPolicyID == id && !j.Status.over() {
				return inUse(JobUsesClassification, "an active job uses it")
			}
		}
		found = s.classes[id] != nil
	case ResourcePool:
		found = s.pools[id] != nil
	case ResourceWorker, ResourceJob:
		return invalid("/resource", "unknown", "workers and jobs have commands of their own")
	}
	if !found {
		return notFound(string(kind), id)
	}
	return nil
}

// queueDeletable returns an error that lists every reason why a queue cannot be
// deleted, or nil.
func (s *State) queueDeletable(id string) error {
	var m mistakes
	for _, j := range s.jobs {
		if j.QueueID == id && !j.Status.over() {
			m.add("", JobInQueue, "an active job is in this queue")
			break
		}
	}
	for _, c := range s.classes {
		if c.FallbackQueueID == id {
			m.add("", ClassificationFallsBack, "a classification policy falls back to this queue")
			break
		}
	}
	for _, w := range s.workers {
		if slices.Contains(w.Queues, id) {
			m.add("", WorkerOnQueue, "a worker is assigned to this queue")
			break
		}
	}
	if len(m) == 0 {
		return nil
	}
	return refused(weir.CodeConflict, m)
}
