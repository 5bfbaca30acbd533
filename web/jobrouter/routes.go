package jobrouter

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir"
	"weir/routing"
	"weir/routing/resource"
)

// endpoint answers an admitted request.
type endpoint func(*call) (response, error)

// routes maps a path pattern, with * for an id, and a method to a handler.
type routes map[string]map[string]endpoint

const prefix = "/routing/"

// find splits the path before unescaping it, because an id may contain an escaped
// slash or colon. The text after the last unescaped colon is an action if such an
// action exists, and otherwise part of the id.
func (t routes) find(c *call) (methods map[string]endpoint, err error) {
	rest, ok := strings.CutPrefix(c.r.URL.EscapedPath(), prefix)
	if !ok {
		return nil, noSuchRoute()
	}
	c.ids = c.idArray[:0]
	var room [80]byte
	route := room[:0]
	for i, more := 0, true; more; i++ {
		var s string
		if s, rest, more = strings.Cut(rest, "/"); i > 3 {
			return nil, noSuchRoute()
		}
		if i > 0 {
			route = append(route, '/')
		}
		if i%2 == 0 {
			route = append(route, s...)
			continue
		}
		route = append(route, '*')
		if id, name, ok := cutLast(s, ":"); ok && !more {
			with := append(append(route, ':'), name...)
			if _, is := t[string(with)]; is {
				s, route = id, with
			}
		}
		id, err := url.PathUnescape(s)
		if err != nil || id == "" {
			return nil, noSuchRoute()
		}
		c.ids = append(c.ids, id)
	}
	methods, ok = t[string(route)]
	if !ok {
		return nil, noSuchRoute()
	}
	return methods, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func noSuchRoute() error { return weir.Errorf(weir.CodeNotFound, "no such path") }

// resourceKind describes a kind of resource.
type resourceKind struct {
	kind resource.Kind
	// render returns a resource as clients see it; ok is false if it does not exist.
	render func(s *routing.State, id string, v version) (r rendered, ok bool)
	remove func(id string) routing.Command
}

// rendered is a resource as clients see it.
type rendered struct {
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

func renderWorker(s *routing.State, id string, v version) (rendered, bool) {
	w, ok := s.Worker(id)
	if !ok {
		return rendered{}, false
	}
	return rendered{viewWorker(&w, v), w.Version, w.ChangedAt}, true
}

func renderJob(s *routing.State, id string, _ version) (rendered, bool) {
	j, ok := s.Job(id)
	if !ok {
		return rendered{}, false
	}
	return rendered{viewJob(&j), j.Version, j.ChangedAt}, true
}

func renderNamed[T, V any](find func(*routing.State, string) (routing.Named[T], bool), view func(*routing.Named[T]) V) func(*routing.State, string, version) (rendered, bool) {
	return func(s *routing.State, id string, _ version) (rendered, bool) {
		n, ok := find(s, id)
		if !ok {
			return rendered{}, false
		}
		return rendered{view(&n), n.Version, n.ChangedAt}, true
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

// version is a value of the parameter api-version.
type version string

const (
	version2023 version = "2023-11-01"
	version2024 version = "2024-01-18-preview"
)

func versions() []version { return []version{version2023, version2024} }

// supported is the value of the header api-supported-versions.
const supported = string(version2023) + ", " + string(version2024)
