package supervise

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir"
	"weir/internal/backoff"
	"weir/ops"
)

// Parameters of leases.
const (
	renewRetry = 250 * time.Millisecond // after a failed renewal
	maxMargin  = 2 * time.Second
)

// LeaseMargin is how long before the end of a lease no work is begun any more: two
// seconds, or a fifth of the lease if that is shorter.
func LeaseMargin(ttl time.Duration) time.Duration { return min(maxMargin, ttl/5) }

// Beat returns the time until the next multiple of every, which is the same
// instant for all callers with that interval: roles that are renewed together are
// renewed by one statement.
func Beat(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now.Round(0))
}

// Role keeps a role that only one process has at a time, under a lease. It is safe
// for concurrent use.
type Role struct {
	leaser ops.RoleLeaser
	name   ops.Role
	ttl    time.Duration
	logger *slog.Logger

	mu    sync.Mutex
	lease weir.Lease // the latest one
	held  bool
	until time.Time // end of the time in which this process may act under the lease
}

// NewRole returns a role that is not held yet. ttl is the duration of its leases.
func NewRole(leaser ops.RoleLeaser, name ops.Role, ttl time.Duration, logger *slog.Logger) *Role {
	return &Role{leaser: leaser, name: name, ttl: ttl, logger: logger}
}

// Valid reports whether the role is certainly ours.
func (r *Role) Valid() bool { return r.Remaining() > 0 }

// Remaining returns for how long the role is certainly ours, if it is not renewed.
func (r *Role) Remaining() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return 0
	}
	return time.Until(r.until)
}

// Lease returns the latest lease, also after it was lost: the store refuses writes
// under it then.
func (r *Role) Lease() weir.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease
}

// Acquire takes the role if it is free, expired or ours; ok is false while another
// process has it. Each success raises the epoch of the lease.
func (r *Role) Acquire(ctx context.Context) (_ weir.Lease, ok bool, err error) {
	asked := time.Now()
	io, cancel := context.WithTimeout(ctx, r.ttl/3)
	defer cancel()
	l, ok, err := r.leaser.AcquireRole(io, r.name)
	if err == nil && ok {
		r.mu.Lock()
		r.lease, r.held, r.until = l, true, asked.Add(r.ttl-LeaseMargin(r.ttl))
		r.mu.Unlock()
	}
	return l, ok, err
}

// Keep renews a lease until it is lost or ctx ends; lost reports which. While the
// store is down it retries, and [Role.Valid] returns false once the time is up.
func (r *Role) Keep(ctx context.Context, l weir.Lease) (lost bool) {
	failing := false
	for wait := Beat(time.Now(), r.ttl/3); backoff.Wait(ctx, wait); {
		asked := time.Now()
		io, cancel := context.WithTimeout(ctx, r.ttl/3)
		ok, err := r.leaser.RenewRole(io, r.name, l)
		cancel()
		switch {
		case ctx.Err() != nil && err != nil:
			return false
		case err != nil:
			if !failing {
				r.logger.Warn("role renewal failed; retrying", "role", string(r.name), "error", err)
			}
			failing, wait = true, renewRetry
			continue
		case !ok:
			r.renewed(l, false, time.Time{})
			return true
		}
		r.renewed(l, true, asked.Add(r.ttl-LeaseMargin(r.ttl)))
		failing, wait = false, Beat(time.Now(), r.ttl/3)
	}
	return false
}

// renewed applies the result of a renewal, unless a later lease was acquired.
func (r *Role) renewed(l weir.Lease, held bool, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == l {
		r.held, r.until = held, until
	}
}

// Run acquires the role whenever it is free and calls lead each time, until ctx
// ends. lead returns when it has lost the role or ctx has ended.
func (r *Role) Run(ctx context.Context, lead func(weir.Lease)) {
	failing := false
	for ctx.Err() == nil {
		l, ok, err := r.Acquire(ctx)
		switch {
		case err != nil && ctx.Err() == nil && !failing:
			r.logger.Warn("role acquisition failed; retrying", "role", string(r.name), "error", err)
		case err == nil && ok:
			lead(l)
		}
		failing = err != nil
		backoff.Wait(ctx, Beat(time.Now(), r.ttl/3))
	}
}

// Release gives up a lease, so that another process need not wait for its end. It
// does nothing for the zero lease, and for one that was lost.
func (r *Role) Release(ctx context.Context, l weir.Lease) {
	if l == (weir.Lease{}) {
		return
	}
	r.renewed(l, false, time.Time{})
	if err := r.leaser.ReleaseRole(ctx, r.name, l); err != nil && ctx.Err() == nil {
		r.logger.Warn("role release failed; its lease expires", "role", string(r.name), "error", err)
	}
}
