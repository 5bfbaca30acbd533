package jobrouter

import (
	"net/http"
	"time"

	"weir/routing"
	"weir/routing/resource"
)

// resourceKind describes a kind of resource.
type resourceKind struct {
	kind resource.Kind
	// see returns a resource as clients see it; ok is false if it does not exist.
	see    func(s *routing.State, id string, v version) (r seen, ok bool)
	remove func(id string) routing.Command
}

// seen is a resource as clients see it.
type seen struct {
	body      any
	version   routing.Version
	changedAt time.Time
}

// resources maps the names in paths to the kinds of resources.
func resources() map[string]resourceKind {
	remover := func(kind resource.Kind) func(string) routing.Command {
		return func(id string) routing.Command { return routing.Delete{Resource: kind, ID: id} }
	}
	return map[string]resourceKind{
		"workers": {resource.Worker, seeWorker, func(id string) routing.Command { return routing.DeleteWorker{ID: id} }},
		"jobs":    {resource.Job, seeJob, func(id string) routing.Command { return routing.DeleteJob{ID: id} }},
		"queues":  {resource.Queue, seeNamed((*routing.State).Queue, viewQueue), remover(resource.Queue)},
		"distributionPolicies": {
			resource.Distribution, seeNamed((*routing.State).Distribution, viewDistribution), remover(resource.Distribution),
		},
		"classificationPolicies": {
			resource.Classification, seeNamed((*routing.State).Classification, viewClassification), remover(resource.Classification),
		},
		"exceptionPolicies": {
			resource.Exception, seeNamed((*routing.State).Exception, viewException), remover(resource.Exception),
		},
		"pools": {resource.Pool, seePool, remover(resource.Pool)},
	}
}

func seeWorker(s *routing.State, id string, v version) (seen, bool) {
	w, ok := s.Worker(id)
	if !ok {
		return seen{}, false
	}
	return seen{viewWorker(&w, v), w.Version, w.ChangedAt}, true
}

func seeJob(s *routing.State, id string, _ version) (seen, bool) {
	j, ok := s.Job(id)
	if !ok {
		return seen{}, false
	}
	return seen{viewJob(&j), j.Version, j.ChangedAt}, true
}

func seeNamed[T, V any](find func(*routing.State, string) (routing.Named[T], bool), view func(*routing.Named[T]) V) func(*routing.State, string, version) (seen, bool) {
	return func(s *routing.State, id string, _ version) (seen, bool) {
		n, ok := find(s, id)
		if !ok {
			return seen{}, false
		}
		return seen{view(&n), n.Version, n.ChangedAt}, true
	}
}

// table returns every route of the API.
func (s *service) table() routes {
	t := routes{}
	for name, res := range resources() {
		t[name] = map[string]handle{http.MethodGet: s.list(res)}
		t[name+"/*"] = map[string]handle{
			http.MethodPatch: s.patch(res), http.MethodGet: s.get(res), http.MethodDelete: s.remove(res),
		}
	}
	for path, h := range map[string]handle{
		"jobs": s.listJobs, "workers": s.listWorkers, "jobs/*/position": s.position, "jobs/*/why": s.why, "queues/*/statistics": s.statistics,
		"ready": s.ready, "figures": s.figures, "queues/*/unmatchable": s.unmatchable,
	} {
		t[path] = map[string]handle{http.MethodGet: h}
	}
	for path, h := range map[string]handle{
		"jobs/*:cancel":                 s.cancel,
		"jobs/*:reclassify":             s.reclassify,
		"jobs/*/assignments/*:complete": s.complete,
		"jobs/*/assignments/*:close":    s.closeJob,
		"jobs/*/assignments/*:unassign": s.unassign,
		"workers/*/offers/*:accept":     s.accept,
		"workers/*/offers/*:decline":    s.decline,
	} {
		t[path] = map[string]handle{http.MethodPost: h}
	}
	return t
}
