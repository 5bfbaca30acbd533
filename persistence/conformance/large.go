package conformance

import (
	"slices"
	"testing"
	"time"

	"weir"
)

// testLargeAcceptance accepts more contacts than one statement inserts, some of them for
// the second time.
func testLargeAcceptance(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, _ := b.owned("a")
	const n = 1003
	list := specs(n + 7)
	first := b.accept(id, list[:n]...)
	again := must[[]weir.Accepted](t)(b.Accept(b.ctx(), id, list[7:]))
	for i, a := range again {
		if a.Duplicate != (i < n-7) {
			t.Fatalf("contact %d: duplicate %v", i, a.Duplicate)
		}
		if a.Duplicate {
			same(t, "the contact that is there", a.Contact, first[i+7])
		} else if a.Contact.Key != list[i+7].Key {
			t.Fatalf("contact %d has the key %q", i, a.Contact.Key)
		}
	}
	b.wantQueued(id, n+7)
}

// testInFlightOrder lists contacts in flight by the instant of their claim, whatever the
// order of their acceptance.
func testInFlightOrder(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	all := b.accept(id, specs(6)...)
	at := now()
	order := []int{3, 1, 5, 0, 2, 4} // the last two are claimed at one instant
	var want []weir.ContactID
	for n, i := range order {
		b.commitAll(lease, claim(all[i], at.Add(time.Duration(min(n, 4))*time.Second)))
		want = append(want, all[i].ID)
	}
	for _, limit := range []int{1, 4, 10} {
		f := weir.ContactFilter{Channel: id, States: []weir.State{weir.Sending}, Limit: limit}
		same(t, "oldest first", ids(b.allPages(f)), want)
		f.Newest = true
		newest := slices.Clone(want)
		slices.Reverse(newest)
		same(t, "newest first", ids(b.allPages(f)), newest)
	}
}
