package jobrouter

import (
	"weir/routing"
	"weir/routing/label"
	"weir/routing/resource"
)

type queueView struct {
	Etag                 string     `json:"etag"`
	ID                   string     `json:"id"`
	Name                 string     `json:"name,omitzero"`
	DistributionPolicyID string     `json:"distributionPolicyId,omitzero"`
	Labels               labelsView `json:"labels"`
	ExceptionPolicyID    string     `json:"exceptionPolicyId,omitzero"`
	Closed               string     `json:"closed,omitzero"`
}

func viewQueue(q *routing.Named[resource.QueueSpec]) queueView {
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

func viewDistribution(d *routing.Named[resource.DistributionSpec]) distributionView {
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

func viewRule(r *resource.Rule) *ruleView {
	if r == nil {
		return nil
	}
	out := &ruleView{Kind: string(r.Kind)}
	switch r.Kind {
	case resource.RuleStatic:
		out.Value = r.Value
	case resource.RuleExpression:
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

func viewClassification(c *routing.Named[resource.ClassificationSpec]) classificationView {
	s := &c.Spec
	out := classificationView{
		Etag: etag(c.Version), ID: c.ID, Name: s.Name, FallbackQueueID: s.FallbackQueueID, PrioritizationRule: viewRule(s.PrioritizationRule),
		QueueSelectorAttachments:  make([]queueAttachmentView, len(s.QueueSelectorAttachments)),
		WorkerSelectorAttachments: make([]workerAttachmentView, len(s.WorkerSelectorAttachments)),
	}
	for i := range s.QueueSelectorAttachments {
		out.QueueSelectorAttachments[i] = viewQueueAttachment(&s.QueueSelectorAttachments[i])
	}
	for i := range s.WorkerSelectorAttachments {
		out.WorkerSelectorAttachments[i] = viewWorkerAttachment(&s.WorkerSelectorAttachments[i])
	}
	return out
}
