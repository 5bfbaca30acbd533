package queue_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"weir"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/queue"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// underWay has the database in the middle of a batch of the owner "a" when do begins:
// it executes statements, which are committed a moment later.
func underWay(t *testing.T, url string, do func() error, statements ...string) error {
	t.Helper()
	tx, err := storetest.OpenMySQL(t, url).BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append([]string{"UPDATE writers SET batch = 77 WHERE owner = 'a'"}, statements...) {
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
func TestADeletedChannelHasNoOpenContacts(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	s := openAs(t, url, "a")
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
func TestALeaseIsTakenAfterWhatIsInDoubt(t *testing.T) {
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
	acquire := func() error {
		_, ok, err := s.Acquire(t.Context(), id)
		if err == nil && !ok {
			t.Error("the lease is not free")
		}
		return err
	}
	go func() { again <- acquire() }()
	select {
	case err := <-again:
		if err == nil {
			t.Error("the lease was taken while a claim was in doubt")
		}
		again <- err
	case <-time.After(300 * time.Millisecond):
	}
	f.Set(false, func() storetest.Fault { return storetest.None })
	if r := <-claimed; r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	if err := <-again; err != nil { // the store was down
		if err := acquire(); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.InFlight(t.Context(), id); err != nil || len(list) != 1 {
		t.Errorf("%d in flight, want 1 (%v)", len(list), err)
	}
}

// Several processes took over the same contacts, and each learns at the same time that
// the others have them, too: they stay in the log of one.
func TestCopiesOfARecordDoNotReplaceEachOther(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	a, b := openAs(t, url, "a"), openAs(t, url, "b")
	id, lease := storetest.OpenChannel(t, a, "one")
	list := inEveryState(t, a, id, lease)
	release := func(s *persistence.Store) {
		t.Helper()
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	acquire := func(s *persistence.Store) {
		t.Helper()
		var ok bool
		var err error
		if lease, ok, err = s.Acquire(t.Context(), id); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	release(a)
	acquire(b)
	release(b) // the channel is free, and both logs have its contacts
	for _, s := range []*persistence.Store{a, b} {
		if err := s.ForgetElsewhere(t.Context()); err != nil {
			t.Fatal(err)
		}
		if known := s.Known(id); known != 2 {
			t.Errorf("%s knows %d contacts in flight, want 2", s.Owner(), known)
		}
	}
	acquire(a)
	sameInFlight(t, a, id, list[1:3])
	advanceTo(t, a, lease, list[1], func(p weir.Progress) (weir.Progress, error) { return p.Accept(time.Now(), "ref") })
	advanceTo(t, a, lease, list[2], func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Completed, "") })
	if err := b.ForgetElsewhere(t.Context()); err != nil {
		t.Fatal(err)
	}
	if known := b.Known(id); known != 0 {
		t.Errorf("b knows %d contacts, which changed since", known)
	}
	if known := a.Known(id); known != 1 {
		t.Errorf("a knows %d contacts in flight, want 1", known)
	}
}

// What was read of the log of a process that is gone is out of date when it is taken
// over: the channel has been taken, and its contacts have gone on.
func TestATakeOverDoesNotGoBack(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := openAs(t, url, "a")
		id, lease := storetest.OpenChannel(t, s, "one")
		list := inEveryState(t, s, id, lease)
		old := append([]weir.Contact(nil), list...)
		list[1] = advanceTo(t, s, lease, list[1], func(p weir.Progress) (weir.Progress, error) { return p.Accept(time.Now(), "ref") })
		list[2] = advanceTo(t, s, lease, list[2], func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Completed, "") })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.TakeOver(ctx, old...); err != nil {
			t.Fatal(err)
		}
		sameContacts(t, s, list)
		sameInFlight(t, s, id, list[1:2])
		if known := s.Known(id); known != 1 {
			t.Errorf("%d contacts in flight are known, want 1", known)
		}
		// Twice in one batch, and with a transition.
		holding, release := make(chan struct{}), make(chan struct{})
		s.Commit(weir.Change{By: lease}, func(weir.CommitResult) { // on the writer's goroutine
			close(holding)
			<-release
		})
		<-holding
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- s.TakeOver(ctx, list[1]) }()
		}
		tr := weir.Transition{From: list[1].Rev, Was: list[1].State, Contact: list[1]}
		var err error
		if tr.Contact.Progress, err = list[1].Finish(time.Now(), weir.Completed, ""); err != nil {
			t.Fatal(err)
		}
		finished := storetest.Commit(s, lease, tr)
		polling.Until(time.Minute, time.Millisecond, func() bool { return s.Waiting() == 3 })
		close(release)
		if r := <-finished; r.Err != nil || len(r.Stale) > 0 {
			t.Fatalf("%+v", r)
		}
		list[1].Progress = queue.Kept(tr.Contact.Progress)
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if known := s.Known(id); known != 0 {
			t.Errorf("%d contacts in flight are known, want none", known)
		}
		sameContacts(t, s, list)
	})
}
