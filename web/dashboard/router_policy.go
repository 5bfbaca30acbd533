package dashboard

import (
	"strings"
	"time"
)

// routerPolicy is a policy of any kind, with the members that its description uses.
type routerPolicy struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	OfferSeconds float64 `json:"offerExpiresAfterSeconds"`
	AutoAccept   bool    `json:"autoAccept"`
	Mode         *struct {
		Kind  string `json:"kind"`
		Least int    `json:"minConcurrentOffers"`
		Most  int    `json:"maxConcurrentOffers"`
	} `json:"mode"`
	Fallback string      `json:"fallbackQueueId"`
	Queue    []kindOnly  `json:"queueSelectorAttachments"`
	Worker   []kindOnly  `json:"workerSelectorAttachments"`
	Priority *kindOnly   `json:"prioritizationRule"`
	Rules    []ruleWords `json:"exceptionRules"`
}

type kindOnly struct {
	Kind string `json:"kind"`
}

// ruleWords is a rule of an exception policy.
type ruleWords struct {
	Trigger struct {
		Kind      string  `json:"kind"`
		Threshold int     `json:"threshold"`
		Seconds   float64 `json:"thresholdSeconds"`
	} `json:"trigger"`
	Actions []kindOnly `json:"actions"`
}

// about describes in one line what a policy does.
func (p *routerPolicy) about() string {
	var parts []string
	if p.Mode != nil {
		parts = append(parts, inWords(p.Mode.Kind), "offers for "+span(seconds(p.OfferSeconds)), "at most "+plural(int64(p.Mode.Most), "offer", "offers")+" of a job at once")
		if p.AutoAccept {
			parts = append(parts, "accepted by themselves")
		}
	}
	if n := len(p.Queue); n > 0 {
		parts = append(parts, plural(int64(n), "rule", "rules")+" for the queue")
	}
	if p.Fallback != "" {
		parts = append(parts, "else queue "+p.Fallback)
	}
	if p.Priority != nil {
		parts = append(parts, "priority by "+inWords(p.Priority.Kind))
	}
	if n := len(p.Worker); n > 0 {
		parts = append(parts, plural(int64(n), "rule", "rules")+" for selectors")
	}
	for _, r := range p.Rules {
		parts = append(parts, r.words())
	}
	return strings.Join(parts, "; ")
}

func (r *ruleWords) words() string {
	when := "after " + span(seconds(r.Trigger.Seconds))
	if r.Trigger.Kind == "queueLength" {
		when = "when " + plural(int64(r.Trigger.Threshold), "job waits", "jobs wait")
	}
	what := make([]string, len(r.Actions))
	for i, a := range r.Actions {
		what[i] = inWords(a.Kind)
	}
	return when + ": " + strings.Join(what, ", ")
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// inWords splits a name such as longestIdle into words.
func inWords(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
