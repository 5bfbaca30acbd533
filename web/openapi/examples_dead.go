package openapi

import (
	"weir"
	"weir/web/api"
)

// deadExamples returns the examples of dead letters and of a timeline.
func deadExamples() []any {
	contact := exampleContact()
	contact.Outcome, contact.Reason = weir.Failed, "the provider refused it: 500, ticket 1234567"
	contact.Attempts[0].Outcome, contact.Attempts[0].Reason = contact.Outcome, contact.Reason
	const reason = "the provider refused it: 500, ticket …"
	return []any{
		api.TimelineView{ID: "1-2s", Channel: "texts", Events: []api.TimelineEvent{
			{At: exampleTime(0), What: "accepted"}, {At: exampleTime(1), What: "claimed", Attempt: 1}, {At: exampleTime(1), What: "handed_over", Attempt: 1},
			{At: exampleTime(2), What: "ended", Attempt: 1, Outcome: weir.Failed, Reason: contact.Reason}, {At: exampleTime(2), What: "dead_letter", Outcome: weir.Failed, Reason: reason},
		}, NotRecorded: api.NotRecorded()},
		api.DeadList{DeadLetters: []api.DeadView{{At: exampleTime(2), Outcome: weir.Failed, Reason: reason, Contact: contact}}},
		api.DeadGroups{Groups: []api.DeadGroupView{{Channel: "texts", Outcome: weir.Failed, Reason: reason, Count: 12, Oldest: exampleTime(2), Newest: exampleTime(40)}}},
		api.DeadBody{Channel: "texts", Outcome: "failed", Reason: reason, Limit: 1000, DryRun: true},
		api.DeadDone{DryRun: true, Matching: 12, Remaining: 12},
	}
}
