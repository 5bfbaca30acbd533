package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, run func(t *testing.T, url string)) {
	for name, url := range map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mysql":  testmysql.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, url(t))
		})
	}
}

// openFaulty opens a store whose writer's connection the test controls.
func openFaulty(t *testing.T, url string) (*persistence.Store, *faulty) {
	t.Helper()
	var f *faulty
	s, err := persistence.OpenThrough(t.Context(), url, persistence.Options{}, func(db dialect.Database) dialect.Database {
		f = newFaulty(db)
		return f
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, f
}

func openChannel(t *testing.T, s *persistence.Store, name string) (weir.ChannelID, weir.Lease) {
	t.Helper()
	c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: name, Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, ok, err := s.Acquire(t.Context(), c.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return c.ID, l
}

func commit(s *persistence.Store, l weir.Lease, list ...weir.Transition) <-chan weir.CommitResult {
	done := make(chan weir.CommitResult, 1)
	s.Commit(weir.Change{Lease: l, Transitions: list}, func(r weir.CommitResult) { done <- r })
	return done
}

// advance is the next step of a contact: claim, requeue once, claim, finish.
func advance(c weir.Contact) weir.Transition {
	t := weir.Transition{Contact: c, From: c.Rev, Was: c.State}
	var err error
	now := time.Now()
	switch {
	case c.State == weir.Queued:
		t.Contact.Progress, err = c.Claim(now)
	case c.Attempt == 1:
		var ended weir.Attempt
		t.Contact.Progress, ended, err = c.Requeue(now, time.Time{}, "again")
		t.Ended = &ended
	default:
		t.Contact.Progress, err = c.Finish(now, weir.Completed, "")
	}
	if err != nil {
		panic(err)
	}
	return t
}

// TestBrokenCommit breaks two of three COMMITs, before and after the server
// executed them, under load: nothing is lost, nothing is there twice, nothing
// is taken for stale, and the counts are exact.
func TestBrokenCommit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s, f := openFaulty(t, url)
		id, lease := openChannel(t, s, "a")
		n := 0
		f.set(false, func() fault { n++; return fault(n % 3) })
		const callers, each = 6, 5
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				got, err := acceptWhenUp(t, s, id, contactSpecs(caller, each))
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
		f.set(false, func() fault { return none })
		checkDone(t, s, id, callers*each)
		if f.attempts < 6 {
			t.Errorf("%d COMMITs are too few to break", f.attempts)
		}
	})
}

// acceptWhenUp hands contacts over as clients do: while the store is down it
// refuses them at once, and nothing of them is stored.
func acceptWhenUp(t *testing.T, s *persistence.Store, id weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	t.Helper()
	var got []weir.Accepted
	err := whenUp(t.Context(), func() (err error) {
		got, err = s.Accept(t.Context(), id, specs)
		return err
	})
	return got, err
}

func contactSpecs(caller, n int) []weir.Spec {
	list := make([]weir.Spec, n)
	for i := range list {
		list[i] = weir.Spec{To: "1"}
		if i%2 == 0 {
			list[i].Key = fmt.Sprintf("%d-%d", caller, i)
		}
	}
	return list
}

// runAll takes contacts through all their steps.
func runAll(t *testing.T, s *persistence.Store, lease weir.Lease, list []weir.Accepted) {
	for range 4 {
		var results []<-chan weir.CommitResult
		for i := range list {
			tr := advance(list[i].Contact)
			list[i].Contact = tr.Contact
			results = append(results, commit(s, lease, tr))
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
}

// TestStoreDown takes the database away.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s, f := openFaulty(t, url)
		id, lease := openChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		f.set(true, nil)
		tr := advance(got[0].Contact)
		first := commit(s, lease, tr)
		second := commit(s, lease, advance(tr.Contact))
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
		f.set(false, nil)
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
func TestCallersDoNotWaitForAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s, f := openFaulty(t, url)
		id, _ := openChannel(t, s, "a")
		f.set(true, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := s.Accept(ctx, id, []weir.Spec{{To: "1"}})
		wantUnavailable(t, err)
		if ctx.Err() != nil {
			t.Error("it waited for as long as it was let")
		}
		f.set(false, nil)
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

// TestClosedWhileDown gives up what cannot be written, and says so.
func TestClosedWhileDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		s, f := openFaulty(t, url)
		id, lease := openChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		f.set(true, nil)
		result := commit(s, lease, advance(got[0].Contact))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		wantUnavailable(t, s.Close(ctx))
		if r := <-result; r.Err == nil {
			t.Error("a change that was not written was answered well")
		}
	})
}

// TestServerKilled kills the real server under load, twice.
func TestServerKilled(t *testing.T) {
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
	id, lease := openChannel(t, s, "a")
	var list []weir.Accepted
	for i := range 40 {
		got, err := s.Accept(t.Context(), id, contactSpecs(i, 5))
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
