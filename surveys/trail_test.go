package surveys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
)

// The trail has each change of a disposition once, beginning with the first contact, and begins anew
// with each respondent.
func TestTrail_HasEachChangeOnce(t *testing.T) {
	t.Parallel()
	log := []surveys.LogEntry{
		{Respondent: 1, Event: "enqueued", Mode: surveys.SMS},
		{Respondent: 1, Event: "handed_over", Mode: surveys.SMS},
		{Respondent: 1, Event: "enqueued", Mode: surveys.IVR}, // a further attempt
		{Respondent: 1, Event: "answered", Mode: surveys.IVR},
		{Respondent: 1, Event: "disposition", From: surveys.Queued, To: surveys.Contacted},
		{Respondent: 1, Event: "enqueued", Mode: surveys.IVR},
		{Respondent: 1, Event: "message"},
		{Respondent: 1, Event: "disposition", From: surveys.Contacted, To: surveys.Complete},
		{Respondent: 1, Event: "finished", From: surveys.Contacted, To: surveys.Complete},
		{Respondent: 1, Event: "ended", Mode: surveys.IVR},
		{Respondent: 2, Event: "finished", From: surveys.Registered, To: surveys.Registered}, // canceled before its turn
		{Respondent: 3, Event: "disposition", From: surveys.Registered, To: surveys.Refused},
		{Respondent: 4, Event: "enqueued", Mode: surveys.CATI},
	}
	type change struct {
		Who  surveys.RespondentID
		Is   surveys.Disposition
		Mode surveys.Mode
	}
	var all, shown surveys.Trail
	var got, filtered []change
	for i := range log {
		if all.Next(&log[i]) {
			got = append(got, change{all.Respondent, all.Disposition, all.Mode})
		}
		if log[i].Shows() && shown.Next(&log[i]) {
			filtered = append(filtered, change{shown.Respondent, shown.Disposition, shown.Mode})
		}
	}
	want := []change{
		{1, surveys.Queued, surveys.SMS}, {1, surveys.Contacted, surveys.IVR}, {1, surveys.Complete, surveys.IVR},
		{3, surveys.Refused, ""}, {4, surveys.Queued, surveys.CATI},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, filtered); d != "" {
		t.Errorf("without the entries that show nothing: %s", d)
	}
}
