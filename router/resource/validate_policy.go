package resource

import (
	"cmp"
	"fmt"
	"slices"

	"weir/router/label"
)

// Validate checks a queue.
func (q *QueueSpec) Validate(id string, known Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.text("/name", q.Name, maxText)
	f.labels("/labels", q.Labels)
	f.exists(known, "/distributionPolicyId", Distribution, q.DistributionPolicyID)
	f.exists(known, "/exceptionPolicyId", Exception, q.ExceptionPolicyID)
	if q.Closed != Open && q.Closed != ClosedHold && q.Closed != ClosedRefuse {
		f.Add("/closed", "unknown", "must be hold or refuse")
	}
	return f.err()
}

// Validate checks a pool.
func (p *PoolSpec) Validate(id string, _ Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.id("/channelId", p.ChannelID)
	f.workerSelectors("/selectors", p.Selectors)
	return f.err()
}

// DefaultOfferSeconds is the default life of an offer. The API publishes no
// default; its examples use one minute.
const DefaultOfferSeconds = 60

// Validate checks a distribution policy and fills in its defaults.
func (d *DistributionSpec) Validate(id string, _ Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.text("/name", d.Name, maxText)
	f.seconds("/offerExpiresAfterSeconds", d.OfferExpiresAfterSeconds)
	d.OfferExpiresAfterSeconds = cmp.Or(d.OfferExpiresAfterSeconds, DefaultOfferSeconds)
	mode := &d.Mode
	mode.Kind = cmp.Or(mode.Kind, LongestIdle)
	switch mode.Kind {
	case LongestIdle, RoundRobin, BestWorker, ShortestIdle:
	default:
		f.Add("/mode/kind", "unknown", "unknown mode %q", mode.Kind)
	}
	f.between("/mode/minConcurrentOffers", mode.MinConcurrentOffers, 0, maxNumber)
	f.between("/mode/maxConcurrentOffers", mode.MaxConcurrentOffers, 0, maxNumber)
	mode.MinConcurrentOffers = max(1, mode.MinConcurrentOffers)
	mode.MaxConcurrentOffers = cmp.Or(mode.MaxConcurrentOffers, mode.MinConcurrentOffers)
	if mode.MaxConcurrentOffers < mode.MinConcurrentOffers {
		f.Add("/mode/maxConcurrentOffers", "range", "must be at least minConcurrentOffers")
	}
	if mode.Kind == BestWorker {
		mode.ScoringRuleOptions = mode.ScoringRuleOptions.withDefaults()
	} else {
		// Left over from another mode: a merge patch of kind alone keeps the members beside it.
		mode.ScoringRule, mode.ScoringRuleOptions = nil, nil
	}
	f.rule("/mode/scoringRule", mode.ScoringRule)
	return f.err()
}

// withDefaults returns the options with defaults filled in; clients see the
// defaults and send them back.
func (o *ScoringOptions) withDefaults() *ScoringOptions {
	out := ScoringOptions{}
	if o != nil {
		out = *o
	}
	out.DescendingOrder = cmp.Or(out.DescendingOrder, new(true))
	out.BatchSize = cmp.Or(out.BatchSize, 20)
	if len(out.ScoringParameters) == 0 {
		out.ScoringParameters = []string{"jobLabels", "workerSelectors"}
	}
	return &out
}

// rule checks a rule; nil is allowed.
func (f *fieldErrors) rule(pointer string, r *Rule) {
	if r == nil {
		return
	}
	switch r.Kind {
	case RuleStatic, RuleDirectMap:
	case RuleExpression:
		if r.Language != "" && r.Language != "powerFx" {
			f.Add(pointer+"/language", "unknown", "must be powerFx")
		}
		if _, err := label.ParseExpression(r.Expression); err != nil {
			f.Add(pointer+"/expression", "format", "%v", err)
		}
	case RuleFunction:
		f.required(pointer+"/functionUri", r.FunctionURI, maxText)
	case RuleWebhook:
		f.required(pointer+"/webhookUri", r.WebhookURI, maxText)
	default:
		f.Add(pointer+"/kind", "unknown", "unknown rule %q", r.Kind)
	}
}

// Validate checks a classification policy.
func (c *ClassificationSpec) Validate(id string, known Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.text("/name", c.Name, maxText)
	f.exists(known, "/fallbackQueueId", Queue, c.FallbackQueueID)
	f.rule("/prioritizationRule", c.PrioritizationRule)
	checkAttachments(&f, "queueSelector", c.QueueAttachments(), f.queueSelectors)
	checkAttachments(&f, "workerSelector", c.WorkerAttachments(), f.workerSelectors)
	return f.err()
}

// checkAttachments checks attachments; member is the name of their selector in JSON.
func checkAttachments[S any](f *fieldErrors, member string, list []Attachment[S], check func(string, []S)) {
	f.count("/"+member+"Attachments", len(list))
	for _, a := range list {
		at := "/" + a.Path
		f.rule(at+"/condition", a.Condition)
		f.rule(at+"/rule", a.Rule)
		checkKind(f, at, &a)
		if a.Selector != nil {
			check(at+"/"+member, []S{*a.Selector})
		}
		check(at+"/"+member+"s", a.Selectors)
		for _, w := range a.Allocations {
			check(at+"/allocations", w.Selectors)
		}
		f.seconds(at+"/expiresAfterSeconds", a.ExpiresAfterSeconds)
	}
}

// checkKind checks that an attachment has what its kind requires.
func checkKind[S any](f *fieldErrors, at string, a *Attachment[S]) {
	require := func(member string, present bool) {
		if !present {
			f.Add(at+"/"+member, "required", "required in an attachment of kind %s", a.Kind)
		}
	}
	switch a.Kind {
	case AttachStatic:
		require("selector", a.Selector != nil)
	case AttachConditional:
		require("condition", a.Condition != nil)
	case AttachPassThrough:
		f.selector(at, a.Key, a.Operator, label.Value{})
	case AttachRuleEngine:
		require("rule", a.Rule != nil)
	case AttachWeighted:
		sum, valid := 0.0, true
		for _, w := range a.Allocations {
			sum += w.Weight
			valid = valid && w.Weight >= 0
		}
		// The sum of finite weights may be infinite.
		if !valid || !(sum > 0) || !label.Number(sum).Valid() {
			f.Add(at+"/allocations", "range", "each weight must be 0 or more, and at least one must be above 0")
		}
	default:
		f.Add(at+"/kind", "unknown", "unknown attachment %q", a.Kind)
	}
}

// Validate checks an exception policy.
func (x *ExceptionSpec) Validate(id string, known Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.text("/name", x.Name, maxText)
	f.count("/exceptionRules", len(x.ExceptionRules))
	for i, r := range x.ExceptionRules {
		at := fmt.Sprintf("/exceptionRules/%d", i)
		f.id(at+"/id", r.ID)
		// A job remembers by the id which rules have fired: of two with one id, one would never
		// fire.
		if slices.ContainsFunc(x.ExceptionRules[:i], func(o ExceptionRule) bool { return o.ID == r.ID }) {
			f.Add(at+"/id", "duplicate", "duplicate rule id")
		}
		switch r.Trigger.Kind {
		case TriggerQueueLength:
			f.between(at+"/trigger/threshold", r.Trigger.Threshold, 0, maxNumber)
		case TriggerWaitTime:
			f.seconds(at+"/trigger/thresholdSeconds", r.Trigger.ThresholdSeconds)
		default:
			f.Add(at+"/trigger/kind", "unknown", "unknown trigger %q", r.Trigger.Kind)
		}
		f.count(at+"/actions", len(r.Actions))
		for k, a := range r.Actions {
			f.action(fmt.Sprintf("%s/actions/%d", at, k), &a, known)
		}
	}
	return f.err()
}

func (f *fieldErrors) action(at string, a *Action, known Known) {
	f.text(at+"/id", a.ID, maxID)
	switch a.Kind {
	case ActionCancel:
		f.text(at+"/note", a.Note, maxText)
		f.text(at+"/dispositionCode", a.DispositionCode, maxText)
	case ActionManualReclassify:
		// The queue may be deleted later; the action then leaves the job's own.
		f.exists(known, at+"/queueId", Queue, a.QueueID)
		f.priority(at+"/priority", a.Priority)
		f.workerSelectors(at+"/workerSelectors", a.WorkerSelectors)
	case ActionReclassify:
		f.exists(known, at+"/classificationPolicyId", Classification, a.ClassificationPolicyID)
		f.labels(at+"/labelsToUpsert", a.LabelsToUpsert)
	default:
		f.Add(at+"/kind", "unknown", "unknown action %q", a.Kind)
	}
}
