package codec

import (
	"bytes"
	"strconv"
	"time"

	"weir/router/label"
	"weir/router/resource"
)

// maxNames bounds the names that a Reader interns.
const maxNames = 1000

// Reader reads what a [Writer] wrote, member by member in the same order.
type Reader struct {
	Buf     []byte            // what is left to read
	Unusual bool              // the text has another form; encoding/json must decode it
	names   map[string]string // interned
}

// NewReader returns a Reader. It can read one text after another, by setting Buf.
func NewReader() *Reader { return &Reader{names: map[string]string{}} }

// Has reads an exact text and reports whether it was there.
func (r *Reader) Has(text string) bool {
	if r.Unusual || !bytes.HasPrefix(r.Buf, []byte(text)) {
		return false
	}
	r.Buf = r.Buf[len(text):]
	return true
}

// Expect reads an exact text; without it the form is unusual.
func (r *Reader) Expect(text string) { r.Unusual = !r.Has(text) }

// raw reads a printable ASCII text without escapes.
func (r *Reader) raw() []byte {
	r.Expect(`"`)
	for i, c := range r.Buf {
		if c == '"' {
			raw := r.Buf[:i]
			r.Buf = r.Buf[i+1:]
			return raw
		}
		if c < ' ' || c > '~' || c == '\\' {
			break
		}
	}
	r.Unusual = true
	return nil
}

// Text reads a text, if the key is there.
func (r *Reader) Text(key string, into *string) {
	if r.Has(key) {
		*into = string(r.raw())
	}
}

// Name reads a text that many jobs share, and interns it.
func Name[T ~string](r *Reader, key string, into *T) {
	if !r.Has(key) {
		return
	}
	raw := r.raw()
	known, ok := r.names[string(raw)]
	if !ok {
		known = string(raw)
		// Clients choose these names; if they never repeat, interning them only costs memory.
		if len(r.names) < maxNames {
			r.names[known] = known
		}
	}
	*into = T(known)
}

// Uint reads an unsigned integer and reports whether the key is there.
func (r *Reader) Uint(key string, into *uint64) (there bool) {
	if !r.Has(key) {
		return false
	}
	n := 0
	for n < len(r.Buf) && r.Buf[n] >= '0' && r.Buf[n] <= '9' {
		n++
	}
	var err error
	*into, err = strconv.ParseUint(string(r.Buf[:n]), 10, 64)
	r.Unusual = r.Unusual || err != nil || n > 1 && r.Buf[0] == '0'
	r.Buf = r.Buf[n:]
	return true
}

// Time reads an instant, if the key is there.
func (r *Reader) Time(key string, into *time.Time) {
	if r.Has(key) {
		raw := r.raw()
		r.Unusual = r.Unusual || into.UnmarshalText(raw) != nil
	}
}

// Value reads the value of a label.
func (r *Reader) Value() (v label.Value) {
	if len(r.Buf) > 0 && r.Buf[0] == '"' {
		return label.Text(string(r.raw()))
	}
	// Numbers and truth values contain neither.
	end := bytes.IndexAny(r.Buf, ",}")
	if end < 0 {
		r.Unusual = true
		return v
	}
	err := v.UnmarshalJSON(r.Buf[:end])
	r.Buf = r.Buf[end:]
	r.Unusual = r.Unusual || err != nil || v == label.Value{}
	return v
}

// Labels reads labels, if the key is there.
func (r *Reader) Labels(key string, into *label.Set) {
	if !r.Has(key) {
		return
	}
	*into = label.Set{}
	for before := "{"; !r.Unusual; before = "," {
		var label string
		Name(r, before, &label)
		r.Expect(":")
		(*into)[label] = r.Value()
		if r.Has("}") {
			return
		}
		if !bytes.HasPrefix(r.Buf, []byte(",")) {
			r.Unusual = true
		}
	}
}

// Selectors reads worker selectors, if the key is there.
func (r *Reader) Selectors(key string, into *[]resource.WorkerSelector) {
	r.List(key, func() {
		var s resource.WorkerSelector
		Name(r, `"key":`, &s.Key)
		Name(r, `,"labelOperator":`, &s.Operator)
		if r.Has(`,"value":`) {
			s.Value = r.Value()
		}
		s.Expedite = r.Has(`,"expedite":true`)
		Name(r, `,"status":`, &s.Status)
		r.Time(`,"expiresAt":`, &s.ExpiresAt)
		*into = append(*into, s)
	})
}

// List reads a non-empty array of objects.
func (r *Reader) List(key string, read func()) {
	if !r.Has(key) {
		return
	}
	for before := "[{"; !r.Unusual; before = ",{" {
		r.Expect(before)
		read()
		r.Expect("}")
		if r.Has("]") {
			return
		}
	}
}

// JobSpec reads the members of a job specification.
func (r *Reader) JobSpec(s *resource.JobSpec) {
	Name(r, `,"channelId":`, &s.ChannelID)
	r.Text(`,"channelReference":`, &s.ChannelReference)
	Name(r, `,"queueId":`, &s.QueueID)
	Name(r, `,"classificationPolicyId":`, &s.ClassificationPolicyID)
	var priority uint64
	if r.Uint(`,"priority":`, &priority) {
		s.Priority = new(int(priority))
		r.Unusual = r.Unusual || priority > 1e9
	}
	r.Selectors(`,"requestedWorkerSelectors":`, &s.RequestedWorkerSelectors)
	r.Labels(`,"labels":`, &s.Labels)
	r.Labels(`,"tags":`, &s.Tags)
	Name(r, `,"dispositionCode":`, &s.DispositionCode)
	if r.Has(`,"matchingMode":{`) {
		Name(r, `"kind":`, &s.MatchingMode.Kind)
		r.Expect("}")
	}
	r.Time(`,"notAfter":`, &s.NotAfter)
}
