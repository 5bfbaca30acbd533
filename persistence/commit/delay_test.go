package commit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/persistence/storetest"
)

// TestWriter_DelaysChangesWithoutAWaitingCaller: that a provider has taken a contact is written
// with what comes next, or a few milliseconds later; everything else at once.
func TestWriter_DelaysChangesWithoutAWaitingCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, lease := storetest.OpenChannel(t, s, "a")
		begun := time.Now()
		var list []weir.Contact
		for range 4 {
			got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}})
			if err != nil {
				t.Fatal(err)
			}
			c := got[0].Contact
			claim := weir.Transition{From: c.Rev, Was: c.State}
			if c.Progress, err = c.Claim(time.Now()); err != nil {
				t.Fatal(err)
			}
			claim.Contact = c
			<-storetest.Commit(s, lease, claim)
			list = append(list, c)
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("acceptances and claims waited for %v", d)
		}
		taken := func(c weir.Contact) <-chan weir.CommitResult {
			tr := weir.Transition{From: c.Rev, Was: c.State}
			var err error
			if c.Progress, err = c.Progress.Accept(time.Now(), "ref"); err != nil {
				t.Fatal(err)
			}
			tr.Contact = c
			return storetest.Commit(s, lease, tr)
		}
		first := taken(list[0])
		time.Sleep(2 * time.Millisecond)
		begun = time.Now()
		if _, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://2"}}); err != nil {
			t.Fatal(err)
		}
		if r := <-first; r.Err != nil || time.Since(begun) != 0 {
			t.Errorf("it waited for %v (%v) though something came", time.Since(begun), r.Err)
		}
		if r := <-taken(list[1]); r.Err != nil || time.Since(begun) != 5*time.Millisecond {
			t.Errorf("it waited for %v (%v) alone", time.Since(begun), r.Err)
		}
		begun = time.Now()
		first = taken(list[2])
		time.Sleep(3 * time.Millisecond)
		second := taken(list[3])
		for _, ch := range []<-chan weir.CommitResult{first, second} {
			if r := <-ch; r.Err != nil || time.Since(begun) != 5*time.Millisecond {
				t.Errorf("one of two waited until %v (%v) after the first", time.Since(begun), r.Err)
			}
		}
	})
}

// TestWriter_WaitsForMoreUnderLoad: after a batch of many rows the writer waits a
// millisecond for more, after a small one not at all.
func TestWriter_WaitsForMoreUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		for _, c := range []struct {
			rows int
			wait time.Duration
		}{{1, 0}, {100, time.Millisecond}, {1, 0}} {
			for _, batch := range [][]weir.Spec{make([]weir.Spec, c.rows), make([]weir.Spec, 1)} {
				for i := range batch {
					batch[i].To = "sms://1"
				}
				begun, want := time.Now(), time.Duration(0)
				if _, err := s.Accept(t.Context(), id, batch); err != nil {
					t.Fatal(err)
				}
				if len(batch) == 1 {
					want = c.wait
				}
				if d := time.Since(begun); d != want {
					t.Errorf("after %d rows the next batch waited for %v, want %v", c.rows, d, want)
				}
			}
		}
	})
}
