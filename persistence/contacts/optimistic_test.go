package contacts_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/persistence"
	"weir/persistence/contacts"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// Whoever takes the database waits for the batch that the former owner is writing, and no
// batch of the former owner is committed afterwards.
func TestOptimisticBatch_IsFencedOffByANewOwner(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	s := storetest.Open(t, url, persistence.Options{LeaseTTL: time.Hour})
	id, lease := storetest.OpenChannel(t, s, "one")
	got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}, {To: "sms://2"}})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := storetest.OpenMySQL(t, url).BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	// As an optimistic batch does.
	if _, err := tx.ExecContext(t.Context(), "UPDATE writers SET fence = fence"); err != nil {
		t.Fatal(err)
	}
	storetest.Free(t, url)
	next := storetest.OpenOnly(t, url, persistence.Options{LeaseTTL: time.Hour})
	taken := make(chan error, 1)
	go func() { taken <- next.Join(t.Context()) }()
	select {
	case err := <-taken:
		t.Errorf("the database changed its owner while a batch was written (%v)", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if r := <-storetest.Commit(s, lease, storetest.Advance(got[0].Contact)); !errors.Is(r.Err, weir.ErrSuperseded) {
		t.Errorf("a change of the former owner: %+v", r)
	}
	if c, _, err := next.Contact(t.Context(), got[0].Contact.Ref); err != nil || c.State != weir.Queued {
		t.Errorf("%v (%v)", c.State, err)
	}
}

// A batch that assumed what is not so any more is written with a look at the database.
func TestOptimisticBatch_LooksAgainIfItAssumedWrong(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{LeaseTTL: time.Hour})
		id, lease := storetest.OpenChannel(t, s, "one")
		accept := func(key string) (weir.Accepted, error) {
			got, err := s.Accept(t.Context(), id, []weir.Spec{{Key: key, To: "sms://1"}})
			if err != nil {
				return weir.Accepted{}, err
			}
			return got[0], nil
		}
		first, err := accept("k")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := accept("k"); err != nil || !again.Duplicate || again.Contact.ID != first.Contact.ID {
			t.Errorf("a key that is taken: %+v, %v", again, err)
		}
		second, err := accept("l")
		if err != nil {
			t.Fatal(err)
		}
		claimed := advanceTo(t, s, lease, first.Contact, func(p weir.Progress) (weir.Progress, error) { return p.Claim(time.Now()) })
		stale, good := storetest.Advance(first.Contact), storetest.Advance(second.Contact)
		good.Contact.Progress = contacts.Kept(good.Contact.Progress)
		r := <-storetest.Commit(s, lease, stale, good)
		if d := cmp.Diff([]weir.ContactID{first.Contact.ID}, r.Stale); d != "" || r.Err != nil {
			t.Errorf("a contact was claimed twice (%v):\n%s", r.Err, d)
		}
		sameInFlight(t, s, id, []weir.Contact{claimed, good.Contact})

		c, err := s.ChannelByID(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		c.Deleting = true
		if _, err := s.UpdateChannel(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, err := accept("m"); weir.CodeOf(err) != weir.CodeConflict {
			t.Errorf("a channel that is being deleted accepted a contact: %v", err)
		}
		if n, err := s.QueuedCount(t.Context(), id); err != nil || n != 0 {
			t.Errorf("%d queued, want 0 (%v)", n, err)
		}
	})
}

// A batch whose COMMIT broke can't be committed once more, should the server still have
// it: the fence is another one then.
func TestOptimisticBatch_IsNotCommittedLate(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "one")
		fence := func() (n int64) {
			if err := f.Pools().Read.QueryRowContext(t.Context(), "SELECT fence FROM writers").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		accepted := int64(0)
		for _, broken := range []struct {
			commit storetest.Fault
			raised int64
		}{{storetest.None, 0}, {storetest.None, 0}, {storetest.After, 1}, {storetest.Before, 1}, {storetest.None, 0}, {storetest.Before, 1}} {
			was := fence()
			todo := []storetest.Fault{broken.commit}
			f.Set(false, func() storetest.Fault {
				next := append(todo, storetest.None)[0]
				todo = nil
				return next
			})
			if _, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}}); err != nil {
				t.Fatal(err)
			}
			accepted++
			if raised := fence() - was; raised != broken.raised {
				t.Errorf("COMMIT breaks (%d): the fence is raised by %d, want %d", broken.commit, raised, broken.raised)
			}
		}
		if n, err := s.QueuedCount(t.Context(), id); err != nil || n != accepted {
			t.Errorf("%d queued, want %d (%v)", n, accepted, err)
		}
		if r := <-storetest.Commit(s, lease); r.Err != nil {
			t.Error(r.Err)
		}
	})
}
