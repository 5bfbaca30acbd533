package commit

import (
	"testing"

	"pgregory.net/rapid"
)

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
