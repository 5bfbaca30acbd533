package persistence

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
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

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	NewMetrics(r)
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("problems %v (%v)", problems, err)
	}
	n, err := testutil.GatherAndCount(r, "weir_db_transactions_total", "weir_db_errors_total", "weir_db_transaction_retries_total",
		"weir_db_transaction_duration_seconds", "weir_db_batch_changes", "weir_db_clock_skew_seconds")
	if want := 2 + len(errorCodes()) + 4; n != want || err != nil {
		t.Errorf("%d series at the start, want %d (%v)", n, want, err)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"ü\xff":                  "ü�",
		strings.Repeat("ü", 600): strings.Repeat("ü", maxText),
		strings.Repeat("ü", 400): strings.Repeat("ü", 400),
	} {
		if got := clip(in); got != want {
			t.Errorf("clip of %d bytes has %d bytes, want %d", len(in), len(got), len(want))
		}
	}
}

// TestBatchesAreBounded in rows and bytes, keep the order and never mix two
// transitions of a contact that do not chain.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var queue []*request
		for range rapid.IntRange(1, 30).Draw(r, "requests") {
			queue = append(queue, &request{
				rows: rapid.IntRange(0, 700).Draw(r, "rows"), bytes: rapid.IntRange(0, maxBytes).Draw(r, "bytes"),
			})
		}
		for rest := queue; len(rest) > 0; {
			b, n := newBatch(rest)
			rows, bytes := 0, 0
			for i, got := range b.requests {
				if got != rest[i] {
					r.Fatal("the order is lost")
				}
				rows, bytes = rows+got.rows, bytes+got.bytes
			}
			if n == 0 || n != len(b.requests) || n > 1 && (rows > maxRows || bytes > maxBytes) {
				r.Fatalf("batch of %d (%d) requests, %d rows, %d bytes", n, len(b.requests), rows, bytes)
			}
			rest = rest[n:]
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{Channel: 1, ID: 2}.String())
	f.Add(cursor{Channel: 1, State: 1, Lane: -5, Pos: 7, ID: 2}.String())
	f.Add("e30")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, filter := range []weir.ContactFilter{{}, {States: []weir.State{weir.Queued}}, {Key: "k"}} {
			c, err := parseCursor(text, &filter)
			if err != nil {
				if weir.CodeOf(err) != weir.CodeInvalid {
					t.Errorf("error %v", err)
				}
				continue
			}
			if c.String() != text {
				t.Errorf("%q reads as %q", text, c.String())
			}
		}
	})
}

func FuzzAppendText(f *testing.F) {
	f.Add("plain")
	f.Add("quote\" back\\ ü \x00 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := string(appendText(nil, text))
		if len(got) < 2 || got[0] != '"' || got[len(got)-1] != '"' || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("%q becomes %s", text, got)
		}
	})
}
