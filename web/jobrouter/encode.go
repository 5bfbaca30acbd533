package jobrouter

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

// appendView writes a view exactly as encoding/json does. The views of the most
// frequent responses are encoded by hand.
func appendView(b []byte, body any) ([]byte, error) {
	switch v := body.(type) {
	case struct{}:
		return append(b, "{}"...), nil
	case acceptedView:
		w := writer{b}
		w.text(`{"assignmentId":`, v.AssignmentID)
		w.text(`,"jobId":`, v.JobID)
		w.text(`,"workerId":`, v.WorkerID)
		return append(w.b, '}'), nil
	case workerView:
		w := writer{b}
		w.worker(&v)
		return w.b, nil
	case jobView:
		w := writer{b}
		w.job(&v)
		return w.b, nil
	}
	text, err := json.Marshal(body)
	return append(b, text...), err
}

// writer appends members. A key includes the punctuation before it.
type writer struct{ b []byte }

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) text(key, s string) {
	w.b = plainjson.AppendText(append(w.b, key...), s)
}

// optional omits an empty string.
func (w *writer) optional(key, s string) {
	if s != "" {
		w.text(key, s)
	}
}

func (w *writer) integer(key string, n int) {
	w.b = strconv.AppendInt(append(w.b, key...), int64(n), 10)
}

func (w *writer) truth(key string, v bool) { w.b = strconv.AppendBool(append(w.b, key...), v) }

// number writes a number as encoding/json does.
func (w *writer) number(key string, f float64) { w.value(key, label.Number(f)) }

func (w *writer) instant(key string, t instant) {
	w.b = time.Time(t).UTC().AppendFormat(append(w.b, key...), instantForm)
}

// since omits the zero time.
func (w *writer) since(key string, t instant) {
	if !t.IsZero() {
		w.instant(key, t)
	}
}

// value writes the value of a label. An empty one is null.
func (w *writer) value(key string, v label.Value) {
	w.raw(key)
	b, ok := v.AppendJSON(w.b)
	if !ok { // a number with an exponent
		text, _ := json.Marshal(v) //nolint:errchkjson // the engine has no others
		b = append(w.b, text...)
	}
	w.b = b
}

// labels writes names in order, as encoding/json does for maps.
func (w *writer) labels(key string, l labelsView) {
	w.raw(key)
	w.raw("{")
	if len(l) > 0 {
		for i, name := range slices.Sorted(maps.Keys(l)) {
			if i > 0 {
				w.raw(",")
			}
			w.text("", name)
			w.value(":", l[name])
		}
	}
	w.raw("}")
}

// array writes an array.
func array[T any](w *writer, key string, items []T, write func(*writer, *T)) {
	w.raw(key)
	w.raw("[")
	for i := range items {
		if i > 0 {
			w.raw(",")
		}
		write(w, &items[i])
	}
	w.raw("]")
}

func (w *writer) selector(s *selectorView) {
	w.text(`{"key":`, s.Key)
	w.text(`,"labelOperator":`, s.LabelOperator)
	if !s.Value.IsZero() {
		w.value(`,"value":`, s.Value)
	}
	if s.ExpiresAfterSeconds != 0 {
		w.number(`,"expiresAfterSeconds":`, s.ExpiresAfterSeconds)
	}
	w.truth(`,"expedite":`, s.Expedite)
	w.text(`,"status":`, s.Status)
	w.since(`,"expiresAt":`, s.ExpiresAt)
	w.raw("}")
}

func (w *writer) worker(v *workerView) {
	w.text(`{"etag":`, v.Etag)
	w.text(`,"id":`, v.ID)
	w.text(`,"state":`, v.State)
	array(w, `,"queues":`, v.Queues, func(w *writer, q *string) { w.text("", *q) })
	w.integer(`,"capacity":`, v.Capacity)
	w.labels(`,"labels":`, v.Labels)
	w.labels(`,"tags":`, v.Tags)
	array(w, `,"channels":`, v.Channels, func(w *writer, c *resource.Channel) {
		w.text(`{"channelId":`, c.ChannelID)
		w.integer(`,"capacityCostPerJob":`, c.CapacityCostPerJob)
		if c.MaxNumberOfJobs != 0 {
			w.integer(`,"maxNumberOfJobs":`, c.MaxNumberOfJobs)
		}
		w.raw("}")
	})
	array(w, `,"offers":`, v.Offers, func(w *writer, o *offerView) {
		w.text(`{"offerId":`, o.OfferID)
		w.text(`,"jobId":`, o.JobID)
		w.integer(`,"capacityCost":`, o.CapacityCost)
		w.instant(`,"offeredAt":`, o.OfferedAt)
		w.instant(`,"expiresAt":`, o.ExpiresAt)
		w.raw("}")
	})
	array(w, `,"assignedJobs":`, v.AssignedJobs, func(w *writer, a *assignedView) {
		w.text(`{"assignmentId":`, a.AssignmentID)
		w.text(`,"jobId":`, a.JobID)
		w.integer(`,"capacityCost":`, a.CapacityCost)
		w.instant(`,"assignedAt":`, a.AssignedAt)
		w.raw("}")
	})
	w.number(`,"loadRatio":`, v.LoadRatio)
	w.truth(`,"availableForOffers":`, v.AvailableForOffers)
	if v.MaxConcurrentOffers != 0 {
		w.integer(`,"maxConcurrentOffers":`, v.MaxConcurrentOffers)
	}
	w.raw("}")
}

func (w *writer) job(v *jobView) {
	w.text(`{"etag":`, v.Etag)
	w.text(`,"id":`, v.ID)
	w.optional(`,"channelReference":`, v.ChannelReference)
	w.text(`,"status":`, v.Status)
	w.since(`,"enqueuedAt":`, v.EnqueuedAt)
	w.text(`,"channelId":`, v.ChannelID)
	w.optional(`,"classificationPolicyId":`, v.ClassificationPolicyID)
	w.optional(`,"queueId":`, v.QueueID)
	w.integer(`,"priority":`, v.Priority)
	w.optional(`,"dispositionCode":`, v.DispositionCode)
	array(w, `,"requestedWorkerSelectors":`, v.RequestedWorkerSelectors, (*writer).selector)
	array(w, `,"attachedWorkerSelectors":`, v.AttachedWorkerSelectors, (*writer).selector)
	w.labels(`,"labels":`, v.Labels)
	w.assignments(v.Assignments)
	w.labels(`,"tags":`, v.Tags)
	array(w, `,"notes":`, v.Notes, func(w *writer, n *noteView) {
		w.text(`{"message":`, n.Message)
		w.instant(`,"addedAt":`, n.AddedAt)
		w.raw("}")
	})
	w.since(`,"scheduledAt":`, v.ScheduledAt)
	w.text(`,"matchingMode":{"kind":`, v.MatchingMode.Kind)
	w.since(`,"scheduleAt":`, v.MatchingMode.ScheduleAt)
	w.raw("}")
	w.since(`,"notAfter":`, v.NotAfter)
	w.raw("}")
}

func (w *writer) assignments(m map[string]assignmentView) {
	w.raw(`,"assignments":{`)
	if len(m) > 0 {
		for i, id := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				w.raw(",")
			}
			a := m[id]
			w.text("", id)
			w.text(`:{"assignmentId":`, a.AssignmentID)
			w.text(`,"workerId":`, a.WorkerID)
			w.instant(`,"assignedAt":`, a.AssignedAt)
			w.since(`,"completedAt":`, a.CompletedAt)
			w.since(`,"closedAt":`, a.ClosedAt)
			w.raw("}")
		}
	}
	w.raw("}")
}
