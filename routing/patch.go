package routing

import (
	"encoding/json"
	"errors"

	"weir"
)

// Patch merges a JSON merge patch (RFC 7396) into what a client has stated
// about a resource and returns the command that puts the result. Members that
// clients cannot set are ignored, because clients send whole resources back.
// The result is valid for this state only: nothing may be applied in between.
func (s *State) Patch(kind Resource, id string, body []byte, cond If) (Command, error) {
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil || patch == nil {
		return nil, weir.Errorf(weir.CodeInvalid, "the body is no JSON object")
	}
	return s.PatchMembers(kind, id, patch, cond)
}

// PatchMembers is Patch for a patch that encoding/json has already decoded, so
// that the goroutine of the engine need not. It does not modify the patch.
func (s *State) PatchMembers(kind Resource, id string, body map[string]any, cond If) (Command, error) {
	switch kind {
	case ResourceWorker:
		c := PutWorker{ID: id, If: cond}
		if w := s.workers[id]; w != nil {
			c.Spec = w.WorkerSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceJob:
		c := PutJob{ID: id, If: cond}
		if j := s.jobs[id]; j != nil {
			c.Spec = j.JobSpec
		} else if spec, ok := plainJob(body); ok {
			c.Spec = *spec
			return c, nil
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceQueue:
		c := PutQueue{ID: id, If: cond}
		if q := s.queues[id]; q != nil {
			c.Spec = q.QueueSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourcePool:
		c := PutPool{ID: id, If: cond}
		if p := s.pools[id]; p != nil {
			c.Spec = p.PoolSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceDistribution, ResourceClassification, ResourceException:
	}
	return s.patchPolicy(kind, id, body, cond)
}

func (s *State) patchPolicy(kind Resource, id string, body map[string]any, cond If) (Command, error) {
	switch kind {
	case ResourceDistribution:
		c := PutDistribution{ID: id, If: cond}
		if d := s.dists[id]; d != nil {
			c.Spec = d.DistributionSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceClassification:
		c := PutClassification{ID: id, If: cond}
		if p := s.classes[id]; p != nil {
			c.Spec = p.ClassificationSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceException:
		c := PutException{ID: id, If: cond}
		if x := s.excepts[id]; x != nil {
			c.Spec = x.ExceptionSpec
		}
		err := merge(&c.Spec, body)
		return c, err
	case ResourceWorker, ResourceJob, ResourceQueue, ResourcePool:
	}
	return nil, invalid("/resource", "unknown", "there is no resource %q", kind)
}

// merge merges a patch into a specification: objects member by member, arrays
// as a whole; null removes a member.
func merge[T any](spec *T, patch map[string]any) error {
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	var now map[string]any
	if err := json.Unmarshal(text, &now); err != nil {
		return err
	}
	if text, err = json.Marshal(mergeObject(now, patch)); err != nil {
		return err
	}
	if len(text) > maxSpec {
		return invalid("", "length", "all members together have at most %d bytes", maxSpec)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		return mistyped(err)
	}
	*spec = out
	return nil
}

func mergeObject(into, patch map[string]any) map[string]any {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			below, ok := into[k].(map[string]any)
			if !ok {
				below = map[string]any{}
			}
			into[k] = mergeObject(below, v)
		default:
			into[k] = v
		}
	}
	return into
}

// mistyped returns an error that names the member with the wrong type.
func mistyped(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid("/"+e.Field, "type", "it cannot be a %s", e.Value)
	}
	return weir.Errorf(weir.CodeInvalid, "the body cannot be read: %s", err.Error())
}
