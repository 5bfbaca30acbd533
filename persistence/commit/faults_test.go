package commit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/events"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// TestWriter_BrokenCommitsLoseAndDoubleNothing breaks two of three COMMITs, before and after the server
// executed them, under load: nothing is lost, nothing is there twice, nothing
// is taken for stale, and the counts are exact.
func TestWriter_BrokenCommitsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "a")
		wantEvents(t, s)
		n := 0
		f.Set(false, func() storetest.Fault { n++; return storetest.Fault(n % 3) })
		const callers, each = 6, 5
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				got, err := acceptWhenUp(t, s, id, storetest.ContactSpecs(caller, each))
				if err != nil {
					t.Error(err)
					return
				}
				for _, a := range got {
					if a.Duplicate {
						t.Errorf("contact %s is taken for a duplicate of itself", a.Contact.Key)
					}
				}
				runAll(t, s, lease, got)
			})
		}
		wg.Wait()
		f.Set(false, func() storetest.Fault { return storetest.None })
		checkDone(t, s, id, callers*each)
		if f.Attempts() < 6 {
			t.Errorf("%d COMMITs are too few to break", f.Attempts())
		}
	})
}

// acceptWhenUp hands contacts over as clients do: while the store is down it
// refuses them at once, and nothing of them is stored.
func acceptWhenUp(t *testing.T, s *persistence.Store, id weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	t.Helper()
	var got []weir.Accepted
	err := storetest.WhenUp(t.Context(), func() (err error) {
		got, err = s.Accept(t.Context(), id, specs)
		return err
	})
	return got, err
}

// runAll takes contacts through all their steps.
func runAll(t *testing.T, s *persistence.Store, lease weir.Incarnation, list []weir.Accepted) {
	for range 4 {
		var results []<-chan weir.CommitResult
		for i := range list {
			tr := storetest.Advance(list[i].Contact)
			list[i].Contact = tr.Contact
			results = append(results, storetest.Commit(s, lease, tr))
		}
		for _, r := range results {
			if got := <-r; got.Err != nil || len(got.Stale) > 0 {
				t.Errorf("commit: %+v", got)
			}
		}
	}
}

func checkDone(t *testing.T, s *persistence.Store, id weir.ChannelID, want int) {
	t.Helper()
	list, _, err := s.Contacts(t.Context(), weir.ContactFilter{Channel: id, Limit: 1000})
	if err != nil || len(list) != want {
		t.Fatalf("%d contacts, want %d (%v)", len(list), want, err)
	}
	for i := range list {
		_, attempts, err := s.Contact(t.Context(), list[i].Ref)
		if err != nil || list[i].State != weir.Done || list[i].Rev != 4 || len(attempts) != 1 {
			t.Errorf("%+v has %d ended attempts (%v)", list[i].Progress, len(attempts), err)
		}
	}
	if n, err := s.QueuedCount(t.Context(), id); n != 0 || err != nil {
		t.Errorf("%d are counted as queued (%v)", n, err)
	}
	checkEvents(t, s, list)
}

func wantEvents(t *testing.T, s *persistence.Store) {
	t.Helper()
	if err := s.WantContactEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checkEvents expects the events of contacts that went through all their steps: each once,
// in order, and no event of a transaction that was not committed.
func checkEvents(t *testing.T, s *persistence.Store, contacts []weir.Contact) {
	t.Helper()
	got := map[string][]string{}
	for after := int64(0); ; {
		list, err := s.EventsSince(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			if after++; e.ID != after {
				t.Fatalf("event %d follows %d", e.ID, after-1)
			}
			got[e.Subject] = append(got[e.Subject], e.Type)
		}
	}
	for i := range contacts {
		subject := "contact/" + contacts[i].Ref.String()
		want := []string{events.ContactDispatched, events.ContactRequeued, events.ContactDispatched, events.ContactDone}
		if !slices.Equal(got[subject], want) {
			t.Errorf("%s has the events %q", subject, got[subject])
		}
		delete(got, subject)
	}
	if len(got) > 0 {
		t.Errorf("other events: %v", got)
	}
}

// TestWriter_KeepsChangesWhileTheStoreIsDown takes the database away.
func TestWriter_KeepsChangesWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		f.Set(true, nil)
		tr := storetest.Advance(got[0].Contact)
		first := storetest.Commit(s, lease, tr)
		second := storetest.Commit(s, lease, storetest.Advance(tr.Contact))
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = s.Accept(short, id, []weir.Spec{{To: "2", Key: "waits"}})
		wantUnavailable(t, err)
		begin := time.Now()
		_, err = s.Accept(t.Context(), id, []weir.Spec{{To: "3"}})
		wantUnavailable(t, err)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("the answer took %v", took)
		}
		f.Set(false, nil)
		for _, r := range []<-chan weir.CommitResult{first, second} {
			if got := <-r; got.Err != nil || len(got.Stale) > 0 {
				t.Errorf("commit: %+v", got)
			}
		}
		if _, err := s.Accept(t.Context(), id, []weir.Spec{{To: "4"}}); err != nil {
			t.Errorf("after its return: %v", err)
		}
		if n, err := s.QueuedCount(t.Context(), id); n != 2 || err != nil {
			t.Errorf("%d are queued, want 2 (%v)", n, err)
		}
	})
}

// The first caller to meet a store that is down gets an error, and does not
// wait for its return; what was refused is not stored later.
func TestWriter_CallersDoNotWaitForAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, _ := storetest.OpenChannel(t, s, "a")
		f.Set(true, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := s.Accept(ctx, id, []weir.Spec{{To: "1"}})
		wantUnavailable(t, err)
		if ctx.Err() != nil {
			t.Error("it waited for as long as it was let")
		}
		f.Set(false, nil)
		for err = errors.New("not asked yet"); err != nil && ctx.Err() == nil; {
			_, err = s.Accept(ctx, id, []weir.Spec{{To: "2"}})
		}
		if n, failed := s.QueuedCount(t.Context(), id); n != 1 || failed != nil || err != nil {
			t.Errorf("%d are queued, want 1 (%v, %v)", n, failed, err)
		}
	})
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*weir.Error](err)
	if !ok || e.Code != weir.CodeUnavailable || e.RetryAfter <= 0 {
		t.Errorf("%v is not an answer of a store that is down", err)
	}
}

// TestWriter_GivesUpIfClosedWhileTheStoreIsDown gives up what cannot be written, and says so.
func TestWriter_GivesUpIfClosedWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		f.Set(true, nil)
		result := storetest.Commit(s, lease, storetest.Advance(got[0].Contact))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		wantUnavailable(t, s.Close(ctx))
		if r := <-result; r.Err == nil {
			t.Error("a change that was not written was answered well")
		}
	})
}

// TestWriter_KilledServerLosesNothing kills the real server under load, twice.
func TestWriter_KilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t)
	s, err := persistence.Open(t.Context(), server.URL(t), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, lease := storetest.OpenChannel(t, s, "a")
	wantEvents(t, s)
	var list []weir.Accepted
	for i := range 40 {
		got, err := s.Accept(t.Context(), id, storetest.ContactSpecs(i, 5))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, got...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runAll(t, s, lease, list)
	}()
	for range 2 {
		server.Kill()
		server.Restart()
	}
	<-done
	checkDone(t, s, id, 200)
}
