package journal_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// Events written by hand are identical to the output of encoding/json.
func TestAppend_EqualsEncodingJSON(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "q", `"`, `\`, "<&>", "é", "\u2028", "\xff", "a\nb", "\x7f"}), rapid.String())
	number := rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 0.5, 1e-7, 1e-6, 1e20, 1e21, -1e300, math.NaN(), math.Inf(1)}), rapid.Float64Range(-1e9, 1e9))
	whole := rapid.IntRange(-300, 1<<40)
	value := rapid.OneOf(rapid.Map(text, label.Text), rapid.Map(number, label.Number), rapid.Map(rapid.Bool(), label.Bool), rapid.Just(label.Value{}))
	labels := rapid.Map(rapid.MapOfN(text, value, 0, 3), func(m map[string]label.Value) label.Set { return m })
	at := rapid.OneOf(
		rapid.SampledFrom([]time.Time{{}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 120, time.FixedZone("", 3600))}),
		rapid.Map(rapid.Int64Range(-1e15, 1e17), func(n int64) time.Time { return time.UnixMicro(n).UTC() }))
	selectors := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) resource.WorkerSelector {
		return resource.WorkerSelector{
			Key: text.Draw(t, "key"), Operator: label.Operator(text.Draw(t, "operator")), Value: value.Draw(t, "value"), Status: resource.SelectorStatus(text.Draw(t, "status")),
			ExpiresAfterSeconds: number.Draw(t, "expires"), Expedite: rapid.Bool().Draw(t, "expedite"), ExpiresAt: at.Draw(t, "at"),
		}
	}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		header := journal.Header{Seq: rapid.Uint64().Draw(t, "seq"), At: at.Draw(t, "at")}
		job := journal.JobHead{
			Header: header, JobID: text.Draw(t, "job"), ChannelReference: text.Draw(t, "reference"), ChannelID: text.Draw(t, "channel"),
			QueueID: text.Draw(t, "queue"), Labels: labels.Draw(t, "labels"), Tags: labels.Draw(t, "tags"),
		}
		offer := journal.OfferHead{
			Header: header, WorkerID: text.Draw(t, "worker"), JobID: job.JobID, ChannelReference: job.ChannelReference, ChannelID: job.ChannelID,
			QueueID: job.QueueID, OfferID: text.Draw(t, "offer"),
		}
		data := journal.OfferData{
			JobPriority: whole.Draw(t, "priority"), JobLabels: job.Labels, JobTags: job.Tags, WorkerLabels: labels.Draw(t, "labels"), WorkerTags: labels.Draw(t, "tags"),
		}
		note, code := text.Draw(t, "note"), text.Draw(t, "code")
		spec := resource.JobSpec{
			ChannelID: note, ChannelReference: code, QueueID: job.QueueID, ClassificationPolicyID: code, RequestedWorkerSelectors: selectors.Draw(t, "wanted"),
			Labels: job.Labels, Tags: job.Tags, DispositionCode: code, NotAfter: at.Draw(t, "not after"),
			MatchingMode: resource.MatchingMode{Kind: resource.MatchingKind(text.Draw(t, "mode")), ScheduleAt: at.Draw(t, "schedule")},
		}
		if rapid.Bool().Draw(t, "more") {
			spec.Priority, spec.Notes = new(whole.Draw(t, "priority")), []resource.Note{{Message: note}}
		}
		if rapid.Bool().Draw(t, "urgent") {
			spec.Priority, spec.Notes, spec.MatchingMode.ScheduleAt = new(whole.Draw(t, "priority")), nil, time.Time{}
		}
		for _, e := range []journal.Event{
			&journal.JobQueuedEvent{JobHead: job, Priority: data.JobPriority, Requested: selectors.Draw(t, "requested"), Attached: selectors.Draw(t, "attached")},
			&journal.OfferIssuedEvent{OfferHead: offer, OfferData: data, Cost: whole.Draw(t, "cost"), ExpiresAt: at.Draw(t, "expires")},
			&journal.OfferAcceptedEvent{OfferHead: offer, OfferData: data, AssignmentID: note},
			&journal.JobCompletedEvent{JobHead: job, AssignmentID: code, WorkerID: offer.WorkerID, Note: note},
			&journal.JobClosedEvent{JobHead: job, AssignmentID: code, WorkerID: offer.WorkerID, Note: note, DispositionCode: code},
			&journal.JobReceivedEvent{JobHead: job, Spec: spec, Status: resource.JobStatus(code)},
			&journal.JobUpdatedEvent{JobHead: job, Spec: spec},
		} {
			want, wantErr := json.Marshal(e)
			got, err := journal.Append(nil, e)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%s: %v; want %v", e.Kind(), err, wantErr)
			}
			if err == nil && string(got) != e.Kind()+" "+string(want)+"\n" {
				t.Errorf("written as\n%s; want\n%s", got, want)
			}
		}
	})
}
