package contacts_test

import (
	"fmt"
	"slices"
	"testing"

	"weir"
	"weir/actors/contacts"
)

// Assertions of the scenarios.

func wantSent(t *testing.T, r *rig, want ...weir.ContactID) {
	t.Helper()
	var got []weir.ContactID
	for _, ref := range r.sent {
		got = append(got, ref.ID)
	}
	if slices.Equal(got, want) {
		return
	}
	for _, id := range got {
		if n, wanted := count(got, id), count(want, id); n > max(1, wanted) {
			t.Fatalf("contact %d is dispatched %d times, want %d; the dispatches were %s", id, n, wanted, few(got))
		}
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Fatalf("contact %d is not dispatched; the dispatches were %s, want %s", id, few(got), few(want))
		}
	}
	t.Fatalf("dispatched %s, want %s", few(got), few(want))
}

func count(list []weir.ContactID, id weir.ContactID) int {
	n := 0
	for _, other := range list {
		if other == id {
			n++
		}
	}
	return n
}

// few shows the beginning of a long list.
func few(list []weir.ContactID) string {
	if len(list) > 20 {
		return fmt.Sprintf("%v and %d more", list[:20], len(list)-20)
	}
	return fmt.Sprint(list)
}

func wantCounts(t *testing.T, r *rig, sent, inUse int) {
	t.Helper()
	if len(r.sent) != sent || r.prov.inUse() != inUse {
		t.Fatalf("%d sent and %d slots in use at the provider, want %d and %d", len(r.sent), r.prov.inUse(), sent, inUse)
	}
}

func wantDone(t *testing.T, r *rig, id weir.ContactID, o weir.Outcome) {
	t.Helper()
	if c := r.store[id]; c.State != weir.Done || c.Outcome != o {
		t.Fatalf("contact %d is %v %q (%s), want done %q", id, c.State, c.Outcome, c.Reason, o)
	}
}

func wantVerdict(t *testing.T, got contacts.Reply, want weir.Verdict) {
	t.Helper()
	if got.Verdict != want || got.Err != nil {
		t.Fatalf("verdict %q, error %v; want %q", got.Verdict, got.Err, want)
	}
}

func wantState(t *testing.T, r *rig, id weir.ContactID, want weir.State) {
	t.Helper()
	if c := r.store[id]; c.State != want {
		t.Fatalf("contact %d is %v %q (%s), want %v", id, c.State, c.Outcome, c.Reason, want)
	}
}
