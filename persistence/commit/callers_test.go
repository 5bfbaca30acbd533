package commit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
)

// specs returns n contacts to be accepted.
func specs(n int) []weir.Spec {
	list := make([]weir.Spec, n)
	for i := range list {
		list[i].To = "1"
	}
	return list
}

// holdWriter has the writer commit a batch of so many rows, and wait until it is released.
func holdWriter(t *testing.T, s *persistence.Store, id weir.ChannelID, rows int) (release func()) {
	t.Helper()
	a, err := s.NewAcceptance(t.Context(), id, specs(rows))
	if err != nil {
		t.Fatal(err)
	}
	held, free := make(chan struct{}), make(chan struct{})
	a.Submit(weir.Claims{Done: func([]weir.Accepted, error) { // on the writer's goroutine
		close(held)
		<-free
	}})
	<-held
	return func() { close(free) }
}

// submitted submits contacts, and calls do with the answer.
func submitted(t *testing.T, s *persistence.Store, id weir.ChannelID, rows int, do func(error)) {
	t.Helper()
	a, err := s.NewAcceptance(t.Context(), id, specs(rows))
	if err != nil {
		t.Fatal(err)
	}
	a.Submit(weir.Claims{Done: func(_ []weir.Accepted, err error) { do(err) }})
}

// The batch that follows one of 24 rows waits a millisecond for more, unless 256 rows wait
// already, in however many requests.
func TestWriter_EnoughRowsDoNotWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before  int
		waiting []int
		want    time.Duration
	}{
		{23, []int{1}, 0},
		{24, []int{1}, time.Millisecond},
		{24, []int{255}, time.Millisecond},
		{24, []int{256}, 0},
		{24, []int{128, 127}, time.Millisecond},
		{24, []int{128, 128}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := storetest.SQLite(t)
			id, _ := storetest.OpenChannel(t, s, "a")
			release := holdWriter(t, s, id, c.before)
			answers := make(chan time.Time, len(c.waiting))
			for _, n := range c.waiting {
				submitted(t, s, id, n, func(error) { answers <- time.Now() })
			}
			released := time.Now()
			release()
			for range c.waiting {
				if d := (<-answers).Sub(released); d != c.want {
					t.Errorf("after %d rows %v waited for %v, want %v", c.before, c.waiting, d, c.want)
				}
			}
		})
	}
}

// A store that is closed writes what it was handed at once: neither the batch delay nor the
// delay of a change without a caller holds it up.
func TestWriter_ClosingDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, specs(1))
		if err != nil {
			t.Fatal(err)
		}
		claim := storetest.Advance(got[0].Contact)
		<-storetest.Commit(s, lease, claim)
		taken := weir.Transition{Contact: claim.Contact, From: claim.Contact.Rev, Was: claim.Contact.State}
		if taken.Contact.Progress, err = claim.Contact.Accept(time.Now(), "ref"); err != nil {
			t.Fatal(err)
		}
		release := holdWriter(t, s, id, 100)
		result := storetest.Commit(s, lease, taken)
		closed := make(chan error, 1)
		begun := time.Now()
		go func() { closed <- s.Close(context.WithoutCancel(t.Context())) }()
		synctest.Wait()
		release()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if r := <-result; r.Err != nil || len(r.Stale) > 0 {
			t.Errorf("%+v", r)
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("it was closed after %v", d)
		}
	})
}

// What waits for the writer is counted until it takes it.
func TestWriter_CountsWaitingRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, registry, _ := observed(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		release := holdWriter(t, s, id, 1)
		want := func(n int) {
			t.Helper()
			if got := figures(t, registry)["weir_db_waiting_requests"]; got != float64(n) || s.Waiting() != n {
				t.Errorf("%v and %d requests wait, want %d", got, s.Waiting(), n)
			}
		}
		held, free := make(chan struct{}), make(chan struct{})
		for n, do := range []func(error){func(error) {}, func(error) {}, func(error) { close(held); <-free }, func(error) {}} {
			want(n)
			submitted(t, s, id, 300, do) // a batch has up to 1,000 rows
		}
		want(4)
		release()
		<-held
		want(1)
		close(free)
		synctest.Wait()
		want(0)
		if n, err := s.QueuedCount(t.Context(), id); n != 1+4*300 || err != nil {
			t.Errorf("%d are queued (%v)", n, err)
		}
	})
}

// A caller that meets an outage gets an answer two seconds after its request was submitted,
// and each two seconds of a store that is slow and then fails.
func TestCallers_WaitForTwoSeconds(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{0, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, f, _, _ := observed(t)
			id, _ := storetest.OpenChannel(t, s, "a")
			release := holdWriter(t, s, id, 1)
			answered := make(chan error, 1)
			begun := time.Now()
			go func() {
				_, err := s.Accept(t.Context(), id, specs(1))
				answered <- err
			}()
			time.Sleep(slow)
			f.Set(true, nil)
			release()
			wantUnavailable(t, <-answered)
			if d, want := time.Since(begun), slow.Truncate(2*time.Second)+2*time.Second; d != want {
				t.Errorf("a store that fails after %v answers after %v, want %v", slow, d, want)
			}
			begun = time.Now()
			_, err := s.Accept(t.Context(), id, specs(1))
			if wantUnavailable(t, err); time.Since(begun) != 0 {
				t.Errorf("while it is down it answers after %v", time.Since(begun))
			}
			f.Set(false, nil)
			time.Sleep(time.Second)
			if n, err := s.QueuedCount(t.Context(), id); n != 1 || err != nil {
				t.Errorf("%d are queued, want the first only (%v)", n, err)
			}
		})
	}
}

// A caller that no one submits a request for does so itself, after 20 ms; one that has
// nothing to hand on, at once.
func TestCallers_SubmitThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		a, err := s.NewAcceptance(t.Context(), id, specs(1))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := a.Wait(); err != nil || time.Since(begun) != 20*time.Millisecond {
			t.Errorf("it was stored after %v (%v)", time.Since(begun), err)
		}
		if a.Submit(weir.Claims{}) {
			t.Error("it was submitted twice")
		}
		begun = time.Now()
		if _, err := s.Incarnate(t.Context(), id); err != nil || time.Since(begun) != 0 {
			t.Errorf("a call was stored after %v (%v)", time.Since(begun), err)
		}
	})
}

// The caller of a request whose COMMIT is in doubt goes away. What the database committed
// is reported as stored all the same: its contacts are claimed, and only the broker that is
// told so dispatches them.
func TestWriter_CommitInDoubtOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	for fault, name := range map[storetest.Fault]string{storetest.Before: "not committed", storetest.After: "committed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, f, _, _ := observed(t)
				id, lease := storetest.OpenChannel(t, s, "a")
				f.Set(false, func() storetest.Fault {
					f.Down = true
					return fault
				})
				ctx, leave := context.WithCancel(t.Context())
				a, err := s.NewAcceptance(ctx, id, specs(1))
				if err != nil {
					t.Fatal(err)
				}
				told := make(chan error, 1)
				a.Submit(weir.Claims{By: lease, First: 1, Done: func(_ []weir.Accepted, err error) { told <- err }})
				synctest.Wait()
				leave()
				_, err = a.Wait()
				wantUnavailable(t, err)
				time.Sleep(3 * time.Second)
				f.Set(false, func() storetest.Fault { return storetest.None })
				if err := <-told; err != nil {
					t.Errorf("the broker received %v", err)
				}
				if list, err := s.InFlight(t.Context(), id); err != nil || len(list) != 1 {
					t.Errorf("%d contacts are in flight, want 1 (%v)", len(list), err)
				}
			})
		})
	}
}

// A short outage is over soon: the writer tries again after 50 ms.
func TestWriter_TriesAgainSoonAfterAShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, f, _, _ := observed(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		f.Set(true, nil)
		answers := make(chan error, 1)
		begun := time.Now()
		submitted(t, s, id, 1, func(err error) { answers <- err })
		time.Sleep(40 * time.Millisecond)
		f.Set(false, nil)
		if err := <-answers; err != nil || time.Since(begun) != 50*time.Millisecond {
			t.Errorf("it was written after %v (%v)", time.Since(begun), err)
		}
	})
}
