package codec

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/plainjson"
	"weir/router/label"
	"weir/router/resource"
)

// Writer writes JSON members as encoding/json does; a key includes the punctuation
// before it.
type Writer struct {
	Buf     []byte
	Unusual bool // a value needs encoding/json instead
}

// Text writes a text.
func (w *Writer) Text(key, s string) {
	w.Buf = plainjson.AppendText(append(w.Buf, key...), s)
}

// OptionalText writes a text and omits the empty one.
func (w *Writer) OptionalText(key, s string) {
	if s != "" {
		w.Text(key, s)
	}
}

// Int writes an integer.
func (w *Writer) Int(key string, n int) {
	w.Buf = strconv.AppendInt(append(w.Buf, key...), int64(n), 10)
}

// Uint writes an unsigned integer.
func (w *Writer) Uint(key string, n uint64) {
	w.Buf = strconv.AppendUint(append(w.Buf, key...), n, 10)
}

// Time writes an instant in UTC.
func (w *Writer) Time(key string, t time.Time) {
	year := t.Year()
	_, offset := t.Zone()
	// encoding/json writes the offset of a zone and refuses such a year.
	w.Unusual = w.Unusual || offset != 0 || year < 0 || year > 9999
	w.Buf = t.UTC().AppendFormat(append(append(w.Buf, key...), '"'), time.RFC3339Nano+`"`)
}

// OptionalTime writes an instant and omits the zero time.
func (w *Writer) OptionalTime(key string, t time.Time) {
	if !t.IsZero() {
		w.Time(key, t)
	}
}

// Value writes the value of a label.
func (w *Writer) Value(key string, v label.Value) {
	var ok bool
	w.Buf, ok = v.AppendJSON(append(w.Buf, key...))
	w.Unusual = w.Unusual || !ok
}

// Labels writes labels sorted by name and omits an empty set.
func (w *Writer) Labels(key string, l label.Set) {
	if len(l) == 0 {
		return
	}
	w.Buf = append(append(w.Buf, key...), '{')
	for i, name := range slices.Sorted(maps.Keys(l)) {
		if i > 0 {
			w.Buf = append(w.Buf, ',')
		}
		w.Text("", name)
		w.Value(":", l[name])
	}
	w.Buf = append(w.Buf, '}')
}

// Selectors writes worker selectors and omits an empty list.
func (w *Writer) Selectors(key string, list []resource.WorkerSelector) {
	if len(list) == 0 {
		return
	}
	w.Buf = append(append(w.Buf, key...), '[')
	for i := range list {
		s := &list[i]
		if i > 0 {
			w.Buf = append(w.Buf, ',')
		}
		w.Text(`{"key":`, s.Key)
		w.Text(`,"labelOperator":`, string(s.Operator))
		if !s.Value.IsZero() {
			w.Value(`,"value":`, s.Value)
		}
		if s.ExpiresAfterSeconds != 0 {
			w.Value(`,"expiresAfterSeconds":`, label.Number(s.ExpiresAfterSeconds))
		}
		if s.Expedite {
			w.Buf = append(w.Buf, `,"expedite":true`...)
		}
		w.OptionalText(`,"status":`, string(s.Status))
		w.OptionalTime(`,"expiresAt":`, s.ExpiresAt)
		w.Buf = append(w.Buf, '}')
	}
	w.Buf = append(w.Buf, ']')
}

// JobSpec writes the members of a job specification; key is the full key of the
// first.
func (w *Writer) JobSpec(key string, s *resource.JobSpec) {
	w.Text(key, s.ChannelID)
	w.OptionalText(`,"channelReference":`, s.ChannelReference)
	w.OptionalText(`,"queueId":`, s.QueueID)
	w.OptionalText(`,"classificationPolicyId":`, s.ClassificationPolicyID)
	if s.Priority != nil {
		w.Int(`,"priority":`, *s.Priority)
	}
	w.Selectors(`,"requestedWorkerSelectors":`, s.RequestedWorkerSelectors)
	w.Labels(`,"labels":`, s.Labels)
	w.Labels(`,"tags":`, s.Tags)
	w.Unusual = w.Unusual || len(s.Notes) > 0 || !s.MatchingMode.ScheduleAt.IsZero()
	w.OptionalText(`,"dispositionCode":`, s.DispositionCode)
	if s.MatchingMode.Kind != "" {
		w.Text(`,"matchingMode":{"kind":`, string(s.MatchingMode.Kind))
		w.Buf = append(w.Buf, '}')
	}
	w.OptionalTime(`,"notAfter":`, s.NotAfter)
}

// OptionalUint writes an unsigned integer and omits zero.
func (w *Writer) OptionalUint(key string, n uint64) {
	if n != 0 {
		w.Uint(key, n)
	}
}
