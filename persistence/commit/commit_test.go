package commit

import (
	"testing"

	"pgregory.net/rapid"

	"weir"
)

// TestWriter_BatchesAreBounded in rows and bytes, keep the order and never mix two
// transitions of a contact that do not chain. Each takes as much as fits.
func TestWriter_BatchesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var queue []*Request
		for range rapid.IntRange(1, 30).Draw(r, "requests") {
			q := &Request{Rows: 100 * rapid.IntRange(0, 7).Draw(r, "rows"), Bytes: MaxBytes / 8 * rapid.IntRange(0, 8).Draw(r, "bytes"), Alone: rapid.IntRange(0, 9).Draw(r, "alone") == 0}
			for range rapid.IntRange(0, 2).Draw(r, "transitions") {
				tr := weir.Transition{From: rapid.Int64Range(1, 2).Draw(r, "from")}
				tr.Contact.ID, tr.Contact.Rev = weir.ContactID(rapid.IntRange(1, 3).Draw(r, "contact")), tr.From+1
				q.Transitions = append(q.Transitions, tr)
			}
			queue = append(queue, q)
		}
		for rest := queue; len(rest) > 0; {
			b, n := newBatch(rest)
			for i, got := range b.requests {
				if got != rest[i] {
					r.Fatal("the order is lost")
				}
			}
			if n == 0 || n != len(b.requests) || n > 1 && !fits(b.requests) {
				r.Fatalf("batch of %d (%d) requests that do not fit", n, len(b.requests))
			}
			if n < len(rest) && fits(rest[:n+1]) {
				r.Fatalf("a batch of %d requests leaves one that fits", n)
			}
			rest = rest[n:]
		}
	})
}

// fits reports whether requests can be one batch.
func fits(list []*Request) bool {
	rows, bytes := 0, 0
	revisions := map[weir.Ref]int64{} // that the requests before leave
	for _, r := range list {
		rows, bytes = rows+r.Rows, bytes+r.Bytes
		if r.Alone && len(list) > 1 {
			return false
		}
		for i := range r.Transitions {
			if rev := revisions[r.Transitions[i].Contact.Ref]; rev != 0 && rev != r.Transitions[i].From {
				return false
			}
		}
		for i := range r.Transitions {
			revisions[r.Transitions[i].Contact.Ref] = r.Transitions[i].Contact.Rev
		}
	}
	return rows <= 1000 && bytes <= 1<<20
}
