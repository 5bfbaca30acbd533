package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/client/routerclient"
	"weir/operators"
	"weir/router"
	"weir/router/resource"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const maxBoardQueues = 100 // on the wallboard

// routerCrumbs returns the crumbs of a page of the router.
func routerCrumbs(l *locale.Locale, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: l.T("Router"), Link: "/router"}}, more...)
}

// Wallboard is a summary of the router.
type Wallboard struct {
	Down           bool           // it does not respond
	Jobs           map[string]int `json:"jobs"`
	Workers        map[string]int `json:"workers"`
	OpenOffers     int            `json:"offersOut"`
	OldestQueuedAt time.Time      `json:"oldestQueuedAt"`
}

// ReadWallboard reads the summary; nil: the token may not see it, or the router has no
// workers and no jobs.
func ReadWallboard(c *page.Caller) *Wallboard {
	if !c.May(operators.ScopeRouter) || !c.May(operators.ScopePIIRead) {
		return nil
	}
	var w Wallboard
	// The summary shows no queues; one is the smallest page.
	err := clientOf(c).Figures(c.Context(), url.Values{"maxpagesize": {"1"}}, &w)
	if status, _ := page.StatusOf(err); err != nil {
		if status >= http.StatusInternalServerError {
			return &Wallboard{Down: true}
		}
		return nil // it accepts only requests signed with an access key
	}
	if len(w.Workers) == 0 && len(w.Jobs) == 0 {
		return nil
	}
	return &w
}

// JobsWaiting returns the number of jobs that wait for a worker.
func (w *Wallboard) JobsWaiting() int { return w.Jobs["queued"] }

// Bar shows the workers by state.
func (w *Wallboard) Bar(l *locale.Locale) display.Bar {
	return display.Bar{Title: l.T("Workers"), Segments: []display.Segment{
		{Name: l.T("active"), Class: "c3", Value: float64(w.Workers["active"])}, {Name: l.T("draining"), Class: "c2", Value: float64(w.Workers["draining"])},
		{Name: l.T("inactive"), Class: "c8", Value: float64(w.Workers["inactive"])},
	}}
}

// routerBoard is the data of the wallboard.
type routerBoard struct {
	Wallboard
	FailingFunctions []failingFunction `json:"failingFunctions"`
	Queues           []queueFigures    `json:"queues"`
	Next             string            `json:"nextLink"`
}

// Unused reports whether the router is still empty.
func (b *routerBoard) Unused() bool {
	return len(b.Jobs) == 0 && len(b.Workers) == 0 && len(b.Queues) == 0
}

func loadRouter(v *page.Visit) (*page.Content, error) {
	b := &routerBoard{}
	if err := clientOf(v.Caller).Figures(v.Request.Context(), url.Values{"maxpagesize": {strconv.Itoa(maxBoardQueues)}}, b); err != nil {
		return nil, err
	}
	slices.SortStableFunc(b.Queues, func(x, y queueFigures) int { return cmp.Compare(y.Length, x.Length) })
	return &page.Content{Title: v.T("Router"), Crumbs: routerCrumbs(v.Locale), Data: b}, nil
}

// queueFigures holds the statistics of a queue.
type queueFigures struct {
	router.Statistics
	Name   string          `json:"name"`
	Closed resource.Closed `json:"closed"`
}

// Longest returns how long the longest-waiting job has waited.
func (q queueFigures) Longest(l *locale.Locale) string {
	if q.LongestJobWaitTimeMinutes == nil {
		return "–"
	}
	return l.Span(time.Duration(*q.LongestJobWaitTimeMinutes * float64(time.Minute)))
}

// Estimate returns the estimated wait of the last job in the queue. It is unknown
// while no jobs are being assigned.
func (q queueFigures) Estimate(l *locale.Locale) string {
	most := 0
	// One for each priority: the last job in the queue has the longest.
	for _, n := range q.EstimatedWaitTimeMinutes {
		most = max(most, n)
	}
	switch {
	case q.Length == 0:
		return "–"
	case most == 0:
		return l.T("not known yet")
	}
	return l.Span(time.Duration(most) * time.Minute)
}

// failingFunction is a function of a policy whose last call failed.
type failingFunction struct {
	PolicyKind string    `json:"policyKind"`
	PolicyID   string    `json:"policyId"`
	Host       string    `json:"host"`
	Since      time.Time `json:"since"`
	LastAt     time.Time `json:"lastAt"`
	Reason     string    `json:"reason"`
}

// queueList is the data of the page of all queues.
type queueList struct {
	Queues []queueFigures
	Pager  page.Pager
}

func loadQueues(v *page.Visit) (*page.Content, error) {
	var b routerBoard
	if err := clientOf(v.Caller).Figures(v.Request.Context(), listQuery(v), &b); err != nil {
		return nil, err
	}
	l := &queueList{b.Queues, moreOf(v, b.Next)}
	return &page.Content{Title: v.T("Queues of the router"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Queues")}), Data: l}, nil
}

// queueData is the data of a queue's page.
type queueData struct {
	routerclient.Queue
	Figures     queueFigures
	Jobs        []routerJob // waiting jobs
	Workers     []router.Worker
	Unmatchable []string // ids of jobs that no worker could take
	TooLong     bool     // the queue is too long to search for unmatchable jobs
}

func loadQueue(v *page.Visit) (*page.Content, error) {
	id, to := v.Request.PathValue("id"), clientOf(v.Caller)
	d := &queueData{}
	var err error
	if d.Queue, err = to.Queue(v.Request.Context(), id); err != nil {
		return nil, err
	}
	var figures routerBoard
	if err := to.Figures(v.Request.Context(), url.Values{"queueId": {id}}, &figures); err != nil {
		return nil, err
	}
	if len(figures.Queues) > 0 { // otherwise it has just been deleted
		d.Figures = figures.Queues[0]
	}
	if d.TooLong = d.Figures.Length > maxSearchedQueue; !d.TooLong {
		if d.Unmatchable, err = to.Unmatchable(v.Request.Context(), id, page.MaxListed); err != nil {
			return nil, err
		}
	}
	if d.Jobs, err = firstEntries[routerJob](v, "jobs", url.Values{"queueId": {id}, "status": {"queued"}}); err != nil {
		return nil, err
	}
	if d.Workers, err = firstEntries[router.Worker](v, "workers", url.Values{"queueId": {id}}); err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Queue %s", id), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Queues"), Link: "/router/queues"}, page.Crumb{Text: id}), Data: d}, nil
}

// maxSearchedQueue is the longest queue that is searched for unmatchable jobs, because
// the search blocks all users of the router.
const maxSearchedQueue = 5000

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

func loadPolicies(v *page.Visit) (*page.Content, error) {
	var kinds []policyKind
	for _, k := range []struct {
		kind       string
		title, use locale.Message
		row        func(*locale.Locale, json.RawMessage) (policyRow, error)
	}{
		{"distributionPolicies", "Distribution policies", "Which workers are offered a job, for how long, and how many at once.", policyRowOf(aboutDistribution)},
		{"classificationPolicies", "Classification policies", "Which queue, priority and selectors a job gets.", policyRowOf(aboutClassification)},
		{"exceptionPolicies", "Exception policies", "What happens to jobs that wait too long, or when a queue is too long.", policyRowOf(aboutException)},
	} {
		policies, err := routerclient.List[json.RawMessage](v.Request.Context(), clientOf(v.Caller), k.kind, url.Values{"maxpagesize": {strconv.Itoa(maxBoardQueues)}})
		if err != nil {
			return nil, err
		}
		kind := policyKind{Title: v.T(k.title), Use: v.T(k.use), More: policies.NextLink != ""}
		for _, raw := range policies.Value {
			row, err := k.row(v.Locale, raw)
			if err != nil {
				return nil, err
			}
			kind.List = append(kind.List, row)
		}
		kinds = append(kinds, kind)
	}
	return &page.Content{Title: v.T("Policies of the router"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Policies")}), Data: kinds}, nil
}

// policyRowOf returns a function that decodes a policy of one kind; about describes
// in one line what the policy does.
func policyRowOf[T any](about func(*locale.Locale, *T) []string) func(*locale.Locale, json.RawMessage) (policyRow, error) {
	return func(l *locale.Locale, raw json.RawMessage) (policyRow, error) {
		var named struct{ ID, Name string }
		var spec T
		var text bytes.Buffer
		err := errors.Join(json.Unmarshal(raw, &named), json.Unmarshal(raw, &spec), json.Indent(&text, raw, "", "  "))
		return policyRow{named.ID, named.Name, strings.Join(about(l, &spec), "; "), text.String()}, err
	}
}

func aboutDistribution(l *locale.Locale, p *resource.DistributionSpec) []string {
	parts := []string{
		policyWord(l, string(p.Mode.Kind)), l.T("offers expire after %s", l.Span(seconds(p.OfferExpiresAfterSeconds))),
		l.T("at most %d offers of a job at once", p.Mode.MaxConcurrentOffers),
	}
	if p.AutoAccept {
		parts = append(parts, l.T("accepted automatically"))
	}
	return parts
}

func aboutClassification(l *locale.Locale, p *resource.ClassificationSpec) (parts []string) {
	if n := len(p.QueueSelectorAttachments); n > 0 {
		parts = append(parts, l.T("%d rules for the queue", n))
	}
	if p.FallbackQueueID != "" {
		parts = append(parts, l.T("fallback queue %s", p.FallbackQueueID))
	}
	if p.PrioritizationRule != nil {
		parts = append(parts, l.T("priority by %s", policyWord(l, string(p.PrioritizationRule.Kind))))
	}
	if n := len(p.WorkerSelectorAttachments); n > 0 {
		parts = append(parts, l.T("%d rules for worker selectors", n))
	}
	return parts
}

func aboutException(l *locale.Locale, p *resource.ExceptionSpec) (parts []string) {
	for _, r := range p.ExceptionRules {
		actions := make([]string, len(r.Actions))
		for i, a := range r.Actions {
			actions[i] = policyWord(l, string(a.Kind))
		}
		all := strings.Join(actions, ", ")
		if r.Trigger.Kind == resource.TriggerQueueLength {
			parts = append(parts, l.T("when %[1]d jobs wait: %[2]s", r.Trigger.Threshold, all))
		} else {
			parts = append(parts, l.T("after %[1]s: %[2]s", l.Span(seconds(r.Trigger.ThresholdSeconds)), all))
		}
	}
	return parts
}

// policyWord returns a name of the router's API that policies contain in words.
func policyWord(l *locale.Locale, name string) string {
	words := map[string]locale.Message{
		"longestIdle": "longest idle", "shortestIdle": "shortest idle", "roundRobin": "round robin", "bestWorker": "best worker",
		"static": "static", "expression": "expression", "function": "function", "directMap": "direct map", "webhook": "webhook",
		"cancel": "cancel", "reclassify": "reclassify", "manualReclassify": "manual reclassify",
	}
	if word := words[name]; word != "" {
		return l.T(word)
	}
	return display.CamelWords(name)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
