package routing

import (
	"bytes"
	"strconv"
	"time"

	"weir/internal/plainjson"
	"weir/routing/label"
	"weir/routing/resource"
)

// namesMost bounds the names that a recordReader interns.
const namesMost = 1000

// recordReader decodes jobs in the form that [appendRecord] writes by hand,
// member by member in that order. A line in any other form is odd and left to
// encoding/json.
type recordReader struct {
	b     []byte
	odd   bool
	names map[string]string // interned
}

// Job decodes the job of a line; ok is false for a line in another form.
func (r *recordReader) job(line []byte) (_ *jobData, ok bool) {
	r.b, r.odd = line, !bytes.HasPrefix(line, []byte(`{"job":{"id":`))
	j := &jobData{}
	var version, unassigned uint64
	r.text(`{"job":{"id":`, &j.ID)
	r.integer(`,"version":`, &version)
	r.instant(`,"changedAt":`, &j.ChangedAt)
	r.wishes(&j.JobSpec)
	r.selectors(`,"attached":`, &j.Attached)
	name(r, `,"status":`, &j.Status)
	r.instant(`,"createdAt":`, &j.CreatedAt)
	r.integer(`,"created":`, &j.Created)
	r.instant(`,"enqueuedAt":`, &j.EnqueuedAt)
	r.integer(`,"enqueued":`, &j.Enqueued)
	r.instant(`,"waitsSince":`, &j.WaitsSince)
	name(r, `,"waitsIn":`, &j.WaitsIn)
	r.instant(`,"scheduledAt":`, &j.ScheduledAt)
	r.instant(`,"finishedAt":`, &j.FinishedAt)
	r.assignments(&j.Assignments)
	r.integer(`,"unassigned":`, &unassigned)
	r.integer(`,"round":`, &j.Round)
	r.integer(`,"tries":`, &j.Tries)
	j.Version, j.Unassigned = Version(version), int(unassigned)
	r.odd = r.odd || unassigned > 1e9
	return j, r.has("}}\n") && len(r.b) == 0
}

func (r *recordReader) wishes(s *resource.JobSpec) {
	name(r, `,"channelId":`, &s.ChannelID)
	r.text(`,"channelReference":`, &s.ChannelReference)
	name(r, `,"queueId":`, &s.QueueID)
	name(r, `,"classificationPolicyId":`, &s.ClassificationPolicyID)
	var priority uint64
	if r.integer(`,"priority":`, &priority) {
		s.Priority = new(int(priority))
		r.odd = r.odd || priority > 1e9
	}
	r.selectors(`,"requestedWorkerSelectors":`, &s.RequestedWorkerSelectors)
	r.labels(`,"labels":`, &s.Labels)
	r.labels(`,"tags":`, &s.Tags)
	name(r, `,"dispositionCode":`, &s.DispositionCode)
	if r.has(`,"matchingMode":{`) {
		name(r, `"kind":`, &s.MatchingMode.Kind)
		r.want("}")
	}
	r.instant(`,"notAfter":`, &s.NotAfter)
}

func (r *recordReader) has(text string) bool {
	if r.odd || !bytes.HasPrefix(r.b, []byte(text)) {
		return false
	}
	r.b = r.b[len(text):]
	return true
}

func (r *recordReader) want(text string) { r.odd = !r.has(text) }

// raw reads a printable ASCII text without escapes.
func (r *recordReader) raw() []byte {
	r.want(`"`)
	for i, c := range r.b {
		if c == '"' {
			raw := r.b[:i]
			r.b = r.b[i+1:]
			return raw
		}
		if c < ' ' || c > '~' || c == '\\' {
			break
		}
	}
	r.odd = true
	return nil
}

func (r *recordReader) text(key string, into *string) {
	if r.has(key) {
		*into = string(r.raw())
	}
}

// name reads a text that many jobs share, and interns it.
func name[T ~string](r *recordReader, key string, into *T) {
	if !r.has(key) {
		return
	}
	raw := r.raw()
	known, ok := r.names[string(raw)]
	if !ok {
		known = string(raw)
		if len(r.names) < namesMost {
			r.names[known] = known
		}
	}
	*into = T(known)
}

func (r *recordReader) integer(key string, into *uint64) (there bool) {
	if !r.has(key) {
		return false
	}
	n := 0
	for n < len(r.b) && r.b[n] >= '0' && r.b[n] <= '9' {
		n++
	}
	var err error
	*into, err = strconv.ParseUint(string(r.b[:n]), 10, 64)
	r.odd = r.odd || err != nil || n > 1 && r.b[0] == '0'
	r.b = r.b[n:]
	return true
}

func (r *recordReader) instant(key string, into *time.Time) {
	if r.has(key) {
		raw := r.raw()
		r.odd = r.odd || into.UnmarshalText(raw) != nil
	}
}

func (r *recordReader) value() (v label.Value) {
	if len(r.b) > 0 && r.b[0] == '"' {
		return label.Text(string(r.raw()))
	}
	end := bytes.IndexAny(r.b, ",}")
	if end < 0 {
		r.odd = true
		return v
	}
	decoded, ok := plainjson.Value(r.b[:end])
	r.b = r.b[end:]
	switch x := decoded.(type) {
	case float64:
		v = label.Number(x)
	case bool:
		v = label.Bool(x)
	default:
		ok = false
	}
	r.odd = r.odd || !ok
	return v
}

func (r *recordReader) labels(key string, into *label.Set) {
	if !r.has(key) {
		return
	}
	*into = label.Set{}
	for before := "{"; !r.odd; before = "," {
		var label string
		name(r, before, &label)
		r.want(":")
		(*into)[label] = r.value()
		if r.has("}") {
			return
		}
		if !bytes.HasPrefix(r.b, []byte(",")) {
			r.odd = true
		}
	}
}

func (r *recordReader) selectors(key string, into *[]resource.WorkerSelector) {
	r.list(key, func() {
		var s resource.WorkerSelector
		name(r, `"key":`, &s.Key)
		name(r, `,"labelOperator":`, &s.Operator)
		if r.has(`,"value":`) {
			s.Value = r.value()
		}
		s.Expedite = r.has(`,"expedite":true`)
		name(r, `,"status":`, &s.Status)
		r.instant(`,"expiresAt":`, &s.ExpiresAt)
		*into = append(*into, s)
	})
}

func (r *recordReader) assignments(into *[]*assignment) {
	r.list(`,"assignments":`, func() {
		a := &assignment{}
		var cost uint64
		r.text(`"id":`, &a.ID)
		r.text(`,"offer":`, &a.OfferID)
		name(r, `,"worker":`, &a.WorkerID)
		name(r, `,"channel":`, &a.ChannelID)
		r.integer(`,"cost":`, &cost)
		r.odd = r.odd || cost > 1e9
		a.Cost = int(cost)
		r.instant(`,"assignedAt":`, &a.AssignedAt)
		r.instant(`,"completedAt":`, &a.CompletedAt)
		r.instant(`,"closeAt":`, &a.CloseAt)
		name(r, `,"dispositionCode":`, &a.DispositionCode)
		r.instant(`,"closedAt":`, &a.ClosedAt)
		*into = append(*into, a)
	})
}

// list reads a non-empty array of objects.
func (r *recordReader) list(key string, read func()) {
	if !r.has(key) {
		return
	}
	for before := "[{"; !r.odd; before = ",{" {
		r.want(before)
		read()
		r.want("}")
		if r.has("]") {
			return
		}
	}
}
