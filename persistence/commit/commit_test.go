package commit

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
)

// TestIDsGrow whatever the clock does, and tell nodes apart.
func TestIDsGrow(t *testing.T) {
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

func TestIDsFitTheirWireForm(t *testing.T) {
	t.Parallel()
	far := time.Date(2094, 1, 1, 0, 0, 0, 0, time.UTC)
	id := newIDs(nodes - 1).next(far)
	ref := weir.Ref{Channel: 1, ID: weir.ContactID(id)}
	if got, err := weir.ParseRef(ref.String()); err != nil || got != ref || id <= 0 {
		t.Errorf("id %d is read as %v (%v)", id, got, err)
	}
}

// TestBatchesAreBounded in rows and bytes, keep the order and never mix two
// transitions of a contact that do not chain.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var queue []*Request
		for range rapid.IntRange(1, 30).Draw(r, "requests") {
			queue = append(queue, &Request{
				Rows: rapid.IntRange(0, 700).Draw(r, "rows"), Bytes: rapid.IntRange(0, MaxBytes).Draw(r, "bytes"),
			})
		}
		for rest := queue; len(rest) > 0; {
			b, n := newBatch(rest)
			rows, bytes := 0, 0
			for i, got := range b.requests {
				if got != rest[i] {
					r.Fatal("the order is lost")
				}
				rows, bytes = rows+got.Rows, bytes+got.Bytes
			}
			if n == 0 || n != len(b.requests) || n > 1 && (rows > MaxRows || bytes > MaxBytes) {
				r.Fatalf("batch of %d (%d) requests, %d rows, %d bytes", n, len(b.requests), rows, bytes)
			}
			rest = rest[n:]
		}
	})
}
