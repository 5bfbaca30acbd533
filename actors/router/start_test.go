package router_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/actors/router"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
)

// fill creates that many jobs, many concurrently.
func (r *rig) fill(jobs int) {
	r.t.Helper()
	var wait sync.WaitGroup
	const callers = 500
	for c := range callers {
		wait.Go(func() {
			for i := c; i < jobs; i += callers {
				if _, err := r.try(routing.PutJob{ID: "j" + strconv.Itoa(i), Spec: job()}); err != nil {
					r.t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// began returns how long a router took until it answered, and how many events it
// replayed after the snapshot.
func began(t *testing.T, store router.Store) (time.Duration, uint64) {
	t.Helper()
	found, err := store.LoadSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r := start(t, store, nil)
	if !polling.Until(time.Minute, time.Millisecond, func() bool { return r.View(t.Context(), func(*routing.State, time.Time) {}) == nil }) {
		t.Fatal("the router does not start")
	}
	took := time.Since(begin)
	defer r.Close()
	if found.Last-found.Seq >= 5_000 && !polling.Until(time.Minute, 50*time.Millisecond, func() bool {
		now, err := store.LoadSnapshot(t.Context())
		return err == nil && now.Last == now.Seq
	}) {
		t.Error("no snapshot was written")
	}
	return took, found.Last - found.Seq
}

// After a start that replayed many events, the next one reads few.
// Scenario 148.
func TestStart_SavesASnapshotSoonAfterALongReplay(t *testing.T) {
	t.Parallel()
	store := storetest.Open(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), persistence.Options{})
	r := start(t, store, nil)
	r.furnish(1)
	r.fill(8_000)
	r.Close() // as a crash
	took, replayed := began(t, store)
	t.Logf("a start after a crash: %v, %d events", took, replayed)
	if replayed < 5_000 {
		t.Errorf("%d events were replayed, want enough for a snapshot", replayed)
	}
	took, replayed = began(t, store)
	t.Logf("the next start: %v, %d events", took, replayed)
	if replayed > 5_000 {
		t.Errorf("%d events were replayed again", replayed)
	}
}

// A router that received no calls still saves, when it ends, what its start had
// to replay.
// Scenario 148.
func TestStart_WhatItReplayedIsSavedAtTheEnd(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	r := start(t, store, nil)
	r.furnish(1)
	r.fill(100)
	r.Close()
	r = start(t, store, nil)
	if err := r.View(t.Context(), func(*routing.State, time.Time) {}); err != nil {
		t.Fatal(err)
	}
	if err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, err := store.LoadSnapshot(t.Context()); err != nil || found.Last != found.Seq {
		t.Errorf("%d events are left to be replayed: %v", found.Last-found.Seq, err)
	}
}

// With up to 100,000 jobs a start replays no more events than with none, apart
// from events that arrived while the last snapshot was made.
// Scenario 161.
func TestStart_ReplaysAreBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{0: 25_000, 100_000: 25_000, 1_000_000: 250_000} {
		if router.SnapshotDue(want-1, size) || !router.SnapshotDue(want, size) {
			t.Errorf("with %d entities a snapshot is not due after %d events", size, want)
		}
	}
}

// slowStore takes seconds to read the journal.
type slowStore struct {
	router.Store
	begun chan struct{}
}

func (s *slowStore) LoadSnapshot(ctx context.Context) (journal.Saved, error) {
	close(s.begun)
	select {
	case <-ctx.Done():
		return journal.Saved{}, ctx.Err()
	case <-time.After(8 * time.Second):
		return s.Store.LoadSnapshot(ctx)
	}
}

// While the state is loading, callers wait for a while, and then get an error before the
// maximum time for a reply is over; later ones get it at once.
// Scenario 149.
func TestStart_CallsWaitBrieflyWhileTheStateIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{newDiary(), make(chan struct{})}
		r := start(t, store, nil)
		<-store.begun
		for _, patient := range []time.Duration{5 * time.Second, 0} {
			begin := time.Now()
			err := r.View(t.Context(), func(*routing.State, time.Time) {})
			e, _ := errors.AsType[*weir.Error](err)
			if waited := time.Since(begin); weir.CodeOf(err) != weir.CodeUnavailable || e.RetryAfter <= 0 || waited > patient {
				t.Errorf("after %v: %v", waited, err)
			}
		}
		if got := r.Phase(); got != router.Replaying {
			t.Errorf("it is %s", got)
		}
		time.Sleep(9 * time.Second)
		if err := r.View(t.Context(), func(*routing.State, time.Time) {}); err != nil || r.Phase() != router.Serving {
			t.Errorf("%s: %v", r.Phase(), err)
		}
	})
}
