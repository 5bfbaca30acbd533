package router

import (
	"bytes"
	"encoding/json"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// put emits an event that stores spec, the specification inside it, if the
// condition holds and spec is valid and differs from the old one. check also fills
// in defaults.
func put[T any](ds *decisions, kind resource.Kind, id string, old Named[T], cond If, e journal.Event, spec *T, check func() error) error {
	if err := cond.check(old.Version, old.ChangedAt); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := ds.view.admit(sizeOf(spec) - ds.view.SizeOf(kind, id)); err != nil {
		return err
	}
	// An unchanged resource keeps its entity tag. An exception policy changes each time that a
	// patch omits the ids of its actions, as at the API.
	if old.Version == 0 || !sameJSON(&old.Spec, spec) {
		ds.emit(e)
	}
	return nil
}

// sameJSON reports whether two specifications have the same JSON form, so that an
// absent list equals an empty one. Clients see an empty list for an absent one
// and send back what they see.
func sameJSON[T any](a, b T) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (c PutQueue) decide(ds *decisions) error {
	old, _ := ds.view.Queue(c.ID)
	e := &journal.QueuePutEvent{ID: c.ID, Spec: c.Spec}
	return put(ds, resource.Queue, c.ID, old, c.If, e, &e.Spec, func() error {
		err := e.Spec.Validate(c.ID, ds.view.known)
		e.Spec.Labels = e.Spec.Labels.With("Id", label.Text(c.ID))
		return err
	})
}

func (c PutDistribution) decide(ds *decisions) error {
	old, _ := ds.view.Distribution(c.ID)
	e := &journal.DistributionPutEvent{ID: c.ID, Spec: c.Spec}
	return put(ds, resource.Distribution, c.ID, old, c.If, e, &e.Spec, func() error { return e.Spec.Validate(c.ID) })
}

func (c PutClassification) decide(ds *decisions) error {
	old, _ := ds.view.Classification(c.ID)
	e := &journal.ClassificationPutEvent{ID: c.ID, Spec: c.Spec}
	return put(ds, resource.Classification, c.ID, old, c.If, e, &e.Spec, func() error { return e.Spec.Validate(c.ID, ds.view.known) })
}

func (c PutException) decide(ds *decisions) error {
	old, _ := ds.view.Exception(c.ID)
	e := &journal.ExceptionPutEvent{ID: c.ID, Spec: c.Spec}
	return put(ds, resource.Exception, c.ID, old, c.If, e, &e.Spec, func() error {
		err := e.Spec.Validate(c.ID, ds.view.known)
		e.Spec.ExceptionRules = ds.view.withActionIDs(e.Spec.ExceptionRules)
		return err
	})
}

func (c PutPool) decide(ds *decisions) error {
	old, _ := ds.view.Pool(c.ID)
	e := &journal.PoolPutEvent{ID: c.ID, Spec: c.Spec}
	return put(ds, resource.Pool, c.ID, old, c.If, e, &e.Spec, func() error { return e.Spec.Validate(c.ID) })
}

func (c Delete) decide(ds *decisions) error {
	if c.Resource == resource.Worker || c.Resource == resource.Job {
		return resource.Invalid("/resource", "unknown", "workers and jobs have commands of their own")
	}
	if !ds.view.known(c.Resource, c.ID) {
		return notFound(string(c.Resource), c.ID)
	}
	if err := ds.view.deletable(c.Resource, c.ID); err != nil {
		return err
	}
	ds.emit(&journal.DeletedEvent{Resource: c.Resource, ID: c.ID})
	return nil
}

// some reports whether any value of a map satisfies a condition.
func some[V any](m map[string]V, is func(V) bool) bool {
	for _, v := range m {
		if is(v) {
			return true
		}
	}
	return false
}
