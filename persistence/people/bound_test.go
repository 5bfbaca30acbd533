package people_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	consent "weir/people"
	"weir/persistence"
	"weir/persistence/people"
	"weir/persistence/storetest"
)

// A batch reads no more of long histories than its bound: the claims of other people are undone, and come
// with a later batch, so that each batch ends in time and all claims are judged.
func TestGate_ReadsLongHistoriesAPartAtATime(t *testing.T) {
	t.Parallel()
	const persons, earlier = 4, 70
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		if err := s.OpenPeople(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		capped := func(most int) {
			t.Helper()
			p, wrong := (&consent.Purpose{Caps: []consent.Cap{{Max: most, Within: "7d"}}}).Compile()
			if len(wrong) > 0 {
				t.Fatal(wrong)
			}
			if err := s.PutPurpose(t.Context(), "p", p, document.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		capped(earlier + 1)
		channel, lease := storetest.OpenChannel(t, s, "a")
		claim := func(specs []weir.Spec) ([]weir.Accepted, weir.CommitResult) {
			t.Helper()
			list, err := s.Accept(t.Context(), channel, specs)
			if err != nil {
				t.Fatal(err)
			}
			var steps []weir.Transition
			for i := range list {
				steps = append(steps, storetest.Advance(list[i].Contact))
			}
			return list, <-storetest.Commit(s, lease, steps...)
		}
		spec := func(person, n int) weir.Spec {
			return weir.Spec{Key: fmt.Sprint(person, "-", n), To: fmt.Sprintf("+1555010%d", person), Purpose: "p", Priority: weir.Normal, Messages: []string{"x"}}
		}
		var before, after []weir.Spec
		for n := range persons * earlier {
			before = append(before, spec(n%persons, n))
		}
		if _, r := claim(before); r.Err != nil || len(r.Judged) != len(before) {
			t.Fatalf("the earlier contacts: %v, %d judged", r.Err, len(r.Judged))
		}
		for p := range persons { // whose histories are long is known from then on
			if _, r := claim([]weir.Spec{spec(p, 999)}); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		capped(2)
		people.BoundRows(s.Gate(), 3) // enough for one person
		for p := range persons {
			after = append(after, spec(p, 1000))
		}
		free, reply := spec(0, 1001), spec(1, 1002)
		free.Purpose, reply.Priority = "", weir.Reply
		list, r := claim(append(after, free, reply))
		for _, a := range list[persons:] {
			if c, _, err := s.Contact(t.Context(), a.Contact.Ref); err != nil || c.State != weir.Sending {
				t.Errorf("a contact that no history matters for: %+v (%v)", c.Progress, err)
			}
		}
		for batch := range persons {
			var waiting []weir.Transition
			delayed := 0
			for _, c := range r.Judged {
				switch {
				case c.State == weir.Delayed && c.Receipt.Rule == "cap":
					delayed++
				case c.State == weir.Queued && c.Receipt.Until.After(time.Now().Add(-time.Minute)):
					stored, _, err := s.Contact(t.Context(), c.Ref)
					if err != nil || stored.State != weir.Queued {
						t.Fatalf("a claim that is undone: %+v (%v)", stored.Progress, err)
					}
					waiting = append(waiting, storetest.Advance(stored))
				}
			}
			if want := persons - 1 - batch; r.Err != nil || delayed != 1 || len(waiting) != want {
				t.Fatalf("batch %d (%v): %d judged by the cap, %d undone, want 1 and %d", batch, r.Err, delayed, len(waiting), want)
			}
			if len(waiting) > 0 {
				r = <-storetest.Commit(s, lease, waiting...)
			}
		}
	})
}

// What a claim reads of consents does not grow with how often a person has changed their mind: a row
// for each purpose and channel, of each key.
func TestGate_ReadsAStateForEachPurpose(t *testing.T) {
	t.Parallel()
	const changes = 500
	const old, today = "tel:+5215512345678", "tel:+525512345678" // one person
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, db := storetest.OpenWithDatabase(t, url, persistence.Options{})
		purposes := []string{consent.AllPurposes, "p", consent.OverChannel("a")}
		for key := range 2 { // after a rotation both keys have states
			keys := [][]byte{[]byte("key 0"), []byte("key 1")}[:key+1]
			slices.Reverse(keys)
			if err := s.OpenPeople(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
			var list []consent.Consent
			for i := range changes {
				list = append(list, consent.Consent{
					Address: []string{old, today}[i%2], Purpose: purposes[i%len(purposes)], Status: consent.Statuses()[i/2%2], Source: consent.FromAPI, At: time.Now().Add(time.Duration(i-changes) * time.Second),
				})
			}
			if _, err := s.ImportConsents(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			var rows int
			if err := db.Pools().Read.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM consent_states").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if most := 2 * len(purposes) * len(keys); rows == 0 || rows > most {
				t.Errorf("with %d keys a person who was heard %d times has %d states, want at most %d", len(keys), changes*(key+1), rows, most)
			}
		}
	})
}
