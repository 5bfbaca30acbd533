package router_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"weir"
	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/resource"
)

// kept reads the state for a client that gives up, and reports whether the
// router still keeps the client's function.
func kept(ctx context.Context, r *rig) (still func() bool) {
	whole := new([1 << 10]byte)
	w := weak.Make(whole)
	_ = r.View(ctx, func(*routing.State, time.Time) { whole[0]++ })
	return func() bool {
		runtime.GC()
		return w.Value() != nil
	}
}

// However long the store is down, callers that have left are dropped.
func TestOutage_KeepsNoAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newGate(storetest.SQLite(t))
		r := start(t, store, nil)
		r.furnish(1)
		store.set(always(hold))
		put := later(func() error { _, err := r.try(routing.PutJob{ID: "j", Spec: job()}); return err })
		synctest.Wait()
		first, leave := context.WithCancel(t.Context())
		var still func() bool
		done := later(func() error { still = kept(first, r); return nil })
		synctest.Wait()
		leave()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for range 30 {
			ctx, leave := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() { _ = r.View(ctx, func(*routing.State, time.Time) {}) })
			}
			synctest.Wait()
			leave()
			all.Wait()
		}
		if still() {
			t.Error("what a client wanted who left is kept")
		}
		store.open()
		if err := <-put; err != nil {
			t.Error(err)
		}
		r.do(routing.PutJob{ID: "k", Spec: job()})
	})
}

// unready is a store that cannot be reached.
type unready struct{ router.Store }

func (unready) Incarnate(context.Context, weir.ChannelID) (weir.Incarnation, error) {
	return weir.Incarnation{}, errBroken
}

// Callers that arrived before there was a state and then left are dropped as
// well.
func TestStart_KeepsNoAbandonedCallWhileItFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, unready{storetest.SQLite(t)}, nil)
		gone, leave := context.WithCancel(t.Context())
		leave()
		still := kept(gone, r)
		for range 30_000 {
			_ = r.View(gone, func(*routing.State, time.Time) {})
		}
		synctest.Wait()
		if still() {
			t.Error("what a client wanted who left is kept")
		}
		r.Close()
	})
}

// large records the size of the largest group.
type large struct {
	router.Store
	most atomic.Int64
}

func (s *large) Append(l weir.Incarnation, g journal.Group, done func(error)) {
	n := int64(g.Segments[len(g.Segments)-1].Last - g.Segments[0].First + 1)
	s.most.Store(max(s.most.Load(), n))
	s.Store.Append(l, g, done)
}

// Timers that came due during a downtime fire in bounded steps: firing all at
// once would need memory for all their events, and each start would fail out of
// memory.
func TestTimers_FireInStepsAfterADowntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.SQLite(t)
		r := start(t, store, nil)
		r.furnish(0)
		spec := job()
		spec.NotAfter = time.Now().Add(time.Hour)
		const jobs = 12_000
		var all sync.WaitGroup
		for from := range 10 {
			all.Go(func() {
				for i := range jobs / 10 {
					own := spec
					own.NotAfter = own.NotAfter.Add(time.Duration(i) * time.Millisecond)
					r.do(routing.PutJob{ID: strconv.Itoa(from*jobs + i), Spec: own})
				}
			})
		}
		all.Wait()
		r.Close()
		time.Sleep(2 * time.Hour)
		s := &large{Store: store}
		r = start(t, s, nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var f routing.Figures
		if err := r.View(t.Context(), func(s *routing.State, _ time.Time) { f = s.Figures() }); err != nil {
			t.Fatal(err)
		}
		const most = 2*5000 + 100 // a step of 5,000, behind less than a step that waits for the store, and the last command of each
		if f.Jobs[resource.JobCancelled] != jobs || s.most.Load() > most {
			t.Errorf("%v, the largest group had %d events", f.Jobs, s.most.Load())
		}
		r.do(routing.PutJob{ID: "next", Spec: job()})
	})
}
