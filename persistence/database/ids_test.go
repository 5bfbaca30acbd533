package database

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
)

// TestIDs_GrowWhateverTheClockDoes whatever the clock does, and tell nodes apart.
func TestIDs_GrowWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := newIDs(1), newIDs(2)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		seen := map[int64]bool{}
		var last int64
		for range rapid.IntRange(1, 50).Draw(r, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(r, "ms")) * time.Millisecond)
			for range rapid.SampledFrom([]int{1, 3, 5000}).Draw(r, "ids") {
				id := a.next(now)
				if id <= last {
					r.Fatalf("id %d after %d", id, last)
				}
				last = id
			}
			seen[last] = true
			if seen[b.next(now)] {
				r.Fatal("two nodes gave one id")
			}
		}
	})
}

func TestIDs_FitTheirWireForm(t *testing.T) {
	t.Parallel()
	far := time.Date(2094, 1, 1, 0, 0, 0, 0, time.UTC)
	id := newIDs(nodes - 1).next(far)
	ref := weir.Ref{Channel: 1, ID: weir.ContactID(id)}
	if got, err := weir.ParseRef(ref.String()); err != nil || got != ref || id <= 0 {
		t.Errorf("id %d is read as %v (%v)", id, got, err)
	}
}
