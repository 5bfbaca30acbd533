package acd

import (
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// Holds reports whether labels pass a filter.
func Holds(filter []resource.WorkerSelector, labels label.Set) bool {
	for _, s := range filter {
		if !s.Operator.Holds(labels[s.Key], s.Value) {
			return false
		}
	}
	return true
}

// Commands returns the commands that create an example.
func (x Example) Commands() []router.Command {
	var out []router.Command
	for id, spec := range x.Distribution {
		out = append(out, router.PutDistribution{ID: id, Spec: spec})
	}
	for id, spec := range x.Exception {
		out = append(out, router.PutException{ID: id, Spec: spec})
	}
	for id, spec := range x.Queues {
		out = append(out, router.PutQueue{ID: id, Spec: spec})
	}
	for _, p := range x.Pools {
		out = append(out, router.PutPool{ID: p.ID, Spec: p.Spec})
	}
	for _, a := range x.Agents {
		out = append(out, router.PutWorker{ID: a.ID, Spec: a.Spec})
	}
	return out
}
