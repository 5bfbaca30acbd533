package dashboard

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"weir"
)

const (
	routerRows  = 50
	boardQueues = 100 // on the wallboard
)

// routerUsers returns the scope for pages of the router; its API also requires
// pii:read.
func routerUsers() []weir.Scope { return []weir.Scope{weir.ScopeRouter} }

func routerPage() *page {
	return &page{name: "router", path: "/router", nav: "Router", scopes: routerUsers(), load: loadRouter, live: []string{"board", "queues"}}
}

// routerListPage returns the page of all workers, queues or jobs.
func routerListPage(what string, load func(*visit) (*content, error)) *page {
	return &page{name: "router_" + what, path: "/router/" + what, scopes: routerUsers(), load: load, live: []string{what}}
}

func policiesPage() *page {
	return &page{name: "router_policies", path: "/router/policies", scopes: routerUsers(), load: loadPolicies}
}

// routerCrumbs returns the crumbs of a page of the router.
func routerCrumbs(more ...crumb) []crumb {
	if len(more) == 0 {
		return []crumb{{Text: "Router"}}
	}
	return append([]crumb{{Text: "Router", Link: "/router"}}, more...)
}

// routerBoard is the data of the wallboard.
type routerBoard struct {
	wallboard
	Failing []failingFunction `json:"failingFunctions"`
	Queues  []queueFigures    `json:"queues"`
	Next    string            `json:"nextLink"`
}

// Unused reports whether the router is still empty.
func (b *routerBoard) Unused() bool {
	return len(b.Jobs) == 0 && len(b.Workers) == 0 && len(b.Queues) == 0
}

func loadRouter(v *visit) (*content, error) {
	b := &routerBoard{}
	if err := v.askRouter("/routing/figures", url.Values{"maxpagesize": {strconv.Itoa(boardQueues)}}, b); err != nil {
		return nil, err
	}
	slices.SortStableFunc(b.Queues, func(x, y queueFigures) int { return cmp.Compare(y.Length, x.Length) })
	return &content{title: "Router", crumbs: routerCrumbs(), data: b}, nil
}

// queueList is the data of the page of all queues.
type queueList struct {
	Queues []queueFigures
	Pager  pager
}

func loadQueues(v *visit) (*content, error) {
	query := url.Values{"maxpagesize": {strconv.Itoa(routerRows)}}
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("skipToken", cursor)
	}
	var b routerBoard
	if err := v.askRouter("/routing/figures", query, &b); err != nil {
		return nil, err
	}
	l := &queueList{b.Queues, v.more(cursorOf(b.Next))}
	return &content{title: "Queues of the router", crumbs: routerCrumbs(crumb{Text: "Queues"}), data: l}, nil
}

// workerList is the data of the page of all workers.
type workerList struct {
	State, Queue string // filters; empty: none
	States       []string
	List         []routerWorker
	Pager        pager
}

// Filtered reports whether the list may omit workers.
func (l *workerList) Filtered() bool { return l.State != "" || l.Queue != "" || l.Pager.First != "" }

func loadWorkers(v *visit) (*content, error) {
	asked := v.r.URL.Query()
	l := &workerList{States: []string{"active", "draining", "inactive"}, Queue: asked.Get("queue")}
	query := url.Values{}
	if state := asked.Get("state"); slices.Contains(l.States, state) {
		l.State = state
		query.Set("state", state)
	}
	if l.Queue != "" {
		query.Set("queueId", l.Queue)
	}
	var err error
	l.List, l.Pager, err = paged[routerWorker](v, "/routing/workers", query, routerRows)
	return &content{title: "Workers of the router", crumbs: routerCrumbs(crumb{Text: "Workers"}), data: l}, err
}

// jobList is the data of the page of all jobs.
type jobList struct {
	Status, Queue string // filters; empty: none
	Statuses      []option
	List          []routerJob
	Pager         pager
}

// Filtered reports whether the list may omit jobs.
func (l *jobList) Filtered() bool { return l.Status != "" || l.Queue != "" || l.Pager.First != "" }

// jobStatuses returns the statuses by which jobs can be filtered, as displayed.
func jobStatuses() []option {
	return []option{
		{"active", "not over"}, {"queued", "queued"}, {"assigned", "assigned"}, {"completed", "completed"}, {"closed", "closed"}, {"cancelled", "cancelled"},
		{"created", "created"}, {"pendingClassification", "pending classification"}, {"classificationFailed", "classification failed"},
		{"pendingSchedule", "pending schedule"}, {"scheduled", "scheduled"}, {"scheduleFailed", "schedule failed"}, {"waitingForActivation", "waiting for activation"},
	}
}

// statusText returns a job status in words.
func statusText(status string) string {
	for _, o := range jobStatuses()[1:] {
		if o.Value == status {
			return o.Text
		}
	}
	return status
}

// StatusText returns the job's status in words.
func (j routerJob) StatusText() string { return statusText(j.Status) }

// Over reports whether the status is final.
func (j routerJob) Over() bool {
	return slices.Contains([]string{"closed", "cancelled", "scheduleFailed"}, j.Status)
}

// Held returns the assignment that is not closed; nil: none.
func (j routerJob) Held() *routerAssignment {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() && j.Status != "cancelled" {
			return &a
		}
	}
	return nil
}

func loadJobs(v *visit) (*content, error) {
	asked := v.r.URL.Query()
	l := &jobList{Statuses: jobStatuses(), Queue: asked.Get("queue")}
	query := url.Values{}
	if status := asked.Get("status"); slices.ContainsFunc(l.Statuses, func(o option) bool { return o.Value == status }) {
		l.Status = status
		query.Set("status", status)
	}
	if l.Queue != "" {
		query.Set("queueId", l.Queue)
	}
	var err error
	l.List, l.Pager, err = paged[routerJob](v, "/routing/jobs", query, routerRows)
	return &content{title: "Jobs of the router", crumbs: routerCrumbs(crumb{Text: "Jobs"}), data: l}, err
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
	for _, k := range []struct{ path, title, use string }{
		{"distributionPolicies", "Distribution policies", "who is offered a job, for how long, and how many at once"},
		{"classificationPolicies", "Classification policies", "which queue, priority and selectors a job gets"},
		{"exceptionPolicies", "Exception policies", "what happens to jobs that wait too long, or in too long a queue"},
	} {
		var page routerList[json.RawMessage]
		if err := v.askRouter("/routing/"+k.path, url.Values{"maxpagesize": {strconv.Itoa(boardQueues)}}, &page); err != nil {
			return nil, err
		}
		kind := policyKind{Title: k.title, Use: k.use, More: page.NextLink != ""}
		for _, raw := range page.Value {
			row, err := policyRowOf(raw)
			if err != nil {
				return nil, err
			}
			kind.List = append(kind.List, row)
		}
		kinds = append(kinds, kind)
	}
	return &content{title: "Policies of the router", crumbs: routerCrumbs(crumb{Text: "Policies"}), data: kinds}, nil
}

func policyRowOf(raw json.RawMessage) (policyRow, error) {
	var p routerPolicy
	if err := json.Unmarshal(raw, &p); err != nil {
		return policyRow{}, err
	}
	return policyRow{p.ID, p.Name, p.about(), indented(raw)}, nil
}
