package journal

import (
	"encoding/json"

	"weir/router/internal/codec"
)

// appendEvent appends the JSON form of an event, identical to that of
// encoding/json. The events of every job's life are written by hand because
// they dominate the log; encoding/json writes the rest.
func appendEvent(b []byte, e Event) ([]byte, error) {
	w := &codec.Writer{Buf: b}
	switch e := e.(type) {
	case *JobReceivedEvent:
		writeJobHead(w, &e.JobHead)
		w.JobSpec(`,"spec":{"channelId":`, &e.Spec)
		w.Buf = append(w.Buf, '}')
		w.Text(`,"status":`, string(e.Status))
	case *JobQueuedEvent:
		writeJobHead(w, &e.JobHead)
		w.Int(`,"priority":`, e.Priority)
		w.Selectors(`,"requestedWorkerSelectors":`, e.Requested)
		w.Selectors(`,"attachedWorkerSelectors":`, e.Attached)
	case *OfferIssuedEvent:
		writeOffer(w, &e.OfferHead, &e.OfferData)
		w.Int(`,"capacityCost":`, e.Cost)
		w.Time(`,"expiresOn":`, e.ExpiresAt)
	case *OfferAcceptedEvent:
		writeOffer(w, &e.OfferHead, &e.OfferData)
		w.Text(`,"assignmentId":`, e.AssignmentID)
	case *JobCompletedEvent:
		writeJobHead(w, &e.JobHead)
		w.Text(`,"assignmentId":`, e.AssignmentID)
		w.Text(`,"workerId":`, e.WorkerID)
		w.OptionalText(`,"note":`, e.Note)
	case *JobClosedEvent:
		writeJobHead(w, &e.JobHead)
		w.Text(`,"assignmentId":`, e.AssignmentID)
		w.Text(`,"workerId":`, e.WorkerID)
		w.OptionalText(`,"dispositionCode":`, e.DispositionCode)
		w.OptionalText(`,"note":`, e.Note)
	default:
		w.Unusual = true
	}
	if w.Unusual {
		// Appended to b, not to w.Buf: what was written by hand so far is dropped.
		text, err := json.Marshal(e)
		return append(b, text...), err
	}
	return append(w.Buf, '}'), nil
}

func writeHeader(w *codec.Writer, h *Header) {
	w.Uint(`{"seq":`, h.Seq)
	w.Time(`,"at":`, h.At)
}

func writeJobHead(w *codec.Writer, h *JobHead) {
	writeHeader(w, &h.Header)
	w.Text(`,"jobId":`, h.JobID)
	w.OptionalText(`,"channelReference":`, h.ChannelReference)
	w.Text(`,"channelId":`, h.ChannelID)
	w.OptionalText(`,"queueId":`, h.QueueID)
	w.Labels(`,"labels":`, h.Labels)
	w.Labels(`,"tags":`, h.Tags)
}

func writeOffer(w *codec.Writer, h *OfferHead, d *OfferData) {
	writeHeader(w, &h.Header)
	w.Text(`,"workerId":`, h.WorkerID)
	w.Text(`,"jobId":`, h.JobID)
	w.OptionalText(`,"channelReference":`, h.ChannelReference)
	w.Text(`,"channelId":`, h.ChannelID)
	w.Text(`,"queueId":`, h.QueueID)
	w.Text(`,"offerId":`, h.OfferID)
	w.Int(`,"jobPriority":`, d.JobPriority)
	w.Labels(`,"jobLabels":`, d.JobLabels)
	w.Labels(`,"jobTags":`, d.JobTags)
	w.Labels(`,"workerLabels":`, d.WorkerLabels)
	w.Labels(`,"workerTags":`, d.WorkerTags)
}
