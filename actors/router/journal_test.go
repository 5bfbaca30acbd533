package router_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
)

// later runs do in the background and sends its error.
func later(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

func ended(done <-chan error) bool { return len(done) > 0 }

// No reply, no announcement and no read is ahead of the journal.
func TestJournal_NothingIsAheadOfTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		r.furnish(1)
		synctest.Wait()
		var mu sync.Mutex
		var told []string
		r.Watch(func(events []journal.Event) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range events {
				told = append(told, e.Kind())
			}
		})
		store.set(always(hold))
		put := later(func() error { _, err := r.try(routing.PutJob{ID: "j", Spec: job()}); return err })
		synctest.Wait()
		seen := false
		view := later(func() error {
			return r.View(context.Background(), func(s *routing.State, _ time.Time) { _, seen = s.Job("j") })
		})
		refused := later(func() error { _, err := r.try(routing.DeleteJob{ID: "j"}); return err })
		synctest.Wait()
		if ended(put) || ended(view) || ended(refused) || len(told) > 0 {
			t.Fatal("something was answered or told before it was durable")
		}
		store.open()
		if err := <-put; err != nil {
			t.Fatal(err)
		}
		if err := <-view; err != nil || !seen {
			t.Fatal("the view did not show the job", err)
		}
		if err := <-refused; weir.CodeOf(err) == "" || weir.CodeOf(err) == weir.CodeUnavailable {
			t.Errorf("a job with an offer was deleted: %v", err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued"}, told); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
	})
}

// A group that cannot be written invalidates everything that may depend on it,
// and the router continues from what was written.
func TestJournal_FailedGroupTakesTheStateAlong(t *testing.T) {
	t.Parallel()
	store := newGate(storetest.SQLite(t))
	r := start(t, store, nil)
	r.furnish(2)
	want := r.bytes()
	store.set(func(n int) verdict {
		if n == 1 {
			return refuse
		}
		return pass
	})
	var calls []<-chan error
	for _, id := range []string{"a", "b", "c", "d"} {
		calls = append(calls, later(func() error { _, err := r.try(routing.PutJob{ID: id, Spec: job()}); return err }))
	}
	failed := 0
	for _, c := range calls {
		if err := <-c; weir.CodeOf(err) == weir.CodeUnavailable {
			failed++
		}
	}
	known, err := store.known()
	if err != nil || failed == 0 {
		t.Fatal(failed, err)
	}
	got := r.bytes()
	if diff := cmp.Diff(body(known), body(got)); diff != "" {
		t.Errorf("the state is not that of the journal (-written +found):\n%s", diff)
	}
	if jobs := strings.Count(got, `"job":`); jobs != 4-failed {
		t.Errorf("%d jobs after %d of 4 failed; before:\n%s", jobs, failed, want)
	}
	r.do(routing.PutJob{ID: "e", Spec: job()})
}

// A group was written although the store's reply was lost. Watchers receive it
// once and in order, after the journal was read again.
func TestJournal_EventsOfAWriteInDoubtArePublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		var mu sync.Mutex
		var told []uint64
		r.Watch(func(events []journal.Event) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range events {
				told = append(told, e.Head().Seq)
			}
		})
		r.furnish(1)
		store.set(func(n int) verdict { return []verdict{pass, mute, refuse}[n%3] })
		for _, id := range []string{"a", "b"} {
			put := later(func() error { _, err := r.try(routing.PutJob{ID: id, Spec: job()}); return err })
			time.Sleep(time.Second) // so that the second group is not held back to grow
			synctest.Wait()
			defer func() { t.Log(id, <-put) }()
		}
		time.Sleep(time.Minute)
		store.set(always(pass))
		r.do(routing.PutJob{ID: "c", Spec: job()})
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i, seq := range told {
			if seq != uint64(i)+1 {
				t.Fatalf("told of events %v", told)
			}
		}
		if uint64(len(told)) != store.last() {
			t.Errorf("told of %d events of %d", len(told), store.last())
		}
	})
}

// A router whose process may no longer own the database refuses calls, reads too.
func TestRouter_RefusesCallsWithoutTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lapsed atomic.Bool
		r := start(t, storetest.SQLite(t), func(o *router.Options) { o.Valid = func() bool { return !lapsed.Load() } })
		r.furnish(1)
		lapsed.Store(true)
		if _, err := r.try(routing.PutJob{ID: "j", Spec: job()}); weir.CodeOf(err) != weir.CodeUnavailable {
			t.Errorf("a job was taken without the lease: %v", err)
		}
		err := r.View(t.Context(), func(*routing.State, time.Time) {})
		if e, _ := errors.AsType[*weir.Error](err); weir.CodeOf(err) != weir.CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("a read without the lease: %v", err)
		}
		lapsed.Store(false) // it was renewed
		if r.do(routing.PutJob{ID: "j", Spec: job()}) == nil {
			t.Error("the job made no events")
		}
	})
}

// Another state of the router begins in the store: what this one writes is refused, and it is
// built again.
func TestJournal_RefusesWritesOfAnEarlierState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.SQLite(t)
		r := start(t, store, nil)
		r.furnish(1)
		if _, err := store.Incarnate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := r.try(routing.PutJob{ID: "j", Spec: job()}); weir.CodeOf(err) != weir.CodeUnavailable {
			t.Errorf("an earlier state wrote: %v", err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.do(routing.PutJob{ID: "j", Spec: job()}) == nil {
			t.Error("the job made no events")
		}
	})
}

// While the store is down callers get an error in time. When it is back,
// everything continues, and commands applied meanwhile become durable.
func TestJournal_CallersDoNotWaitForAStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		r.furnish(1)
		store.set(always(hold))
		begin := time.Now()
		_, err := r.try(routing.PutJob{ID: "j", Spec: job()})
		if weir.CodeOf(err) != weir.CodeUnavailable || time.Since(begin) > 11*time.Second {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.View(ctx, func(*routing.State, time.Time) {}); weir.CodeOf(err) != weir.CodeUnavailable {
			t.Fatal(err)
		}
		store.open()
		if err := r.View(t.Context(), func(s *routing.State, _ time.Time) {
			if _, ok := s.Job("j"); !ok {
				t.Error("the job is not there")
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// stuckSnapshots is a store that is not done with a snapshot before its caller has gone.
type stuckSnapshots struct{ router.Store }

func (s stuckSnapshots) SaveSnapshot(ctx context.Context, by weir.Incarnation, seq uint64, data []byte) error {
	if seq == 0 { // the first one, of a router that has no state yet
		return s.Store.SaveSnapshot(ctx, by, seq, data)
	}
	<-ctx.Done()
	return ctx.Err()
}

// A drain does not wait long for the last snapshot: the journal has everything.
func TestDrain_SkipsASlowSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := storetest.SQLite(t)
		r := start(t, stuckSnapshots{inner}, nil)
		r.furnish(3)
		begun := time.Now()
		if err := r.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 400*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		saved, err := inner.LoadSnapshot(t.Context())
		if err != nil || saved.Last == saved.Seq {
			t.Errorf("the snapshot is of event %d, the journal ends with %d (%v)", saved.Seq, saved.Last, err)
		}
	})
}

// A drain waits until everything applied is durable, and leaves a snapshot instead of a journal.
func TestDrain_LeavesASnapshotInsteadOfAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := storetest.SQLite(t)
		store := newGate(inner)
		r := start(t, store, nil)
		r.furnish(1)
		store.set(always(hold))
		put := later(func() error { _, err := r.try(routing.PutJob{ID: "j", Spec: job()}); return err })
		synctest.Wait()
		drained := later(func() error { return r.Drain(context.Background()) })
		synctest.Wait()
		if ended(drained) {
			t.Fatal("it did not wait for what it had in hand")
		}
		if _, err := r.try(routing.Tick{}); weir.CodeOf(err) != weir.CodeDraining {
			t.Errorf("a call while draining: %v", err)
		}
		store.open()
		if err := <-put; err != nil {
			t.Error(err)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		saved, err := inner.LoadSnapshot(t.Context())
		if err != nil || saved.Seq != saved.Last || saved.Last == 0 {
			t.Errorf("the snapshot is of event %d, the journal ends with %d (%v)", saved.Seq, saved.Last, err)
		}
		left, err := inner.Segments(t.Context(), 0, 10)
		if err != nil || len(left) > 0 {
			t.Errorf("%d segments are left (%v)", len(left), err)
		}
	})
}
