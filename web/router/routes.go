package router

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"weir"
	"weir/router"
	"weir/router/resource"
)

// resources lists the kinds of resources.
func resources() []resourceKind {
	return []resourceKind{
		{
			kind: resource.Worker, path: "workers", spec: reflect.TypeFor[resource.WorkerSpec](), readOnly: []string{"state", "offers", "assignedJobs", "loadRatio"},
			render: renderWorker, patch: router.PatchWorker, remove: func(id string) router.Command { return router.DeleteWorker{ID: id} },
		},
		{
			kind: resource.Job, path: "jobs", spec: reflect.TypeFor[resource.JobSpec](),
			readOnly: []string{"status", "enqueuedAt", "scheduledAt", "assignments", "attachedWorkerSelectors"}, complete: completeMatchingMode,
			render: renderJob, patch: router.PatchJob, remove: func(id string) router.Command { return router.DeleteJob{ID: id} },
		},
		named("queues", (*router.State).Queue),
		named("distributionPolicies", (*router.State).Distribution),
		named("classificationPolicies", (*router.State).Classification),
		named("exceptionPolicies", (*router.State).Exception),
		{
			kind: resource.Pool, path: "pools", spec: reflect.TypeFor[resource.PoolSpec](), readOnly: []string{"depth", "version"},
			render: renderPool, patch: router.Patch[resource.PoolSpec], remove: remover(resource.Pool),
		},
	}
}

func remover(kind resource.Kind) func(string) router.Command {
	return func(id string) router.Command { return router.Delete{Resource: kind, ID: id} }
}

// named describes a kind of resource that is no more than clients state about it.
func named[T any, P resource.SpecOf[T]](path string, find func(*router.State, string) (router.Named[T], bool)) resourceKind {
	kind := P(nil).Kind()
	return resourceKind{
		kind: kind, path: path, spec: reflect.TypeFor[T](), patch: router.Patch[T, P],
		remove: remover(kind),
		render: func(s *router.State, id string, _ version) (rendered, bool) {
			n, ok := find(s, id)
			if !ok {
				return rendered{}, false
			}
			return rendered{viewNamed(&n), n.Version, n.ChangedAt}, true
		},
	}
}

// routes maps a path pattern, with * for an id, and a method to a handler.
type routes map[string]map[string]endpoint

// newRoutes returns every route of the API. openapi.json describes each.
func newRoutes(o *Options) routes {
	link := links{publicURL: o.PublicURL, prefix: o.Prefix}
	pages := lists{o.Engine, link}
	look := lookups{o.Engine}
	act := actions{o.Engine, actionCheckers()}
	one := newResourceRoutes(o.Engine, o.Address)
	get, post := http.MethodGet, http.MethodPost
	table := routes{
		"jobs":                          {get: pages.jobs},
		"workers":                       {get: pages.workers},
		"jobs/*/position":               {get: look.position},
		"jobs/*/why":                    {get: look.why},
		"queues/*/statistics":           {get: look.statistics},
		"queues/*/unmatchable":          {get: look.unmatchable},
		"ready":                         {get: look.ready},
		"figures":                       {get: figures{o.Engine, o.Failing, link}.get},
		"jobs/*:cancel":                 {post: act.simple(cancelJob)},
		"jobs/*:reclassify":             {post: act.simple(reclassify)},
		"jobs/*/assignments/*:complete": {post: act.simple(complete)},
		"jobs/*/assignments/*:close":    {post: act.simple(closeJob)},
		"jobs/*/assignments/*:unassign": {post: act.unassign},
		"workers/*/offers/*:accept":     {post: act.accept},
		"workers/*/offers/*:decline":    {post: act.simple(decline)},
	}
	for _, res := range resources() {
		table[res.path+"/*"] = map[string]endpoint{get: one.get(res), http.MethodPatch: one.patch(res), http.MethodDelete: one.remove(res)}
		if table[res.path] == nil { // the lists of jobs and workers have filters, see above
			table[res.path] = map[string]endpoint{get: pages.byID(res)}
		}
	}
	return table
}

const prefix = "/routing/"

// find splits the path before unescaping it, because an id may contain an escaped
// slash or colon. The text after the last unescaped colon is an action if such an
// action exists, and otherwise part of the id.
// Buffers of fixed size hold the pattern and the ids, since this runs for every request: paths of
// ordinary length cost no allocation.
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
		// No route has more than four segments.
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
				s, route, c.action = id, with, name
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

// It answers before the method is looked at: an unknown path is a 404 for every method, a known
// one with a wrong method a 405 with Allow.
func noSuchRoute() error { return weir.Errorf(weir.CodeNotFound, "no such path") }

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
	s := &server{
		log:       o.Logger,
		admission: admission{signatures: newSignatures(o.Keys), open: o.Open, bearer: o.Bearer, now: o.Now},
		routes:    newRoutes(&o),
		queries:   map[string]url.Values{},
	}
	for _, v := range versions() {
		// Most requests have this query and nothing else. It is parsed once, and shared: handlers
		// only read it.
		s.queries["api-version="+string(v)] = url.Values{"api-version": {string(v)}}
	}
	return http.HandlerFunc(s.serve), nil
}
