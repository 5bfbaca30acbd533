package resource

import (
	"encoding/json"
	"errors"
	"math"

	"weir/router/label"

	"weir"
)

// Merge returns a specification merged with a JSON merge patch (RFC 7396): objects
// member by member, arrays as a whole; null removes a member. It does not modify
// the patch.
func Merge[T any](spec T, patch map[string]any) (out T, err error) {
	// Through JSON, because a patch is about the members of the JSON form, and a member that it
	// removes gets its default by being absent.
	text, err := json.Marshal(spec)
	if err != nil {
		return out, err
	}
	var current map[string]any
	if err := json.Unmarshal(text, &current); err != nil {
		return out, err
	}
	if text, err = json.Marshal(mergeObject(current, patch)); err != nil {
		return out, err
	}
	if len(text) > maxSpec {
		return out, Invalid("", "length", "all members together must have at most %d bytes", maxSpec)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, wrongType(err)
	}
	return out, nil
}

// mergeObject merges a patch into an object, in place.
func mergeObject(into, patch map[string]any) map[string]any {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case map[string]any:
			below, ok := into[k].(map[string]any)
			if !ok {
				// RFC 7396: whatever was there, the member becomes an object, without the nulls
				// of the patch.
				below = map[string]any{}
			}
			into[k] = mergeObject(below, v)
		default:
			into[k] = v
		}
	}
	return into
}

// wrongType returns an error that names the member with the wrong type.
func wrongType(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Invalid("/"+e.Field, "type", "must not be a %s", e.Value)
	}
	return weir.Errorf(weir.CodeInvalid, "the body cannot be decoded: %s", err.Error())
}

// MergeNewJob builds the specification of a new job without the JSON round trip of
// [Merge], because every new job comes through here. ok is false when a member is
// unusual or has an unusual type; Merge must decode it then.
func MergeNewJob(patch map[string]any) (_ *JobSpec, ok bool) {
	p := patchReader{left: maxSpec}
	spec := &JobSpec{}
	for name, v := range patch {
		p.charge(name)
		switch name {
		case "channelId":
			spec.ChannelID = p.text(v)
		case "channelReference":
			spec.ChannelReference = p.text(v)
		case "queueId":
			spec.QueueID = p.text(v)
		case "classificationPolicyId":
			spec.ClassificationPolicyID = p.text(v)
		case "dispositionCode":
			spec.DispositionCode = p.text(v)
		case "priority":
			spec.Priority = p.integer(v)
		case "labels":
			spec.Labels = p.labels(v)
		case "tags":
			spec.Tags = p.labels(v)
		case "requestedWorkerSelectors":
			spec.RequestedWorkerSelectors = p.selectors(v)
		default:
			return nil, false
		}
	}
	return spec, !p.unusual && p.left > 0
}

// patchReader reads values that encoding/json decoded. left is the size budget
// that remains before the specification might be too long.
type patchReader struct {
	left    int
	unusual bool
}

// charge deducts a text at its maximum encoded length.
// A byte takes six at most, as in \u001f. Too high an estimate only costs a call of Merge.
func (p *patchReader) charge(s string) { p.left -= 6*len(s) + 32 }

func (p *patchReader) text(v any) string {
	s, ok := v.(string)
	p.unusual = p.unusual || !ok
	p.charge(s)
	return s
}

func (p *patchReader) integer(v any) *int {
	f, ok := v.(float64)
	if p.unusual = p.unusual || !ok || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32; p.unusual {
		return nil
	}
	return new(int(f))
}

func (p *patchReader) value(v any) label.Value {
	p.charge("")
	switch v := v.(type) {
	case string:
		p.charge(v)
		return label.Text(v)
	case float64:
		return label.Number(v)
	case bool:
		return label.Bool(v)
	}
	p.unusual = true
	return label.Value{}
}

func (p *patchReader) labels(v any) label.Set {
	m, ok := v.(map[string]any)
	p.unusual = p.unusual || !ok
	out := make(label.Set, len(m))
	for key, v := range m {
		p.charge(key)
		out[key] = p.value(v)
	}
	return out
}

func (p *patchReader) selectors(v any) []WorkerSelector {
	list, ok := v.([]any)
	p.unusual = p.unusual || !ok
	out := make([]WorkerSelector, len(list))
	for i := range list {
		m, ok := list[i].(map[string]any)
		p.unusual = p.unusual || !ok
		for name, v := range m {
			p.charge(name)
			switch name {
			case "key":
				out[i].Key = p.text(v)
			case "labelOperator":
				out[i].Operator = label.Operator(p.text(v))
			case "value":
				out[i].Value = p.value(v)
			default:
				p.unusual = true
			}
		}
	}
	return out
}
