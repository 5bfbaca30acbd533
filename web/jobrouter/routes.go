package jobrouter

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
		{resource.Worker, "workers", renderWorker, func(id string) routing.Command { return routing.DeleteWorker{ID: id} }},
		{resource.Job, "jobs", renderJob, func(id string) routing.Command { return routing.DeleteJob{ID: id} }},
		{resource.Queue, "queues", renderNamed((*routing.State).Queue, viewQueue), remover(resource.Queue)},
		{resource.Distribution, "distributionPolicies", renderNamed((*routing.State).Distribution, viewDistribution), remover(resource.Distribution)},
		{resource.Classification, "classificationPolicies", renderNamed((*routing.State).Classification, viewClassification), remover(resource.Classification)},
		{resource.Exception, "exceptionPolicies", renderNamed((*routing.State).Exception, viewException), remover(resource.Exception)},
		{resource.Pool, "pools", renderPool, remover(resource.Pool)},
	}
}

// table returns every route of the API. openapi.json describes each.
func (s *service) table() routes {
	get, post := http.MethodGet, http.MethodPost
	table := routes{
		"jobs":                          {get: s.listJobs},
		"workers":                       {get: s.listWorkers},
		"jobs/*/position":               {get: s.position},
		"jobs/*/why":                    {get: s.why},
		"queues/*/statistics":           {get: s.statistics},
		"queues/*/unmatchable":          {get: s.unmatchable},
		"ready":                         {get: s.ready},
		"figures":                       {get: s.figures},
		"jobs/*:cancel":                 {post: s.action(cancelJob)},
		"jobs/*:reclassify":             {post: s.action(reclassify)},
		"jobs/*/assignments/*:complete": {post: s.action(complete)},
		"jobs/*/assignments/*:close":    {post: s.action(closeJob)},
		"jobs/*/assignments/*:unassign": {post: s.unassign},
		"workers/*/offers/*:accept":     {post: s.accept},
		"workers/*/offers/*:decline":    {post: s.action(decline)},
	}
	for _, res := range resources() {
		table[res.path+"/*"] = map[string]endpoint{get: s.get(res), http.MethodPatch: s.patch(res), http.MethodDelete: s.remove(res)}
		if table[res.path] == nil { // the lists of jobs and workers have filters, see above
			table[res.path] = map[string]endpoint{get: s.list(res)}
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
	}
	for _, v := range versions() {
		s.shapes[v] = resourceShapes(v)
		// Most requests have this query and nothing else. It is parsed once, and shared: handlers
		// only read it.
		s.queries["api-version="+string(v)] = url.Values{"api-version": {string(v)}}
	}
	s.routes = s.table()
	return http.HandlerFunc(s.serve), nil
}
