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

// resources maps the names in paths to the kinds of resources.
func resources() map[string]resourceKind {
	remover := func(kind resource.Kind) func(string) routing.Command {
		return func(id string) routing.Command { return routing.Delete{Resource: kind, ID: id} }
	}
	return map[string]resourceKind{
		"workers": {resource.Worker, renderWorker, func(id string) routing.Command { return routing.DeleteWorker{ID: id} }},
		"jobs":    {resource.Job, renderJob, func(id string) routing.Command { return routing.DeleteJob{ID: id} }},
		"queues":  {resource.Queue, renderNamed((*routing.State).Queue, viewQueue), remover(resource.Queue)},
		"distributionPolicies": {
			resource.Distribution, renderNamed((*routing.State).Distribution, viewDistribution), remover(resource.Distribution),
		},
		"classificationPolicies": {
			resource.Classification, renderNamed((*routing.State).Classification, viewClassification), remover(resource.Classification),
		},
		"exceptionPolicies": {
			resource.Exception, renderNamed((*routing.State).Exception, viewException), remover(resource.Exception),
		},
		"pools": {resource.Pool, renderPool, remover(resource.Pool)},
	}
}

// table returns every route of the API.
func (s *service) table() routes {
	t := routes{}
	for name, res := range resources() {
		t[name] = map[string]endpoint{http.MethodGet: s.list(res)}
		t[name+"/*"] = map[string]endpoint{
			http.MethodPatch: s.patch(res), http.MethodGet: s.get(res), http.MethodDelete: s.remove(res),
		}
	}
	// The lists of jobs and workers replace the general ones of the loop above: they have
	// filters.
	for path, h := range map[string]endpoint{
		"jobs": s.listJobs, "workers": s.listWorkers, "jobs/*/position": s.position, "jobs/*/why": s.why, "queues/*/statistics": s.statistics,
		"ready": s.ready, "figures": s.figures, "queues/*/unmatchable": s.unmatchable,
	} {
		t[path] = map[string]endpoint{http.MethodGet: h}
	}
	for path, h := range map[string]endpoint{
		"jobs/*:cancel":                 s.cancel,
		"jobs/*:reclassify":             s.reclassify,
		"jobs/*/assignments/*:complete": s.complete,
		"jobs/*/assignments/*:close":    s.closeJob,
		"jobs/*/assignments/*:unassign": s.unassign,
		"workers/*/offers/*:accept":     s.accept,
		"workers/*/offers/*:decline":    s.decline,
	} {
		t[path] = map[string]endpoint{http.MethodPost: h}
	}
	return t
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
