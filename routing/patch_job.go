package routing

import "math"

// plainJob builds the specification of a new job without the JSON round trip of
// [merge], because every new job comes through here. It gives up rather than
// guess when a member is unusual or has an unusual type.
func plainJob(patch map[string]any) (*JobSpec, bool) {
	p := plainPatch{left: maxSpec}
	spec := &JobSpec{}
	for name, v := range patch {
		p.take(name)
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
	return spec, !p.odd && p.left > 0
}

// plainPatch reads values that encoding/json decoded. left is the size budget
// that remains before the specification might be too long.
type plainPatch struct {
	left int
	odd  bool
}

// take charges a text at its maximum encoded length.
func (p *plainPatch) take(s string) { p.left -= 6*len(s) + 32 }

func (p *plainPatch) text(v any) string {
	s, ok := v.(string)
	p.odd = p.odd || !ok
	p.take(s)
	return s
}

func (p *plainPatch) integer(v any) *int {
	f, ok := v.(float64)
	if p.odd = p.odd || !ok || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32; p.odd {
		return nil
	}
	return new(int(f))
}

func (p *plainPatch) value(v any) Value {
	p.take("")
	switch v := v.(type) {
	case string:
		p.take(v)
		return Text(v)
	case float64:
		return Number(v)
	case bool:
		return Bool(v)
	}
	p.odd = true
	return Value{}
}

func (p *plainPatch) labels(v any) Labels {
	m, ok := v.(map[string]any)
	p.odd = p.odd || !ok
	out := make(Labels, len(m))
	for key, v := range m {
		p.take(key)
		out[key] = p.value(v)
	}
	return out
}

func (p *plainPatch) selectors(v any) []WorkerSelector {
	list, ok := v.([]any)
	p.odd = p.odd || !ok
	out := make([]WorkerSelector, len(list))
	for i := range list {
		m, ok := list[i].(map[string]any)
		p.odd = p.odd || !ok
		for name, v := range m {
			p.take(name)
			switch name {
			case "key":
				out[i].Key = p.text(v)
			case "labelOperator":
				out[i].Operator = Operator(p.text(v))
			case "value":
				out[i].Value = p.value(v)
			default:
				p.odd = true
			}
		}
	}
	return out
}
