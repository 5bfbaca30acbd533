package contacts_test

import (
	"database/sql"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// underWay has the database in the middle of a batch of the writer when do begins:
// it executes statements, which are committed a moment later.
func underWay(t *testing.T, url string, do func() error, statements ...string) error {
	t.Helper()
	tx, err := storetest.OpenMySQL(t, url).BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append([]string{"UPDATE writers SET fence = fence"}, statements...) {
		if _, err := tx.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		t.Errorf("it did not wait for the batch (%v)", err)
		done <- err
	case <-time.After(300 * time.Millisecond):
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return <-done
}

// An optimistic batch accepts a contact while its channel is deleted.
func TestDeletion_LeavesNoOpenContacts(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	s := storetest.Open(t, url, persistence.Options{LeaseTTL: time.Hour})
	id, _ := storetest.OpenChannel(t, s, "one")
	err := underWay(t, url, func() error { return s.DeleteChannel(t.Context(), id) }, "UPDATE channel_counts SET queued = queued + 1")
	if weir.CodeOf(err) != weir.CodeConflict {
		t.Errorf("a channel with an open contact was deleted: %v", err)
	}
	if c, err := s.ChannelByID(t.Context(), id); err != nil || c.Deleted {
		t.Errorf("%+v (%v)", c, err)
	}
}

// The COMMIT of a claim is in doubt when its channel is loaded again: what was claimed
// is known afterwards.
func TestIncarnate_FollowsWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	s, f := storetest.OpenFaulty(t, testmysql.URL(t))
	id, lease := storetest.OpenChannel(t, s, "one")
	got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}})
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{})
	f.Set(false, func() storetest.Fault {
		f.Down, f.Lost = true, func() { close(lost) }
		return storetest.After
	})
	claimed := storetest.Commit(s, lease, storetest.Advance(got[0].Contact))
	<-lost
	again := make(chan error, 1)
	begin := func() error {
		_, err := s.Incarnate(t.Context(), id)
		return err
	}
	go func() { again <- begin() }()
	select {
	case err := <-again:
		if err == nil {
			t.Error("an incarnation began while a claim was in doubt")
		}
		again <- err
	case <-time.After(300 * time.Millisecond):
	}
	f.Set(false, func() storetest.Fault { return storetest.None })
	if r := <-claimed; r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	if err := <-again; err != nil { // the store was down
		if err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.InFlight(t.Context(), id); err != nil || len(list) != 1 {
		t.Errorf("%d in flight, want 1 (%v)", len(list), err)
	}
}
