package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/client"
)

func TestCourtesy_CountsByRule(t *testing.T) {
	t.Parallel()
	list := []client.ContactView{
		{ID: "1-1", Outcome: "completed"},
		{ID: "1-2", Outcome: "suppressed", Rule: "consent"},
		{ID: "1-3", Outcome: "suppressed", Rule: "consent", Survey: followUp},
		{ID: "1-4", State: "delayed", Rule: "cap"},
		{ID: "1-5", State: "delayed", Rule: "cap"},
		{ID: "1-6", State: "queued"},
	}
	got := courtesyOf(list, 1, 2)
	want := []ruled{{"consent", "contacts suppressed", 2}, {"cap", "contacts wait, canceled at the end", 2}}
	if diff := cmp.Diff(want, got.rules); diff != "" || got.faults != nil {
		t.Errorf("%q\n%s", got.faults, diff)
	}
	wrong := courtesyOf(list, 2, 3)
	if diff := cmp.Diff([]string{"1 of 2 direct contacts to people who had refused were suppressed", "2 of 3 reminders over the cap wait"}, wrong.faults); diff != "" {
		t.Error(diff)
	}
}

func TestOutage_ComesBeforeTheUsualFaults(t *testing.T) {
	t.Parallel()
	o := outage{down: true, slow: true, lostUntil: epoch().Add(reportsLost)}
	if diff := cmp.Diff([]string{"status=503", "late=3s@send", "drop@ack", "drop@ack:0.1"}, o.rules([]string{"drop@ack:0.1"}, "drop@ack", epoch())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"drop@ack:0.1"}, outage{lostUntil: epoch()}.rules([]string{"drop@ack:0.1"}, "drop@ack", epoch())); diff != "" {
		t.Error(diff)
	}
}
