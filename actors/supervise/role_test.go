package supervise

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/ops"
)

// Whenever the callers ask, all wait for the same instant, and never longer than
// the interval.
func TestBeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "every"))
		now := time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "now"))
		wait := Beat(now, every)
		if wait <= 0 || wait > every {
			t.Fatalf("it waits %v of %v", wait, every)
		}
		later := now.Add(time.Duration(rapid.Int64Range(0, int64(wait)-1).Draw(t, "later")))
		if a, b := now.Add(wait), later.Add(Beat(later, every)); !a.Equal(b) {
			t.Fatalf("one waits until %v and one until %v", a, b)
		}
	})
}

// leaser is a store of roles with one owner, whose failures are settable.
type leaser struct {
	mu       sync.Mutex
	epoch    int64
	taken    bool // another process has the role
	down     error
	renewals int
	released []int64
}

// AcquireRole implements ops.RoleLeaser.
func (l *leaser) AcquireRole(context.Context, ops.Role) (weir.Lease, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken || l.down != nil {
		return weir.Lease{}, false, l.down
	}
	l.epoch++
	return weir.Lease{Owner: "a", Epoch: l.epoch}, true, nil
}

// RenewRole implements ops.RoleLeaser.
func (l *leaser) RenewRole(_ context.Context, _ ops.Role, lease weir.Lease) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewals++
	return !l.taken && lease.Epoch == l.epoch, l.down
}

// ReleaseRole implements ops.RoleLeaser.
func (l *leaser) ReleaseRole(_ context.Context, _ ops.Role, lease weir.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = append(l.released, lease.Epoch)
	return nil
}

// set changes the state of the store.
func (l *leaser) set(taken bool, down error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken, l.down = taken, down
}

// count returns the number of renewals.
func (l *leaser) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewals
}

// A role is renewed while it is ours, is not valid while the store cannot renew it in
// time, is valid again when the store is back, and is taken again after a loss.
func TestRoleIsKeptLostAndTakenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl = 15 * time.Second
		store := &leaser{}
		r := NewRole(store, ops.RoleRouter, ttl, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var terms atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx, func(l weir.Lease) {
				term := terms.Add(1)
				if lost := r.Keep(ctx, l); lost != (term == 1) {
					t.Errorf("term %d: lost %v", term, lost)
				}
			})
		}()
		expect := func(valid bool, term int32) {
			t.Helper()
			synctest.Wait()
			if r.Valid() != valid || terms.Load() != term {
				t.Fatalf("valid %v in term %d, want %v in %d", r.Valid(), terms.Load(), valid, term)
			}
		}
		time.Sleep(time.Minute)
		expect(true, 1)
		if n := store.count(); n < 10 || n > 13 {
			t.Errorf("%d renewals in a minute", n)
		}
		store.set(false, errors.New("down"))
		time.Sleep(ttl)
		expect(false, 1)
		store.set(false, nil)
		time.Sleep(renewRetry + time.Millisecond)
		expect(true, 1)
		store.set(true, nil)
		time.Sleep(ttl)
		expect(false, 1)
		store.set(false, nil)
		time.Sleep(ttl)
		expect(true, 2)
		stop()
		<-done
		old := weir.Lease{Owner: "a", Epoch: 1}
		r.Release(t.Context(), old) // of an earlier term: the current one stays
		expect(true, 2)
		r.Release(t.Context(), r.Lease())
		expect(false, 2)
		r.Release(t.Context(), weir.Lease{})
		if len(store.released) != 2 || store.released[1] != 2 {
			t.Errorf("released %v", store.released)
		}
	})
}
