package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// inDoubt loses the answer to the next COMMIT and keeps the database away, until well is called.
func inDoubt(f *storetest.Faulty) (lost <-chan struct{}, well func()) {
	done := make(chan struct{})
	f.Set(false, func() storetest.Fault {
		f.Down, f.Lost = true, func() { close(done) }
		return storetest.After
	})
	return done, func() { f.Set(false, func() storetest.Fault { return storetest.None }) }
}

// The COMMIT of an acceptance is in doubt when its channel is deleted: the contact that was
// accepted is known by then.
func TestDeletion_LeavesNoOpenContacts(t *testing.T) {
	t.Parallel()
	s, f := storetest.OpenFaulty(t, testmysql.URL(t))
	id, _ := storetest.OpenChannel(t, s, "one")
	lost, well := inDoubt(f)
	accepted := make(chan error, 1)
	go func() {
		_, err := s.Accept(t.Context(), id, []weir.Spec{{To: "sms://1"}})
		accepted <- err
	}()
	<-lost
	deleted := make(chan error, 1)
	go func() {
		deleted <- storetest.WhenUp(t.Context(), func() error { return s.DeleteChannel(t.Context(), id) })
	}()
	select {
	case err := <-deleted:
		t.Errorf("it did not wait for the batch (%v)", err)
		deleted <- err
	case <-time.After(300 * time.Millisecond):
	}
	well()
	if err := <-accepted; err != nil && weir.CodeOf(err) != weir.CodeUnavailable { // the store was down for long
		t.Error(err)
	}
	if err := <-deleted; weir.CodeOf(err) != weir.CodeConflict {
		t.Errorf("a channel with an open contact was deleted: %v", err)
	}
	if c, err := s.ChannelByID(t.Context(), id); err != nil || c.Deleted {
		t.Errorf("%+v (%v)", c, err)
	}
}

// The next owner counts what waits, and goes on counting.
func TestWaiting_IsCountedByTheNextOwner(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		ids := map[string]weir.ChannelID{}
		for name, specs := range map[string][]weir.Spec{
			"both": {{To: "1"}, {To: "2", Priority: weir.High}, {To: "3", NotBefore: time.Now().Add(time.Hour)}},
			"done": {{To: "1"}},
			"none": nil,
		} {
			id, lease := storetest.OpenChannel(t, s, name)
			if ids[name] = id; specs == nil {
				continue
			}
			got, err := s.Accept(t.Context(), id, specs)
			if err != nil {
				t.Fatal(err)
			}
			if name == "done" {
				advanceTo(t, s, lease, got[0].Contact, func(p weir.Progress) (weir.Progress, error) { return p.Finish(time.Now(), weir.Canceled, "") })
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := storetest.Open(t, url, persistence.Options{})
		expect := func(want map[string]int64) {
			t.Helper()
			for name, id := range ids {
				if n, err := next.QueuedCount(t.Context(), id); err != nil || n != want[name] {
					t.Errorf("%s: %d are counted, want %d (%v)", name, n, want[name], err)
				}
			}
		}
		expect(map[string]int64{"both": 3})
		if open, err := next.OpenChannels(t.Context()); err != nil || !slices.Equal(open, []weir.ChannelID{ids["both"]}) {
			t.Errorf("open channels: %v (%v)", open, err)
		}
		if _, err := next.Accept(t.Context(), ids["both"], []weir.Spec{{To: "4"}}); err != nil {
			t.Fatal(err)
		}
		expect(map[string]int64{"both": 4})
	})
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
	lost, well := inDoubt(f)
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
	well()
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
