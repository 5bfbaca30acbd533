package router

import (
	"bytes"
	"encoding/json"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// decide stores the specification if the condition holds and it is valid and differs from the
// old one.
func (c Put[T, P]) decide(ds *decisions) error {
	e := &journal.Put[T, P]{ID: c.ID, Spec: c.Spec}
	spec := P(&e.Spec)
	old, _ := find[T](ds.view, spec.Kind(), c.ID)
	if err := c.If.check(old.Version, old.ChangedAt); err != nil {
		return err
	}
	if err := spec.Validate(c.ID, ds.view.known); err != nil {
		return err
	}
	switch spec := any(spec).(type) {
	case *resource.QueueSpec:
		spec.Labels = spec.Labels.With("Id", label.Text(c.ID))
	case *resource.ExceptionSpec:
		spec.ExceptionRules = ds.view.withActionIDs(spec.ExceptionRules)
	}
	if err := ds.view.admit(sizeOf(spec) - ds.view.SizeOf(spec.Kind(), c.ID)); err != nil {
		return err
	}
	// An unchanged resource keeps its entity tag. An exception policy changes each time that a
	// patch omits the ids of its actions, as at the API.
	if old.Version == 0 || !sameJSON(&old.Spec, &e.Spec) {
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
