package router_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/actors/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// told returns subject and data of each event of the API.
func told() map[string]struct {
	event   journal.Event
	subject string
	data    string
} {
	at := time.Date(2026, 3, 1, 9, 0, 0, 500_000, time.UTC)
	later := at.Add(time.Minute)
	head := journal.JobHead{
		Header: journal.Header{Seq: 7, At: at}, JobID: "j", ChannelID: "voice", ChannelReference: `a "b"`, QueueID: "q",
		Labels: label.Set{"z": label.Number(1.5), "a": label.Text("é<"), "b": label.Bool(true)}, Tags: label.Set{"t": label.Text("1")},
	}
	bare := journal.JobHead{Header: journal.Header{Seq: 8, At: at}, JobID: "j", ChannelID: "voice"}
	offer := journal.OfferHead{Header: head.Header, WorkerID: "w", JobID: "j", ChannelReference: "r", ChannelID: "voice", QueueID: "q", OfferID: "o-7"}
	pair := journal.OfferData{JobPriority: 3, JobLabels: label.Set{"a": label.Number(1e300)}, WorkerLabels: label.Set{"Id": label.Text("w")}}
	requested := []resource.WorkerSelector{{Key: "lang", Operator: label.Equal, Value: label.Text("es"), Status: resource.SelectorActive}}
	attached := []resource.WorkerSelector{{Key: "n", Operator: label.GreaterOrEqual, Value: label.Number(5), ExpiresAfterSeconds: 60, Status: resource.SelectorExpired, ExpiresAt: later}}
	info := journal.WorkerInfo{
		TotalCapacity: 9, Queues: []journal.QueueInfo{{ID: "q", Name: "Q", Labels: label.Set{"Id": label.Text("q")}}},
		Channels: []resource.Channel{{ChannelID: "voice", CapacityCostPerJob: 2, MaxNumberOfJobs: 3}, {ChannelID: "chat", CapacityCostPerJob: 1}},
		Labels:   label.Set{"Id": label.Text("w")},
	}
	const (
		job      = `"jobId":"j","channelReference":"a \"b\"","channelId":"voice","queueId":"q","labels":{"a":"é<","b":true,"z":1.5},"tags":{"t":"1"}`
		naked    = `"jobId":"j","channelReference":"","channelId":"voice","labels":{},"tags":{}`
		offered  = `"workerId":"w","jobId":"j","channelReference":"r","channelId":"voice","queueId":"q","offerId":"o-7"`
		pairText = `"jobPriority":3,"jobLabels":{"a":1e300},"jobTags":{},"workerLabels":{"Id":"w"},"workerTags":{}`
		want     = `{"key":"lang","labelOperator":"Equal","value":"es","state":"Active"}`
		attach   = `{"key":"n","labelOperator":"GreaterThanOrEqual","value":5,"ttlSeconds":60,"state":"Expired","expirationTime":"2026-03-01T09:01:00.0005Z"}`
		wants    = `"requestedWorkerSelectors":[` + want + `],"attachedWorkerSelectors":[` + attach + `]`
		schedule = `"scheduledTimeUtc":"2026-03-01T09:01:00.0005Z","scheduledOn":"2026-03-01T09:01:00.0005Z"`
		assigned = `"assignmentId":"a-9","workerId":"w"`
		person   = `"workerId":"w","totalCapacity":9,"queueAssignments":[{"id":"q","name":"Q","labels":{"Id":"q"}}],` +
			`"channelConfigurations":[{"channelId":"voice","capacityCostPerJob":2,"maxNumberOfJobs":3},{"channelId":"chat","capacityCostPerJob":1}],` +
			`"labels":{"Id":"w"},"tags":{}`
		queue = `{"id":"q2","name":"Two","labels":{}}`
	)
	type row = struct {
		event   journal.Event
		subject string
		data    string
	}
	return map[string]row{
		"received": {&journal.JobReceivedEvent{JobHead: head, Status: resource.JobPendingSchedule, Spec: resource.JobSpec{
			ClassificationPolicyID: "c", Priority: new(-4), RequestedWorkerSelectors: requested,
			MatchingMode: resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: later}, NotAfter: later,
		}}, "job/j/channel/voice", job + `,"jobStatus":"PendingSchedule","classificationPolicyId":"c","priority":-4,"requestedWorkerSelectors":[` + want + `],` + schedule + `,"notAfter":"2026-03-01T09:01:00.0005Z","unavailableForMatching":true`},
		"received bare": {&journal.JobReceivedEvent{JobHead: bare, Status: resource.JobCreated}, "job/j/channel/voice",
			naked + `,"jobStatus":"Created","requestedWorkerSelectors":[],"unavailableForMatching":false`},
		"classified": {&journal.JobClassifiedEvent{JobHead: head, ClassificationPolicyID: "c", Priority: 2, Attached: attached, Queue: journal.QueueInfo{ID: "q2", Name: "Two"}},
			"job/j/channel/voice/queue/q", job + `,"classificationPolicyId":"c","priority":2,"attachedWorkerSelectors":[` + attach + `],"queueInfo":` + queue + `,"queueDetails":` + queue},
		"classification failed": {&journal.JobClassificationFailedEvent{JobHead: head, ClassificationPolicyID: "c", Errors: []journal.Failure{{Code: "C", Message: "m", Target: "t"}}},
			"job/j/channel/voice/classificationpolicy/c", job + `,"classificationPolicyId":"c","errors":[{"code":"C","message":"m","target":"t","innererror":null,"details":[]}]`},
		"queued": {&journal.JobQueuedEvent{JobHead: head, Priority: 1, Requested: requested, Attached: attached}, "job/j/channel/voice/queue/q", job + `,"priority":1,` + wants},
		"exception": {&journal.JobExceptionTriggeredEvent{JobHead: head, RuleID: "late"}, "job/j/channel/voice/exceptionrule/late",
			job + `,"ruleKey":"late","exceptionRuleId":"late"`},
		"selectors expired": {&journal.JobWorkerSelectorsExpiredEvent{JobHead: head, Requested: requested, Attached: attached}, "job/j/channel/voice/queue/q",
			job + `,"requestedWorkerSelectorsExpired":[` + want + `],"expiredRequestedWorkerSelectors":[` + want + `],"attachedWorkerSelectorsExpired":[` + attach + `],"expiredAttachedWorkerSelectors":[` + attach + `]`},
		"unassigned": {&journal.JobUnassignedEvent{JobHead: head, AssignmentID: "a-9", WorkerID: "w"}, "job/j/channel/voice/assignment/a-9", job + `,` + assigned},
		"completed":  {&journal.JobCompletedEvent{JobHead: head, AssignmentID: "a-9", WorkerID: "w", Note: "n"}, "job/j/channel/voice/assignment/a-9", job + `,` + assigned},
		"closed":     {&journal.JobClosedEvent{JobHead: head, AssignmentID: "a-9", WorkerID: "w", DispositionCode: "Good"}, "job/j/channel/voice/assignment/a-9", job + `,` + assigned + `,"dispositionCode":"Good"`},
		"cancelled":  {&journal.JobCancelledEvent{JobHead: head, Note: "n", DispositionCode: "Cancelled"}, "job/j/channel/voice/disposition/Cancelled", job + `,"note":"n","dispositionCode":"Cancelled"`},
		"waiting for activation": {&journal.JobWaitingForActivationEvent{JobHead: head, Priority: 1, Requested: requested, Attached: attached, ScheduledAt: later}, "job/j/channel/voice",
			job + `,"priority":1,` + wants + `,` + schedule + `,"unavailableForMatching":true`},
		"scheduling failed": {&journal.JobSchedulingFailedEvent{JobHead: head, Priority: 1, Requested: requested, Attached: attached, ScheduledAt: later, FailureReason: "Expired Job"}, "job/j/channel/voice",
			job + `,"priority":1,` + wants + `,` + schedule + `,"failureReason":"Expired Job"`},
		"deleted": {&journal.JobDeletedEvent{JobHead: bare}, "job/j/channel/voice", naked},
		"offer issued": {&journal.OfferIssuedEvent{OfferHead: offer, OfferData: pair, Cost: 2, ExpiresAt: later}, "worker/w/job/j", offered +
			`,"offerTimeUtc":"2026-03-01T09:00:00.0005Z","offeredOn":"2026-03-01T09:00:00.0005Z","expiryTimeUtc":"2026-03-01T09:01:00.0005Z","expiresOn":"2026-03-01T09:01:00.0005Z",` + pairText},
		"offer accepted":      {&journal.OfferAcceptedEvent{OfferHead: offer, OfferData: pair, AssignmentID: "a-9"}, "worker/w/job/j", offered + `,"assignmentId":"a-9",` + pairText},
		"offer declined":      {&journal.OfferDeclinedEvent{OfferHead: offer, RetryAt: later}, "worker/w/job/j", offered},
		"offer revoked":       {&journal.OfferRevokedEvent{OfferHead: offer, Taken: true}, "worker/w/job/j", offered},
		"offer expired":       {&journal.OfferExpiredEvent{OfferHead: offer}, "worker/w/job/j", offered},
		"worker registered":   {&journal.WorkerRegisteredEvent{Header: head.Header, WorkerID: "w", WorkerInfo: info}, "worker/w", person},
		"worker updated":      {&journal.WorkerUpdatedEvent{Header: head.Header, WorkerID: "w", WorkerInfo: info, Updated: []string{"Labels", "Tags"}}, "worker/w", person + `,"updatedWorkerProperties":["Labels","Tags"]`},
		"worker deregistered": {&journal.WorkerDeregisteredEvent{Header: head.Header, WorkerID: "w"}, "worker/w", `"workerId":"w"`},
		"worker deleted":      {&journal.WorkerDeletedEvent{Header: head.Header, WorkerID: "w", WorkerInfo: info}, "worker/w", person},
	}
}

func TestAnnounce_MakesAnEventOfEachKind(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for name, row := range told() {
		kinds[row.event.Kind()] = true
		got, err := router.Announce(row.event)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var gotData, wantData any
		if err := json.Unmarshal(got.Data, &gotData); err != nil {
			t.Errorf("%s: %v in %s", name, err, got.Data)
		}
		if err := json.Unmarshal([]byte("{"+row.data+"}"), &wantData); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(wantData, gotData); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Type != "Microsoft.Communication."+row.event.Kind() || got.Subject != row.subject || got.Source != "router" || !got.At.Equal(row.event.Head().At) {
			t.Errorf("%s: type %s, subject %s, source %s, time %v", name, got.Type, got.Subject, got.Source, got.At)
		}
	}
	for _, e := range journal.Examples() {
		if _, err := router.Announce(e); (err == nil) != journal.Public(e) {
			t.Errorf("an event of kind %s: %v", e.Kind(), err)
		}
		if journal.Public(e) && !kinds[e.Kind()] {
			t.Errorf("events of kind %s are not in the table; it has %s", e.Kind(), strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		}
	}
}
