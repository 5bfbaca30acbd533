package demo

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/client"
)

func TestBraking_IsJudgedByClaimsAndTheProvider(t *testing.T) {
	t.Parallel()
	braked := client.Braked{At: epoch(), Text: "paused itself", Touched: 10}
	var list []client.ContactView
	for i := range listed {
		c := client.ContactView{Key: fmt.Sprintf("%s-%d", listKey, i), State: "queued"}
		if i < 30 {
			c.Outcome, c.Attempts = "completed", []client.AttemptView{{ClaimedAt: epoch().Add(-time.Second)}}
		}
		list = append(list, c)
	}
	list = append(list, client.ContactView{Key: "other", Outcome: "completed", Attempts: []client.AttemptView{{ClaimedAt: epoch().Add(time.Hour)}}})
	got := brakingOf(list, braked, 30, 20)
	if want := "The channel texts paused itself, after 10 contacts. 20 contacts, in flight at that moment, went on; of the other 130 people of the list the provider has no message."; got.text != want || got.faults != nil {
		t.Errorf("%q %q", got.text, got.faults)
	}
	list[29].Attempts[0].ClaimedAt = epoch().Add(time.Second)
	list[28].Attempts = nil
	want := []string{
		"1 contact was begun after the brake had paused texts", "21 messages were sent after the brake had acted, and at most 20 were in flight",
		"of 160 people of the list 31 got a message and 130 wait",
	}
	if diff := cmp.Diff(want, brakingOf(list, braked, 31, 20).faults); diff != "" {
		t.Error(diff)
	}
}

func TestWrongList_EverySecondNumberDoesNotExist(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i, p := range wrongList(7) {
		if seen[p.phone] || len(p.phone) != 12 || (p.phone[10:] == noSuchNumber) != (i%2 == 1) {
			t.Errorf("%d: %s", i, p.phone)
		}
		seen[p.phone] = true
	}
	if len(seen) != listed {
		t.Errorf("%d people", len(seen))
	}
}
