package core_test

import (
	"slices"
	"testing"

	"weir"
	"weir/actors/core"
)

// Assertions of the scenarios.

func wantSent(t *testing.T, r *rig, want ...weir.ContactID) {
	t.Helper()
	var got []weir.ContactID
	for _, ref := range r.sent {
		got = append(got, ref.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("sent %v, want %v", got, want)
	}
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

func wantVerdict(t *testing.T, got core.Reply, want weir.Verdict) {
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
