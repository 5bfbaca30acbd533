package supervise

import (
	"context"
	"errors"
	"log/slog"
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
	epoch    int64
	taken    bool // another process has the role
	down     error
	renewals int
	released []int64
}

// AcquireRole implements ops.RoleLeaser.
func (l *leaser) AcquireRole(context.Context, ops.Role) (weir.Lease, bool, error) {
	if l.taken || l.down != nil {
		return weir.Lease{}, false, l.down
	}
	l.epoch++
	return weir.Lease{Owner: "a", Epoch: l.epoch}, true, nil
}

// RenewRole implements ops.RoleLeaser.
func (l *leaser) RenewRole(_ context.Context, _ ops.Role, lease weir.Lease) (bool, error) {
	l.renewals++
	return !l.taken && lease.Epoch == l.epoch, l.down
}

// ReleaseRole implements ops.RoleLeaser.
func (l *leaser) ReleaseRole(_ context.Context, _ ops.Role, lease weir.Lease) error {
	l.released = append(l.released, lease.Epoch)
	return nil
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
		leading := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx, func(l weir.Lease) {
				leading++
				if lost := r.Keep(ctx, l); lost != (leading == 1) {
					t.Errorf("term %d: lost %v", leading, lost)
				}
			})
		}()
		expect := func(valid bool, terms int) {
			t.Helper()
			synctest.Wait()
			if r.Valid() != valid || leading != terms {
				t.Fatalf("valid %v in term %d, want %v in %d", r.Valid(), leading, valid, terms)
			}
		}
		time.Sleep(time.Minute)
		expect(true, 1)
		if store.renewals < 10 || store.renewals > 13 {
			t.Errorf("%d renewals in a minute", store.renewals)
		}
		store.down = errors.New("down")
		time.Sleep(ttl)
		expect(false, 1)
		store.down = nil
		time.Sleep(renewRetry + time.Millisecond)
		expect(true, 1)
		store.taken = true
		time.Sleep(ttl)
		expect(false, 1)
		store.taken = false
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
