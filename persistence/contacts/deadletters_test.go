package contacts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
)

// deadLetters makes n dead letters.
func deadLetters(t *testing.T, s *persistence.Store, id weir.ChannelID, lease weir.Incarnation, n int) []weir.Ref {
	t.Helper()
	got, err := s.Accept(t.Context(), id, storetest.ContactSpecs(0, n))
	if err != nil {
		t.Fatal(err)
	}
	refs := make([]weir.Ref, n)
	for i := range got {
		refs[i] = got[i].Contact.Ref
		claimed := storetest.Advance(got[i].Contact)
		p, err := claimed.Contact.Finish(time.Now(), weir.Lost, "")
		if err != nil {
			t.Fatal(err)
		}
		end := weir.Transition{Contact: claimed.Contact, From: claimed.Contact.Rev, Was: claimed.Contact.State}
		end.Contact.Progress = p
		for _, tr := range []weir.Transition{claimed, end} {
			if r := <-storetest.Commit(s, lease, tr); r.Err != nil || len(r.Stale) > 0 {
				t.Fatalf("commit: %+v", r)
			}
		}
	}
	return refs
}

func idsOf(refs []weir.Ref) []weir.ContactID {
	list := make([]weir.ContactID, len(refs))
	for i, r := range refs {
		list[i] = r.ID
	}
	return list
}

// copies counts the contacts that were made of each dead letter, and wants none
// but these waiting.
func copies(t *testing.T, s *persistence.Store, id weir.ChannelID) map[weir.Ref]int {
	t.Helper()
	made := map[weir.Ref]int{}
	list, next, err := s.Contacts(t.Context(), weir.ContactFilter{Channel: id, States: []weir.State{weir.Queued}, Limit: 1000})
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	for i := range list {
		old, ok := operators.ParseRequeueKey(list[i].Key)
		if !ok {
			t.Errorf("contact %s waits with the key %q", list[i].Ref, list[i].Key)
		}
		made[old]++
	}
	if n, err := s.QueuedCount(t.Context(), id); n != int64(len(list)) || err != nil {
		t.Errorf("%d wait and %d are counted (%v)", len(list), n, err)
	}
	return made
}

// TestDeadLetters_BrokenRequeueMakesOneContactEach breaks two of three COMMITs while four clients queue the same
// dead letters again: one contact is made of each, and each is reported once.
func TestDeadLetters_BrokenRequeueMakesOneContactEach(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "a")
		refs := deadLetters(t, s, id, lease, 24)
		n := 0
		f.BreakAll(func() storetest.Fault { n++; return storetest.Fault(n % 3) })
		var mu sync.Mutex
		told := map[weir.ContactID]int{}
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				for from := range 4 { // six at a time, each caller from another place on
					at := (caller + from) % 4 * 6
					err := storetest.WhenUp(t.Context(), func() error {
						made, err := s.Requeue(t.Context(), id, idsOf(refs[at:at+6]), "me")
						mu.Lock()
						defer mu.Unlock()
						for i := range made.Contacts {
							told[made.Contacts[i].ID]++
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		f.BreakAll(func() storetest.Fault { return storetest.None })
		made := copies(t, s, id)
		for _, ref := range refs {
			after, err := s.History(t.Context(), ref)
			if err != nil || after.Dead != nil || made[ref] != 1 || told[after.RequeuedAs.ID] != 1 {
				t.Errorf("%s became %d contacts; %+v (%v)", ref, made[ref], after, err)
			}
		}
		if len(made) != len(refs) || len(told) != len(refs) {
			t.Errorf("of %d dead letters %d contacts were made, and %d told", len(refs), len(made), len(told))
		}
		if n < 6 {
			t.Errorf("%d COMMITs are too few to break", n)
		}
	})
}

// TestDeadLetters_EndOnceIfDiscardedAndRequeued discards and queues again at once, over connections that
// break: what was queued again is out of the reach of discarding, and the other
// way round.
func TestDeadLetters_EndOnceIfDiscardedAndRequeued(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "a")
		refs := deadLetters(t, s, id, lease, 24)
		n := 0
		f.BreakAll(func() storetest.Fault { n++; return storetest.Fault(n % 3) })
		discarded := 0
		var both sync.WaitGroup
		both.Go(func() {
			for i := range refs {
				err := storetest.WhenUp(t.Context(), func() error {
					n, err := s.Discard(t.Context(), id, idsOf(refs[i:i+1]))
					discarded += n
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		both.Go(func() {
			for i := range refs {
				back := len(refs) - i
				if err := storetest.WhenUp(t.Context(), func() error {
					_, err := s.Requeue(t.Context(), id, idsOf(refs[back-1:back]), "me")
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
		both.Wait()
		f.BreakAll(func() storetest.Fault { return storetest.None })
		made := copies(t, s, id)
		for _, ref := range refs {
			after, err := s.History(t.Context(), ref)
			want := 1
			if after.RequeuedAt.IsZero() {
				want = 0
			}
			if err != nil || after.Dead != nil || made[ref] != want {
				t.Errorf("%s became %d contacts; %+v (%v)", ref, made[ref], after, err)
			}
		}
		if discarded > len(refs)-len(made) {
			t.Errorf("%d were discarded and %d queued again, of %d", discarded, len(made), len(refs))
		}
	})
}

// TestDeadLetters_AreCountedInTheMetrics follows the gauge of a channel: some, fewer, none.
func TestDeadLetters_AreCountedInTheMetrics(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		registry := prometheus.NewRegistry()
		s := storetest.Open(t, url, persistence.Options{Metrics: persistence.NewMetrics(registry)})
		shown := func() map[string]float64 {
			t.Helper()
			if err := s.GaugeDead(t.Context()); err != nil {
				t.Fatal(err)
			}
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			out := map[string]float64{}
			for _, f := range families {
				if f.GetName() == "weir_dead_letters_contacts" {
					for _, m := range f.GetMetric() {
						out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
					}
				}
			}
			return out
		}
		want := func(when string, counts map[string]float64) {
			t.Helper()
			if d := cmp.Diff(counts, shown()); d != "" {
				t.Errorf("%s (-want +got):\n%s", when, d)
			}
		}
		want("at first", map[string]float64{})
		a, leaseA := storetest.OpenChannel(t, s, "a")
		b, leaseB := storetest.OpenChannel(t, s, "b")
		refs, _ := deadLetters(t, s, a, leaseA, 3), deadLetters(t, s, b, leaseB, 1)
		want("after some", map[string]float64{"a": 3, "b": 1})
		if _, err := s.Discard(t.Context(), a, idsOf(refs[:1])); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteChannel(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		want("after a discard, and a deletion", map[string]float64{"a": 2, "b": 1})
		if _, err := s.Requeue(t.Context(), a, idsOf(refs), ""); err != nil {
			t.Fatal(err)
		}
		want("after they were queued again", map[string]float64{"b": 1})
	})
}

// TestMinutes_BrokenWriteCountsNothingTwice breaks the second of three transactions: what is tried again
// is the part that was not written, and nothing is counted twice.
func TestMinutes_BrokenWriteCountsNothingTwice(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, _ := storetest.OpenChannel(t, s, "a")
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		list := make([]operators.Minute, 500)
		for i := range list {
			list[len(list)-1-i] = operators.Minute{Channel: id, At: begin.Add(time.Duration(i) * time.Minute), Counts: [operators.Counters]int64{1}}
		}
		n := 0
		f.BreakAll(func() storetest.Fault {
			if n++; n == 2 {
				return storetest.Before
			}
			return storetest.None
		})
		rest, err := s.AddMinutes(t.Context(), list)
		if weir.CodeOf(err) != weir.CodeUnavailable || len(rest) != 300 {
			t.Fatalf("%d minutes are left (%v)", len(rest), err)
		}
		if rest, err = s.AddMinutes(t.Context(), rest); err != nil || len(rest) != 0 {
			t.Fatalf("%d minutes are left (%v)", len(rest), err)
		}
		got, _, err := s.Minutes(t.Context(), id, begin, begin.Add(24*time.Hour))
		if err != nil || len(got) != len(list) {
			t.Fatalf("%d minutes, want %d (%v)", len(got), len(list), err)
		}
		for i := range got {
			if got[i].Counts[0] != 1 {
				t.Errorf("minute %d was counted %d times", i, got[i].Counts[0])
			}
		}
	})
}
