package commit_test

import (
	"path/filepath"
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

// TestWriter_WaitsForMoreUnderLoad: after a batch of many rows the next one begins a
// millisecond after that one did, or at once if little is left of it; after a small one, at once.
func TestWriter_WaitsForMoreUnderLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows int
		took time.Duration // the first batch's COMMIT
		wait time.Duration // of the second batch
	}{
		{1, 0, 0},
		{23, 0, 0},
		{24, 0, time.Millisecond},
		{100, 0, time.Millisecond},
		{100, 300 * time.Microsecond, 700 * time.Microsecond},
		{100, 500 * time.Microsecond, 500 * time.Microsecond},
		{100, 501 * time.Microsecond, 0},
		{100, time.Millisecond, 0},
		{100, 20 * time.Millisecond, 0},
		{1, 300 * time.Microsecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, f := storetest.OpenFaulty(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"))
			id, _ := storetest.OpenChannel(t, s, "a")
			took := c.took
			f.Set(false, func() storetest.Fault {
				time.Sleep(took)
				return storetest.None
			})
			accept := func(rows int) time.Duration {
				list := make([]weir.Spec, rows)
				for i := range list {
					list[i].To = "sms://1"
				}
				begun := time.Now()
				if _, err := s.Accept(t.Context(), id, list); err != nil {
					t.Fatal(err)
				}
				return time.Since(begun)
			}
			if d := accept(c.rows); d != c.took {
				t.Fatalf("the first batch took %v, want %v", d, c.took)
			}
			took = 0
			if d := accept(1); d != c.wait {
				t.Errorf("after %d rows in %v the next batch waited for %v, want %v", c.rows, c.took, d, c.wait)
			}
		})
	}
}
