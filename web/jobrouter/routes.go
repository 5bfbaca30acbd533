package jobrouter

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/routing"
	"weir/routing/resource"
)

// resources lists the kinds of resources.
func resources() []resourceKind {
	remover := func(kind resource.Kind) func(string) routing.Command {
		return func(id string) routing.Command { return routing.Delete{Resource: kind, ID: id} }
	}
	return []resourceKind{
		{resource.Worker, "workers", "a worker", workerView{}, renderWorker, func(id string) routing.Command { return routing.DeleteWorker{ID: id} }},
		{resource.Job, "jobs", "a job", jobView{}, renderJob, func(id string) routing.Command { return routing.DeleteJob{ID: id} }},
		{resource.Queue, "queues", "a queue", queueView{}, renderNamed((*routing.State).Queue, viewQueue), remover(resource.Queue)},
		{
			resource.Distribution, "distributionPolicies", "a distribution policy", distributionView{},
			renderNamed((*routing.State).Distribution, viewDistribution), remover(resource.Distribution),
		},
		{
			resource.Classification, "classificationPolicies", "a classification policy", classificationView{},
			renderNamed((*routing.State).Classification, viewClassification), remover(resource.Classification),
		},
		{
			resource.Exception, "exceptionPolicies", "an exception policy", exceptionView{},
			renderNamed((*routing.State).Exception, viewException), remover(resource.Exception),
		},
		{resource.Pool, "pools", "a pool (extension of Weir)", poolView{}, renderPool, remover(resource.Pool)},
	}
}

// route is one operation of the API: its handler and its description.
type route struct {
	method, path string // the path below /routing/, with * for an id
	handle       endpoint
	summary      string
	body         any      // a view; nil: no body
	query        []string // parameters other than api-version
	page         bool     // the response is a page of bodies
}

// table returns every route of the API.
func (s *service) table() []*route {
	get, post, nothing, paged := http.MethodGet, http.MethodPost, struct{}{}, []string{"maxpagesize", skipToken}
	jobs := slices.Concat(paged, []string{"status", "queueId", "channelId", "classificationPolicyId", "scheduledBefore", "scheduledAfter"})
	workers := slices.Concat(paged, []string{"state", "queueId", "channelId", "hasCapacity"})
	table := []*route{
		{get, "jobs", s.listJobs, "List jobs", jobView{}, jobs, true},
		{get, "workers", s.listWorkers, "List workers", workerView{}, workers, true},
		{get, "jobs/*/position", s.position, "Position of a job in its queue", routing.Position{}, nil, false},
		{get, "jobs/*/why", s.why, "Why a job waits (extension of Weir)", whyView{}, nil, false},
		{get, "queues/*/statistics", s.statistics, "Length and wait times of a queue", routing.Statistics{}, nil, false},
		{get, "queues/*/unmatchable", s.unmatchable, "Waiting jobs that no worker can take (extension of Weir)", unmatchableView{}, []string{"maxpagesize"}, false},
		{get, "ready", s.ready, "Available workers, the next one first (extension of Weir)", readyListView{}, []string{"queueId", "channelId", "filter", "maxpagesize"}, false},
		{get, "figures", s.figures, "Counts of jobs, workers and queues (extension of Weir)", figuresView{}, append(paged, "queueId"), false},
		{post, "jobs/*:cancel", s.action(cancelJob), "Cancel a job", nothing, nil, false},
		{post, "jobs/*:reclassify", s.action(reclassify), "Reclassify a job", nothing, nil, false},
		{post, "jobs/*/assignments/*:complete", s.action(complete), "Complete an assignment", nothing, nil, false},
		{post, "jobs/*/assignments/*:close", s.action(closeJob), "Close an assignment", nothing, nil, false},
		{post, "jobs/*/assignments/*:unassign", s.unassign, "Unassign a job", unassignedView{}, nil, false},
		{post, "workers/*/offers/*:accept", s.accept, "Accept an offer", acceptedView{}, nil, false},
		{post, "workers/*/offers/*:decline", s.action(decline), "Decline an offer", nothing, nil, false},
	}
	for _, res := range resources() {
		one := res.path + "/*"
		table = append(
			table,
			&route{get, one, s.get(res), "Read " + res.title, res.view, nil, false},
			&route{http.MethodPatch, one, s.patch(res), "Create or change " + res.title, res.view, nil, false},
			&route{http.MethodDelete, one, s.remove(res), "Delete " + res.title, nil, nil, false},
		)
		if res.kind != resource.Job && res.kind != resource.Worker { // these have filters, see above
			table = append(table, &route{get, res.path, s.list(res), "List: " + res.title, res.view, paged, true})
		}
	}
	return table
}

// New returns the handler of everything below /routing/. Requests must arrive with
// the path that the client sent, because the signature covers it.
func New(o Options) (http.Handler, error) {
	if o.Engine == nil || o.Logger == nil {
		return nil, errors.New("jobrouter: Engine and Logger are required")
	}
	for i, k := range o.Keys {
		if len(k) == 0 {
			return nil, fmt.Errorf("access key %d is empty", i+1)
		}
	}
	if o.Open == nil {
		o.Open = func() bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &service{
		Options:    o,
		signatures: newSignatures(o.Keys),
		queries:    map[string]url.Values{},
		shapes:     map[version]map[resource.Kind]object{},
		actions:    actionShapes(),
		routes:     routes{},
	}
	for _, v := range versions() {
		s.shapes[v] = resourceShapes(v)
		// Most requests have this query and nothing else. It is parsed once, and shared: handlers
		// only read it.
		s.queries["api-version="+string(v)] = url.Values{"api-version": {string(v)}}
	}
	for _, r := range s.table() {
		if s.routes[r.path] == nil {
			s.routes[r.path] = map[string]endpoint{}
		}
		s.routes[r.path][r.method] = r.handle
	}
	return http.HandlerFunc(s.serve), nil
}
