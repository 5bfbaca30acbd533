package dashboard

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/routing/resource"
	"weir/web/dashboard/display"
)

func policiesPage() *page {
	return &page{name: "router_policies", path: "/router/policies", scopes: routerUsers(), load: loadPolicies}
}

// policyKind holds the policies of a kind.
type policyKind struct {
	Title, Use string
	List       []policyRow
	More       bool
}

// policyRow is a policy, with its definition as JSON. The API redacts secrets in
// it.
type policyRow struct {
	ID, Name, About, JSON string
}

func loadPolicies(v *visit) (*content, error) {
	var kinds []policyKind
	for _, k := range []struct {
		path, title, use string
		row              func(json.RawMessage) (policyRow, error)
	}{
		{"distributionPolicies", "Distribution policies", "Which workers are offered a job, for how long, and how many at once.", policyRowOf(aboutDistribution)},
		{"classificationPolicies", "Classification policies", "Which queue, priority and selectors a job gets.", policyRowOf(aboutClassification)},
		{"exceptionPolicies", "Exception policies", "What happens to jobs that wait too long, or when a queue is too long.", policyRowOf(aboutException)},
	} {
		var page routerList[json.RawMessage]
		if err := v.getRouter("/routing/"+k.path, url.Values{"maxpagesize": {strconv.Itoa(maxBoardQueues)}}, &page); err != nil {
			return nil, err
		}
		kind := policyKind{Title: k.title, Use: k.use, More: page.NextLink != ""}
		for _, raw := range page.Value {
			row, err := k.row(raw)
			if err != nil {
				return nil, err
			}
			kind.List = append(kind.List, row)
		}
		kinds = append(kinds, kind)
	}
	return &content{title: "Policies of the router", crumbs: routerCrumbs(crumb{Text: "Policies"}), data: kinds}, nil
}

// policyRowOf returns a function that decodes a policy of one kind; about describes
// in one line what the policy does.
func policyRowOf[T any](about func(*T) []string) func(json.RawMessage) (policyRow, error) {
	return func(raw json.RawMessage) (policyRow, error) {
		var named struct{ ID, Name string }
		var spec T
		var text bytes.Buffer
		for _, step := range []func() error{
			func() error { return json.Unmarshal(raw, &named) },
			func() error { return json.Unmarshal(raw, &spec) },
			func() error { return json.Indent(&text, raw, "", "  ") },
		} {
			if err := step(); err != nil {
				return policyRow{}, err
			}
		}
		return policyRow{named.ID, named.Name, strings.Join(about(&spec), "; "), text.String()}, nil
	}
}

func aboutDistribution(p *resource.DistributionSpec) []string {
	parts := []string{
		display.CamelWords(string(p.Mode.Kind)), "offers expire after " + display.Span(seconds(p.OfferExpiresAfterSeconds)),
		"at most " + display.Plural(int64(p.Mode.MaxConcurrentOffers), "offer", "offers") + " of a job at once",
	}
	if p.AutoAccept {
		parts = append(parts, "accepted automatically")
	}
	return parts
}

func aboutClassification(p *resource.ClassificationSpec) (parts []string) {
	if n := len(p.QueueSelectorAttachments); n > 0 {
		parts = append(parts, display.Plural(int64(n), "rule", "rules")+" for the queue")
	}
	if p.FallbackQueueID != "" {
		parts = append(parts, "fallback queue "+p.FallbackQueueID)
	}
	if p.PrioritizationRule != nil {
		parts = append(parts, "priority by "+display.CamelWords(string(p.PrioritizationRule.Kind)))
	}
	if n := len(p.WorkerSelectorAttachments); n > 0 {
		parts = append(parts, display.Plural(int64(n), "rule", "rules")+" for worker selectors")
	}
	return parts
}

func aboutException(p *resource.ExceptionSpec) (parts []string) {
	for _, r := range p.ExceptionRules {
		when := "after " + display.Span(seconds(r.Trigger.ThresholdSeconds))
		if r.Trigger.Kind == resource.TriggerQueueLength {
			when = "when " + display.Plural(int64(r.Trigger.Threshold), "job waits", "jobs wait")
		}
		actions := make([]string, len(r.Actions))
		for i, a := range r.Actions {
			actions[i] = display.CamelWords(string(a.Kind))
		}
		parts = append(parts, when+": "+strings.Join(actions, ", "))
	}
	return parts
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
