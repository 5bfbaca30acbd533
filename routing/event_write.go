package routing

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/plainjson"
	"weir/routing/label"
	"weir/routing/resource"
)

// appendEvent appends the JSON form of an event, identical to that of
// encoding/json. The events of every job's life are written by hand because
// they dominate the journal; encoding/json writes the rest.
func appendEvent(b []byte, e Event) ([]byte, error) {
	w := eventWriter{b: b}
	switch e := e.(type) {
	case *JobReceivedEvent:
		w.job(&e.JobHead)
		w.spec(&e.Spec)
		w.text(`,"status":`, string(e.Status))
	case *JobQueuedEvent:
		w.job(&e.JobHead)
		w.integer(`,"priority":`, e.Priority)
		w.selectors(`,"requestedWorkerSelectors":`, e.Requested)
		w.selectors(`,"attachedWorkerSelectors":`, e.Attached)
	case *OfferIssuedEvent:
		w.offer(&e.OfferHead, &e.OfferData)
		w.integer(`,"capacityCost":`, e.Cost)
		w.instant(`,"expiresOn":`, e.ExpiresAt)
	case *OfferAcceptedEvent:
		w.offer(&e.OfferHead, &e.OfferData)
		w.text(`,"assignmentId":`, e.AssignmentID)
	case *JobCompletedEvent:
		w.job(&e.JobHead)
		w.text(`,"assignmentId":`, e.AssignmentID)
		w.text(`,"workerId":`, e.WorkerID)
		w.optional(`,"note":`, e.Note)
	case *JobClosedEvent:
		w.job(&e.JobHead)
		w.text(`,"assignmentId":`, e.AssignmentID)
		w.text(`,"workerId":`, e.WorkerID)
		w.optional(`,"dispositionCode":`, e.DispositionCode)
		w.optional(`,"note":`, e.Note)
	default:
		w.odd = true
	}
	if w.odd {
		text, err := json.Marshal(e)
		return append(b, text...), err
	}
	return append(w.b, '}'), nil
}

// eventWriter writes JSON members; a key includes the punctuation before it.
// odd is set when a value needs encoding/json instead.
type eventWriter struct {
	b   []byte
	odd bool
}

func (w *eventWriter) text(key, s string) {
	w.b = plainjson.AppendText(append(w.b, key...), s)
}

func (w *eventWriter) optional(key, s string) {
	if s != "" {
		w.text(key, s)
	}
}

func (w *eventWriter) integer(key string, n int) {
	w.b = strconv.AppendInt(append(w.b, key...), int64(n), 10)
}

func (w *eventWriter) instant(key string, t time.Time) {
	year := t.Year()
	_, offset := t.Zone()
	w.odd = w.odd || offset != 0 || year < 0 || year > 9999
	w.b = t.UTC().AppendFormat(append(append(w.b, key...), '"'), time.RFC3339Nano+`"`)
}

func (w *eventWriter) head(h *Header) {
	w.b = strconv.AppendUint(append(w.b, `{"seq":`...), h.Seq, 10)
	w.instant(`,"at":`, h.At)
}

func (w *eventWriter) job(h *JobHead) {
	w.head(&h.Header)
	w.text(`,"jobId":`, h.JobID)
	w.optional(`,"channelReference":`, h.ChannelReference)
	w.text(`,"channelId":`, h.ChannelID)
	w.optional(`,"queueId":`, h.QueueID)
	w.labels(`,"labels":`, h.Labels)
	w.labels(`,"tags":`, h.Tags)
}

func (w *eventWriter) spec(s *resource.JobSpec) {
	w.b = append(w.b, `,"spec":{`...)
	w.wishes(`"channelId":`, s)
	w.b = append(w.b, '}')
}

// wishes writes the members of a job specification; key is the full key of the
// first.
func (w *eventWriter) wishes(key string, s *resource.JobSpec) {
	w.text(key, s.ChannelID)
	w.optional(`,"channelReference":`, s.ChannelReference)
	w.optional(`,"queueId":`, s.QueueID)
	w.optional(`,"classificationPolicyId":`, s.ClassificationPolicyID)
	if s.Priority != nil {
		w.integer(`,"priority":`, *s.Priority)
	}
	w.selectors(`,"requestedWorkerSelectors":`, s.RequestedWorkerSelectors)
	w.labels(`,"labels":`, s.Labels)
	w.labels(`,"tags":`, s.Tags)
	w.odd = w.odd || len(s.Notes) > 0 || !s.MatchingMode.ScheduleAt.IsZero()
	w.optional(`,"dispositionCode":`, s.DispositionCode)
	if s.MatchingMode.Kind != "" {
		w.text(`,"matchingMode":{"kind":`, string(s.MatchingMode.Kind))
		w.b = append(w.b, '}')
	}
	w.some(`,"notAfter":`, s.NotAfter)
}

// some writes a time and omits the zero time.
func (w *eventWriter) some(key string, t time.Time) {
	if !t.IsZero() {
		w.instant(key, t)
	}
}

func (w *eventWriter) number64(key string, n uint64) {
	w.b = strconv.AppendUint(append(w.b, key...), n, 10)
}

func (w *eventWriter) offer(h *OfferHead, d *OfferData) {
	w.head(&h.Header)
	w.text(`,"workerId":`, h.WorkerID)
	w.text(`,"jobId":`, h.JobID)
	w.optional(`,"channelReference":`, h.ChannelReference)
	w.text(`,"channelId":`, h.ChannelID)
	w.text(`,"queueId":`, h.QueueID)
	w.text(`,"offerId":`, h.OfferID)
	w.integer(`,"jobPriority":`, d.JobPriority)
	w.labels(`,"jobLabels":`, d.JobLabels)
	w.labels(`,"jobTags":`, d.JobTags)
	w.labels(`,"workerLabels":`, d.WorkerLabels)
	w.labels(`,"workerTags":`, d.WorkerTags)
}

func (w *eventWriter) labels(key string, l label.Set) {
	if len(l) == 0 {
		return
	}
	w.b = append(append(w.b, key...), '{')
	for i, name := range slices.Sorted(maps.Keys(l)) {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text("", name)
		w.value(":", l[name])
	}
	w.b = append(w.b, '}')
}

func (w *eventWriter) value(key string, v label.Value) {
	var ok bool
	w.b, ok = v.AppendJSON(append(w.b, key...))
	w.odd = w.odd || !ok
}

func (w *eventWriter) number(key string, f float64) {
	w.value(key, label.Number(f))
}

func (w *eventWriter) selectors(key string, list []resource.WorkerSelector) {
	if len(list) == 0 {
		return
	}
	w.b = append(append(w.b, key...), '[')
	for i := range list {
		s := &list[i]
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text(`{"key":`, s.Key)
		w.text(`,"labelOperator":`, string(s.Operator))
		if !s.Value.IsZero() {
			w.value(`,"value":`, s.Value)
		}
		if s.ExpiresAfterSeconds != 0 {
			w.number(`,"expiresAfterSeconds":`, s.ExpiresAfterSeconds)
		}
		if s.Expedite {
			w.b = append(w.b, `,"expedite":true`...)
		}
		w.optional(`,"status":`, string(s.Status))
		w.some(`,"expiresAt":`, s.ExpiresAt)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}
