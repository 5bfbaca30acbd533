package resource

import (
	"fmt"
	"slices"
	"time"

	"weir/router/label"
)

// WorkerSpec holds the members that a client states about a worker. The member
// names of all specs are those of the API, and their tags say what it accepts: minimum
// and enum; readOnly for a member that is ignored, because clients send whole resources
// back; kinds for one that exists only beside certain values of the member kind. Two say
// how a policy is shown: shown for a member without a value, too; secret for one that is
// redacted.
type WorkerSpec struct {
	Queues              []string  `json:"queues,omitempty"`
	Capacity            int       `json:"capacity,omitempty" minimum:"0"`
	Channels            []Channel `json:"channels,omitempty"`
	Labels              label.Set `json:"labels,omitempty"`
	Tags                label.Set `json:"tags,omitempty"`
	AvailableForOffers  bool      `json:"availableForOffers,omitempty"`
	MaxConcurrentOffers int       `json:"maxConcurrentOffers,omitempty" minimum:"0"` // 0 is no limit
}

// Channel is the cost of a job on a channel for a worker, and the limit of such
// jobs.
type Channel struct {
	ChannelID          string `json:"channelId"`
	CapacityCostPerJob int    `json:"capacityCostPerJob" minimum:"1"`
	MaxNumberOfJobs    int    `json:"maxNumberOfJobs,omitempty" minimum:"1"` // 0 is no limit
}

// JobSpec holds the members that a client states about a job.
type JobSpec struct {
	ChannelID                string           `json:"channelId"`
	ChannelReference         string           `json:"channelReference,omitempty"`
	QueueID                  string           `json:"queueId,omitempty"`
	ClassificationPolicyID   string           `json:"classificationPolicyId,omitempty"`
	Priority                 *int             `json:"priority,omitempty" minimum:"-100"` // nil is 1
	RequestedWorkerSelectors []WorkerSelector `json:"requestedWorkerSelectors,omitempty"`
	Labels                   label.Set        `json:"labels,omitempty"`
	Tags                     label.Set        `json:"tags,omitempty"`
	Notes                    []Note           `json:"notes,omitempty"`
	DispositionCode          string           `json:"dispositionCode,omitempty"`
	MatchingMode             MatchingMode     `json:"matchingMode,omitzero"`
	NotAfter                 time.Time        `json:"notAfter,omitzero"` // Weir's own: canceled if not assigned by then
}

// EffectivePriority returns the priority, or the default if none is stated.
func (j *JobSpec) EffectivePriority() int {
	if j.Priority == nil {
		return DefaultPriority
	}
	return *j.Priority
}

// Note is a remark on a job.
type Note struct {
	Message string    `json:"message"`
	AddedAt time.Time `json:"addedAt,omitzero"`
}

// MatchingMode is whether and when a job is matched.
type MatchingMode struct {
	Kind       MatchingKind `json:"kind,omitempty" enum:"queueAndMatch,suspend,scheduleAndSuspend"`
	ScheduleAt time.Time    `json:"scheduleAt,omitzero" kinds:"scheduleAndSuspend"`
}

// MatchingKind is the kind of a matching mode.
type MatchingKind string

// The matching modes. The empty one is queueAndMatch.
const (
	QueueAndMatch      MatchingKind = "queueAndMatch"
	Suspend            MatchingKind = "suspend"
	ScheduleAndSuspend MatchingKind = "scheduleAndSuspend"
)

// QueueSpec holds the members that a client states about a queue. Closed is
// Weir's own: the opening and closing of a contact center.
type QueueSpec struct {
	Name                 string    `json:"name,omitempty"`
	DistributionPolicyID string    `json:"distributionPolicyId,omitempty"`
	ExceptionPolicyID    string    `json:"exceptionPolicyId,omitempty"`
	Labels               label.Set `json:"labels,omitempty"`
	Closed               Closed    `json:"closed,omitempty" enum:"hold,refuse"`
}

// Closed names how a queue handles new jobs while it is closed. Empty is open.
type Closed string

// The values of Closed.
const (
	Open         Closed = ""
	ClosedHold   Closed = "hold"   // jobs are accepted and wait
	ClosedRefuse Closed = "refuse" // jobs are refused
)

// DistributionSpec is a distribution policy. AutoAccept is Weir's own: an offer
// becomes an assignment at once, as in a classic call distributor.
type DistributionSpec struct {
	Name                     string  `json:"name,omitempty"`
	OfferExpiresAfterSeconds float64 `json:"offerExpiresAfterSeconds,omitempty"` // 0 is 60
	Mode                     Mode    `json:"mode,omitzero"`
	AutoAccept               bool    `json:"autoAccept,omitempty"`
}

// ModeKind names an order of workers.
type ModeKind string

// The orders. ShortestIdle is Weir's own: last in, first out.
const (
	LongestIdle  ModeKind = "longestIdle"
	RoundRobin   ModeKind = "roundRobin"
	BestWorker   ModeKind = "bestWorker"
	ShortestIdle ModeKind = "shortestIdle"
)

// Mode is how a distribution policy chooses workers.
type Mode struct {
	Kind                ModeKind        `json:"kind,omitempty" enum:"longestIdle,roundRobin,shortestIdle,bestWorker"`
	MinConcurrentOffers int             `json:"minConcurrentOffers,omitempty" minimum:"1"` // 0 is 1
	MaxConcurrentOffers int             `json:"maxConcurrentOffers,omitempty" minimum:"1"` // 0 is 1
	BypassSelectors     bool            `json:"bypassSelectors,omitempty" shown:"always"`
	ScoringRule         *Rule           `json:"scoringRule,omitempty" kinds:"bestWorker"`
	ScoringRuleOptions  *ScoringOptions `json:"scoringRuleOptions,omitempty" kinds:"bestWorker"`
}

// ScoringOptions are the options of best worker. BatchSize and the parameters
// to send concern the caller of the function; the engine uses DescendingOrder
// only.
type ScoringOptions struct {
	BatchSize             int      `json:"batchSize,omitempty" minimum:"1"`
	ScoringParameters     []string `json:"scoringParameters,omitempty" enum:"jobLabels,workerSelectors"`
	IsBatchScoringEnabled bool     `json:"isBatchScoringEnabled,omitempty" shown:"always"`
	DescendingOrder       *bool    `json:"descendingOrder,omitempty"` // nil is true
}

// RuleKind is the kind of a rule.
type RuleKind string

// The kinds of rules. Function and webhook rules are evaluated by the caller.
const (
	RuleStatic     RuleKind = "static"
	RuleExpression RuleKind = "expression"
	RuleFunction   RuleKind = "function"
	RuleDirectMap  RuleKind = "directMap"
	RuleWebhook    RuleKind = "webhook"
)

// Rule yields a value from the labels of a job (and of a worker, for scores).
type Rule struct {
	Kind                   RuleKind    `json:"kind" enum:"static,directMap,expression,function,webhook"`
	Value                  label.Value `json:"value,omitzero" kinds:"static"`
	Language               string      `json:"language,omitempty" kinds:"expression" enum:"powerFx" default:"powerFx"`
	Expression             string      `json:"expression,omitempty" kinds:"expression"`
	FunctionURI            string      `json:"functionUri,omitempty" kinds:"function"`
	Credential             *Credential `json:"credential,omitempty" kinds:"function" only:"functionKey,appKey,clientId"`
	AuthorizationServerURI string      `json:"authorizationServerUri,omitempty" kinds:"webhook"`
	ClientCredential       *Credential `json:"clientCredential,omitempty" kinds:"webhook" only:"clientId,clientSecret"`
	WebhookURI             string      `json:"webhookUri,omitempty" kinds:"webhook"`
}

// Credential is the secret with which a rule's function is called.
type Credential struct {
	FunctionKey  string `json:"functionKey,omitempty" secret:"true"`
	AppKey       string `json:"appKey,omitempty" secret:"true"`
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty" secret:"true"`
}

// Remote reports whether only the caller can evaluate the rule.
func (r *Rule) Remote() bool {
	return r != nil && (r.Kind == RuleFunction || r.Kind == RuleWebhook)
}

// AttachmentKind is the kind of an attachment.
type AttachmentKind string

// The kinds of attachments.
const (
	AttachStatic      AttachmentKind = "static"
	AttachConditional AttachmentKind = "conditional"
	AttachPassThrough AttachmentKind = "passThrough"
	AttachRuleEngine  AttachmentKind = "ruleEngine"
	AttachWeighted    AttachmentKind = "weightedAllocation"
)

// ClassificationSpec is a classification policy.
type ClassificationSpec struct {
	Name                      string             `json:"name,omitempty"`
	FallbackQueueID           string             `json:"fallbackQueueId,omitempty"`
	PrioritizationRule        *Rule              `json:"prioritizationRule,omitempty"`
	QueueSelectorAttachments  []QueueAttachment  `json:"queueSelectorAttachments,omitempty"`
	WorkerSelectorAttachments []WorkerAttachment `json:"workerSelectorAttachments,omitempty"`
}

// QueueAttachment yields queue selectors.
type QueueAttachment struct {
	Kind           AttachmentKind    `json:"kind" enum:"static,conditional,passThrough,ruleEngine,weightedAllocation"`
	QueueSelector  *QueueSelector    `json:"queueSelector,omitempty" kinds:"static"`
	Condition      *Rule             `json:"condition,omitempty" kinds:"conditional"`
	QueueSelectors []QueueSelector   `json:"queueSelectors,omitempty" kinds:"conditional"`
	Key            string            `json:"key,omitempty" kinds:"passThrough"`
	Operator       label.Operator    `json:"labelOperator,omitempty" enum:"equal,notEqual,lessThan,lessThanOrEqual,greaterThan,greaterThanOrEqual" kinds:"passThrough"`
	Rule           *Rule             `json:"rule,omitempty" kinds:"ruleEngine"`
	Allocations    []QueueAllocation `json:"allocations,omitempty" kinds:"weightedAllocation"`
}

// QueueAllocation is one choice of a weighted allocation.
type QueueAllocation struct {
	Weight         float64         `json:"weight"`
	QueueSelectors []QueueSelector `json:"queueSelectors,omitempty"`
}

// WorkerAttachment yields worker selectors.
type WorkerAttachment struct {
	Kind                AttachmentKind     `json:"kind" enum:"static,conditional,passThrough,ruleEngine,weightedAllocation"`
	WorkerSelector      *WorkerSelector    `json:"workerSelector,omitempty" kinds:"static"`
	Condition           *Rule              `json:"condition,omitempty" kinds:"conditional"`
	WorkerSelectors     []WorkerSelector   `json:"workerSelectors,omitempty" kinds:"conditional"`
	Key                 string             `json:"key,omitempty" kinds:"passThrough"`
	Operator            label.Operator     `json:"labelOperator,omitempty" enum:"equal,notEqual,lessThan,lessThanOrEqual,greaterThan,greaterThanOrEqual" kinds:"passThrough"`
	ExpiresAfterSeconds float64            `json:"expiresAfterSeconds,omitempty" kinds:"passThrough"`
	Rule                *Rule              `json:"rule,omitempty" kinds:"ruleEngine"`
	Allocations         []WorkerAllocation `json:"allocations,omitempty" kinds:"weightedAllocation"`
}

// WorkerAllocation is one choice of a weighted allocation.
type WorkerAllocation struct {
	Weight          float64          `json:"weight"`
	WorkerSelectors []WorkerSelector `json:"workerSelectors,omitempty"`
}

// ExceptionSpec is an exception policy.
type ExceptionSpec struct {
	Name           string          `json:"name,omitempty"`
	ExceptionRules []ExceptionRule `json:"exceptionRules,omitempty"`
}

// ExceptionRule performs its actions when its trigger fires.
type ExceptionRule struct {
	ID      string   `json:"id"`
	Trigger Trigger  `json:"trigger"`
	Actions []Action `json:"actions"`
}

// TriggerKind is the kind of a trigger.
type TriggerKind string

// The kinds of triggers.
const (
	TriggerQueueLength TriggerKind = "queueLength"
	TriggerWaitTime    TriggerKind = "waitTime"
)

// Trigger is the condition on which a rule fires.
type Trigger struct {
	Kind             TriggerKind `json:"kind" enum:"queueLength,waitTime"`
	Threshold        int         `json:"threshold,omitempty" shown:"always" minimum:"0" kinds:"queueLength"`
	ThresholdSeconds float64     `json:"thresholdSeconds,omitempty" shown:"always" kinds:"waitTime"`
}

// ActionKind is the kind of an action.
type ActionKind string

// The kinds of actions.
const (
	ActionCancel           ActionKind = "cancel"
	ActionManualReclassify ActionKind = "manualReclassify"
	ActionReclassify       ActionKind = "reclassify"
)

// Action is one change that a rule applies to a job.
type Action struct {
	ID                     string           `json:"id,omitempty"` // made by the engine if not given
	Kind                   ActionKind       `json:"kind" enum:"cancel,manualReclassify,reclassify"`
	Note                   string           `json:"note,omitempty" kinds:"cancel"`
	DispositionCode        string           `json:"dispositionCode,omitempty" kinds:"cancel"`
	QueueID                string           `json:"queueId,omitempty" kinds:"manualReclassify"`
	Priority               *int             `json:"priority,omitempty" minimum:"-100" kinds:"manualReclassify"`
	WorkerSelectors        []WorkerSelector `json:"workerSelectors,omitempty" kinds:"manualReclassify"`
	ClassificationPolicyID string           `json:"classificationPolicyId,omitempty" kinds:"reclassify"`
	LabelsToUpsert         label.Set        `json:"labelsToUpsert,omitempty" kinds:"reclassify"`
}

// PoolSpec is a filter whose available workers are counted as they come and go.
// It stands for the queue of agents with certain attributes in a FIFO with
// filters.
type PoolSpec struct {
	QueueID   string           `json:"queueId,omitempty"` // empty: any
	ChannelID string           `json:"channelId"`
	Selectors []WorkerSelector `json:"selectors,omitempty"`
	CountFrom uint64           `json:"countFrom,omitempty" hidden:"true"` // its first version; for imports
}

// Validate checks the specification of a worker.
func (w *WorkerSpec) Validate(id string, known Known) error {
	var f fieldErrors
	f.id("/id", id)
	f.labels("/labels", w.Labels)
	f.labels("/tags", w.Tags)
	f.between("/capacity", w.Capacity, 0, maxNumber)
	f.between("/maxConcurrentOffers", w.MaxConcurrentOffers, 0, maxNumber)
	f.count("/queues", len(w.Queues))
	for i, q := range w.Queues {
		at := fmt.Sprintf("/queues/%d", i)
		f.id(at, q)
		f.exists(known, at, Queue, q)
	}
	f.count("/channels", len(w.Channels))
	for i, c := range w.Channels {
		at := fmt.Sprintf("/channels/%d", i)
		f.id(at+"/channelId", c.ChannelID)
		f.between(at+"/capacityCostPerJob", c.CapacityCostPerJob, 1, maxNumber) // a cost of 0 would allow endless jobs
		f.between(at+"/maxNumberOfJobs", c.MaxNumberOfJobs, 0, maxNumber)
		if slices.ContainsFunc(w.Channels[:i], func(o Channel) bool { return o.ChannelID == c.ChannelID }) {
			f.Add(at+"/channelId", "duplicate", "duplicate channel")
		}
	}
	return f.err()
}

// Validate checks a job and fills in its defaults. A finished job may refer to
// resources that no longer exist.
func (j *JobSpec) Validate(id string, known Known, finished bool, now time.Time) error {
	var f fieldErrors
	f.id("/id", id)
	f.id("/channelId", j.ChannelID)
	f.text("/channelReference", j.ChannelReference, maxText)
	f.text("/dispositionCode", j.DispositionCode, maxText)
	f.labels("/labels", j.Labels)
	f.labels("/tags", j.Tags)
	f.priority("/priority", j.Priority)
	f.workerSelectors("/requestedWorkerSelectors", j.RequestedWorkerSelectors)
	if j.QueueID == "" && j.ClassificationPolicyID == "" {
		f.Add("/queueId", "required", "a job needs a queue or a classification policy")
	}
	if !finished {
		f.exists(known, "/queueId", Queue, j.QueueID)
		f.exists(known, "/classificationPolicyId", Classification, j.ClassificationPolicyID)
	}
	f.mode(&j.MatchingMode)
	j.NotAfter = j.NotAfter.UTC().Truncate(time.Microsecond)
	f.count("/notes", len(j.Notes))
	j.Notes = slices.Clone(j.Notes)
	for i := range j.Notes {
		n := &j.Notes[i]
		f.text(fmt.Sprintf("/notes/%d/message", i), n.Message, maxText)
		if n.AddedAt.IsZero() {
			n.AddedAt = now
		}
		n.AddedAt = n.AddedAt.UTC().Truncate(time.Microsecond)
	}
	SortNotes(j.Notes)
	return f.err()
}

// mode checks a matching mode and drops the members that its kind does not have.
func (f *fieldErrors) mode(mode *MatchingMode) {
	switch mode.Kind {
	case "", QueueAndMatch:
		*mode = MatchingMode{Kind: QueueAndMatch}
	case Suspend:
		*mode = MatchingMode{Kind: Suspend}
	case ScheduleAndSuspend:
		mode.ScheduleAt = mode.ScheduleAt.UTC().Truncate(time.Microsecond)
		if mode.ScheduleAt.IsZero() {
			f.Add("/matchingMode/scheduleAt", "required", "a scheduled job needs an instant")
		}
	default:
		f.Add("/matchingMode/kind", "unknown", "unknown matching mode %q", mode.Kind)
	}
}

// SortNotes sorts notes by time, in place.
func SortNotes(notes []Note) {
	slices.SortStableFunc(notes, func(a, b Note) int { return a.AddedAt.Compare(b.AddedAt) })
}
