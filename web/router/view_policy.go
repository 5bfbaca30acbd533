package router

import (
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// In all views, single members without a value are left out and collections are always there, if
// need be empty: clients of the API rely on both.
type queueView struct {
	Etag                 string    `json:"etag"`
	ID                   string    `json:"id"`
	Name                 string    `json:"name,omitzero"`
	DistributionPolicyID string    `json:"distributionPolicyId,omitzero"`
	Labels               label.Set `json:"labels"`
	ExceptionPolicyID    string    `json:"exceptionPolicyId,omitzero"`
	Closed               string    `json:"closed,omitzero"`
}

func viewQueue(q *router.Named[resource.QueueSpec]) queueView {
	s := &q.Spec
	return queueView{etag(q.Version), q.ID, s.Name, s.DistributionPolicyID, viewLabels(s.Labels), s.ExceptionPolicyID, string(s.Closed)}
}

type distributionView struct {
	Etag                     string   `json:"etag"`
	ID                       string   `json:"id"`
	Name                     string   `json:"name,omitzero"`
	OfferExpiresAfterSeconds float64  `json:"offerExpiresAfterSeconds"`
	Mode                     modeView `json:"mode"`
	AutoAccept               bool     `json:"autoAccept,omitzero"`
}

type modeView struct {
	Kind                string           `json:"kind"`
	MinConcurrentOffers int              `json:"minConcurrentOffers"`
	MaxConcurrentOffers int              `json:"maxConcurrentOffers"`
	BypassSelectors     bool             `json:"bypassSelectors"`
	ScoringRule         *ruleView        `json:"scoringRule,omitzero"`
	ScoringRuleOptions  *scoringRuleView `json:"scoringRuleOptions,omitzero"`
}

type scoringRuleView struct {
	BatchSize             int      `json:"batchSize"`
	ScoringParameters     []string `json:"scoringParameters"`
	IsBatchScoringEnabled bool     `json:"isBatchScoringEnabled"`
	DescendingOrder       bool     `json:"descendingOrder"`
}

func viewDistribution(d *router.Named[resource.DistributionSpec]) distributionView {
	m := &d.Spec.Mode
	out := distributionView{
		Etag: etag(d.Version), ID: d.ID, Name: d.Spec.Name, OfferExpiresAfterSeconds: d.Spec.OfferExpiresAfterSeconds,
		AutoAccept: d.Spec.AutoAccept,
		Mode:       modeView{string(m.Kind), m.MinConcurrentOffers, m.MaxConcurrentOffers, m.BypassSelectors, nil, nil},
	}
	if m.Kind == resource.BestWorker {
		out.Mode.ScoringRule = viewRule(m.ScoringRule)
		out.Mode.ScoringRuleOptions = viewOptions(m.ScoringRuleOptions)
	}
	return out
}

// viewOptions returns scoring options with the default of descendingOrder filled in.
func viewOptions(o *resource.ScoringOptions) *scoringRuleView {
	if o == nil {
		return nil
	}
	return &scoringRuleView{o.BatchSize, append([]string{}, o.ScoringParameters...), o.IsBatchScoringEnabled, o.DescendingOrder == nil || *o.DescendingOrder}
}

// ruleView shows only the members of the rule's kind.
type ruleView struct {
	Kind                   string           `json:"kind"`
	Value                  label.Value      `json:"value,omitzero"`
	Language               string           `json:"language,omitzero"`
	Expression             string           `json:"expression,omitzero"`
	FunctionURI            string           `json:"functionUri,omitzero"`
	Credential             *credentialView  `json:"credential,omitzero"`
	AuthorizationServerURI string           `json:"authorizationServerUri,omitzero"`
	ClientCredential       *oauthSecretView `json:"clientCredential,omitzero"`
	WebhookURI             string           `json:"webhookUri,omitzero"`
}

type credentialView struct {
	FunctionKey string `json:"functionKey,omitzero"`
	AppKey      string `json:"appKey,omitzero"`
	ClientID    string `json:"clientId,omitzero"`
}

type oauthSecretView struct {
	ClientID     string `json:"clientId,omitzero"`
	ClientSecret string `json:"clientSecret,omitzero"`
}

// viewRule returns a rule with its credential redacted.
// Clients send whole policies back, redacted credentials included; withCredentials restores them.
func viewRule(r *resource.Rule) *ruleView {
	if r == nil {
		return nil
	}
	out := &ruleView{Kind: string(r.Kind)}
	switch r.Kind {
	case resource.RuleStatic:
		out.Value = r.Value
	case resource.RuleExpression:
		// The language is stored as empty; clients see the default.
		out.Language, out.Expression = "powerFx", r.Expression
	case resource.RuleFunction:
		out.FunctionURI = r.FunctionURI
		if c := r.Credential; c != nil {
			out.Credential = &credentialView{hidden(c.FunctionKey), hidden(c.AppKey), c.ClientID}
		}
	case resource.RuleWebhook:
		out.AuthorizationServerURI, out.WebhookURI = r.AuthorizationServerURI, r.WebhookURI
		if c := r.ClientCredential; c != nil {
			out.ClientCredential = &oauthSecretView{c.ClientID, hidden(c.ClientSecret)}
		}
	case resource.RuleDirectMap:
	}
	return out
}

// hidden redacts a credential. An absent one stays absent, so that clients see that
// there is none.
func hidden(credential string) string {
	if credential == "" {
		return ""
	}
	return redacted
}

type classificationView struct {
	Etag                      string                 `json:"etag"`
	ID                        string                 `json:"id"`
	Name                      string                 `json:"name,omitzero"`
	FallbackQueueID           string                 `json:"fallbackQueueId,omitzero"`
	QueueSelectorAttachments  []queueAttachmentView  `json:"queueSelectorAttachments"`
	PrioritizationRule        *ruleView              `json:"prioritizationRule,omitzero"`
	WorkerSelectorAttachments []workerAttachmentView `json:"workerSelectorAttachments"`
}

func viewClassification(c *router.Named[resource.ClassificationSpec]) classificationView {
	s := &c.Spec
	return classificationView{
		Etag: etag(c.Version), ID: c.ID, Name: s.Name, FallbackQueueID: s.FallbackQueueID, PrioritizationRule: viewRule(s.PrioritizationRule),
		QueueSelectorAttachments:  viewEach(s.QueueSelectorAttachments, viewQueueAttachment),
		WorkerSelectorAttachments: viewEach(s.WorkerSelectorAttachments, viewWorkerAttachment),
	}
}

// queueAttachmentView shows only the members of the attachment's kind.
type queueAttachmentView struct {
	Kind           string                   `json:"kind"`
	QueueSelector  *resource.QueueSelector  `json:"queueSelector,omitzero"`
	Condition      *ruleView                `json:"condition,omitzero"`
	QueueSelectors []resource.QueueSelector `json:"queueSelectors,omitzero"`
	Key            string                   `json:"key,omitzero"`
	LabelOperator  string                   `json:"labelOperator,omitzero"`
	Rule           *ruleView                `json:"rule,omitzero"`
	Allocations    []queueAllocationView    `json:"allocations,omitzero"`
}

type queueAllocationView struct {
	Weight         float64                  `json:"weight"`
	QueueSelectors []resource.QueueSelector `json:"queueSelectors"`
}

func viewQueueAttachment(a *resource.QueueAttachment) queueAttachmentView {
	out := queueAttachmentView{Kind: string(a.Kind)}
	switch a.Kind {
	case resource.AttachStatic:
		out.QueueSelector = a.QueueSelector // the engine never modifies a specification that it has returned
	case resource.AttachConditional:
		out.Condition, out.QueueSelectors = viewRule(a.Condition), viewQueueSelectors(a.QueueSelectors)
	case resource.AttachPassThrough:
		out.Key, out.LabelOperator = a.Key, string(a.Operator)
	case resource.AttachRuleEngine:
		out.Rule = viewRule(a.Rule)
	case resource.AttachWeighted:
		out.Allocations = viewEach(a.Allocations, func(w *resource.QueueAllocation) queueAllocationView {
			return queueAllocationView{w.Weight, viewQueueSelectors(w.QueueSelectors)}
		})
	}
	return out
}

// viewQueueSelectors copies a list, so that an empty one is not null in JSON.
func viewQueueSelectors(list []resource.QueueSelector) []resource.QueueSelector {
	return append([]resource.QueueSelector{}, list...)
}

// workerAttachmentView shows only the members of the attachment's kind.
type workerAttachmentView struct {
	Kind                string                 `json:"kind"`
	WorkerSelector      *statedSelectorView    `json:"workerSelector,omitzero"`
	Condition           *ruleView              `json:"condition,omitzero"`
	WorkerSelectors     []statedSelectorView   `json:"workerSelectors,omitzero"`
	Key                 string                 `json:"key,omitzero"`
	LabelOperator       string                 `json:"labelOperator,omitzero"`
	ExpiresAfterSeconds float64                `json:"expiresAfterSeconds,omitzero"`
	Rule                *ruleView              `json:"rule,omitzero"`
	Allocations         []workerAllocationView `json:"allocations,omitzero"`
}

type workerAllocationView struct {
	Weight          float64              `json:"weight"`
	WorkerSelectors []statedSelectorView `json:"workerSelectors"`
}

func viewWorkerAttachment(a *resource.WorkerAttachment) workerAttachmentView {
	out := workerAttachmentView{Kind: string(a.Kind)}
	switch a.Kind {
	case resource.AttachStatic:
		if a.WorkerSelector != nil {
			out.WorkerSelector = new(viewStated(a.WorkerSelector))
		}
	case resource.AttachConditional:
		out.Condition, out.WorkerSelectors = viewRule(a.Condition), viewEach(a.WorkerSelectors, viewStated)
	case resource.AttachPassThrough:
		out.Key, out.LabelOperator, out.ExpiresAfterSeconds = a.Key, string(a.Operator), a.ExpiresAfterSeconds
	case resource.AttachRuleEngine:
		out.Rule = viewRule(a.Rule)
	case resource.AttachWeighted:
		out.Allocations = viewEach(a.Allocations, func(w *resource.WorkerAllocation) workerAllocationView {
			return workerAllocationView{w.Weight, viewEach(w.WorkerSelectors, viewStated)}
		})
	}
	return out
}

type exceptionView struct {
	Etag           string              `json:"etag"`
	ID             string              `json:"id"`
	Name           string              `json:"name,omitzero"`
	ExceptionRules []exceptionRuleView `json:"exceptionRules"`
}

type exceptionRuleView struct {
	ID      string       `json:"id"`
	Trigger triggerView  `json:"trigger"`
	Actions []actionView `json:"actions"`
}

// A threshold of 0 is valid and has to show, hence the pointers.
type triggerView struct {
	Kind             string   `json:"kind"`
	Threshold        *int     `json:"threshold,omitzero"`
	ThresholdSeconds *float64 `json:"thresholdSeconds,omitzero"`
}

// actionView shows only the members of the action's kind.
type actionView struct {
	Kind                   string               `json:"kind"`
	ID                     string               `json:"id"`
	Note                   string               `json:"note,omitzero"`
	DispositionCode        string               `json:"dispositionCode,omitzero"`
	QueueID                string               `json:"queueId,omitzero"`
	Priority               *int                 `json:"priority,omitzero"`
	WorkerSelectors        []statedSelectorView `json:"workerSelectors,omitzero"`
	ClassificationPolicyID string               `json:"classificationPolicyId,omitzero"`
	LabelsToUpsert         label.Set            `json:"labelsToUpsert,omitzero"`
}

func viewException(x *router.Named[resource.ExceptionSpec]) exceptionView {
	return exceptionView{etag(x.Version), x.ID, x.Spec.Name, viewEach(x.Spec.ExceptionRules, viewExceptionRule)}
}

func viewExceptionRule(r *resource.ExceptionRule) exceptionRuleView {
	out := exceptionRuleView{ID: r.ID, Trigger: triggerView{Kind: string(r.Trigger.Kind)}, Actions: viewEach(r.Actions, viewAction)}
	if r.Trigger.Kind == resource.TriggerQueueLength {
		out.Trigger.Threshold = &r.Trigger.Threshold
	} else {
		out.Trigger.ThresholdSeconds = &r.Trigger.ThresholdSeconds
	}
	return out
}

func viewAction(a *resource.Action) actionView {
	out := actionView{Kind: string(a.Kind), ID: a.ID}
	switch a.Kind {
	case resource.ActionCancel:
		out.Note, out.DispositionCode = a.Note, a.DispositionCode
	case resource.ActionManualReclassify:
		out.QueueID, out.Priority, out.WorkerSelectors = a.QueueID, a.Priority, viewEach(a.WorkerSelectors, viewStated)
	case resource.ActionReclassify:
		out.ClassificationPolicyID, out.LabelsToUpsert = a.ClassificationPolicyID, viewLabels(a.LabelsToUpsert)
	}
	return out
}
