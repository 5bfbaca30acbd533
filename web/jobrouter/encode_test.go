package jobrouter_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/routing"
	"weir/routing/label"
	"weir/routing/resource"
	"weir/web/jobrouter"
)

// Hand-written encoders produce exactly the output of encoding/json.
func TestEncodedViewsMatchEncodingJSON(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "q", `"`, `\`, "<&>", "é", "\u2028", "\xff", "a\nb", "\x7f"}), rapid.String())
	number := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1e-7, 1e-6, 1e20, 1e21, -1e300}), rapid.Float64Range(-1e9, 1e9))
	whole := rapid.IntRange(-3, 1<<31-1)
	value := rapid.OneOf(rapid.Map(text, label.Text), rapid.Map(number, label.Number), rapid.Map(rapid.Bool(), label.Bool), rapid.Just(label.Value{}))
	labels := rapid.Map(rapid.MapOfN(text, value, 0, 3), func(m map[string]label.Value) label.Set { return m })
	at := rapid.OneOf(rapid.Just(time.Time{}), rapid.Map(rapid.Int64Range(-1e15, 1e17), time.UnixMicro))
	selectors := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) resource.WorkerSelector {
		return resource.WorkerSelector{
			Key: text.Draw(t, "key"), Operator: label.Operator(text.Draw(t, "operator")), Value: value.Draw(t, "value"),
			ExpiresAfterSeconds: number.Draw(t, "expires"), Expedite: rapid.Bool().Draw(t, "expedite"), ExpiresAt: at.Draw(t, "at"),
		}
	}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		j := routing.Job{
			ID: text.Draw(t, "id"), Status: resource.JobStatus(text.Draw(t, "status")), EnqueuedAt: at.Draw(t, "enqueued"), ScheduledAt: at.Draw(t, "scheduled"),
			AttachedWorkerSelectors: selectors.Draw(t, "attached"), Assignments: map[string]routing.Assignment{},
			JobSpec: resource.JobSpec{
				ChannelID: text.Draw(t, "channel"), ChannelReference: text.Draw(t, "reference"), QueueID: text.Draw(t, "queue"), DispositionCode: text.Draw(t, "code"),
				ClassificationPolicyID: text.Draw(t, "policy"), Priority: new(whole.Draw(t, "priority")), RequestedWorkerSelectors: selectors.Draw(t, "requested"),
				Labels: labels.Draw(t, "labels"), Tags: labels.Draw(t, "tags"), NotAfter: at.Draw(t, "not after"),
				MatchingMode: resource.MatchingMode{Kind: resource.MatchingKind(text.Draw(t, "mode")), ScheduleAt: at.Draw(t, "schedule")},
			},
		}
		w := routing.Worker{
			ID: text.Draw(t, "worker"), State: resource.WorkerState(text.Draw(t, "state")), LoadRatio: number.Draw(t, "ratio"),
			WorkerSpec: resource.WorkerSpec{
				Queues: rapid.SliceOfN(text, 0, 3).Draw(t, "queues"), Capacity: whole.Draw(t, "capacity"), AvailableForOffers: rapid.Bool().Draw(t, "available"),
				Labels: labels.Draw(t, "labels"), MaxConcurrentOffers: whole.Draw(t, "offers"),
			},
		}
		for range rapid.IntRange(0, 2).Draw(t, "several") {
			id := text.Draw(t, "several")
			j.Assignments[id] = routing.Assignment{AssignmentID: id, WorkerID: w.ID, AssignedAt: at.Draw(t, "assigned"), CompletedAt: at.Draw(t, "completed"), ClosedAt: at.Draw(t, "closed")}
			j.Notes = append(j.Notes, resource.Note{Message: id, AddedAt: at.Draw(t, "added")})
			w.Channels = append(w.Channels, resource.Channel{ChannelID: id, CapacityCostPerJob: whole.Draw(t, "cost"), MaxNumberOfJobs: whole.Draw(t, "most")})
			w.Offers = append(w.Offers, routing.Offer{OfferID: id, JobID: j.ID, CapacityCost: 3, OfferedAt: at.Draw(t, "offered"), ExpiresAt: at.Draw(t, "expires")})
			w.AssignedJobs = append(w.AssignedJobs, routing.AssignedJob{AssignmentID: id, JobID: j.ID, CapacityCost: 3, AssignedAt: at.Draw(t, "assigned")})
		}
		for _, v := range jobrouter.HandEncodedViews(&j, &w) {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := jobrouter.AppendView(v); err != nil || string(got) != string(want) {
				t.Errorf("written as\n%s (%v); want\n%s", got, err, want)
			}
		}
	})
}
