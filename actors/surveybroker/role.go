package surveybroker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/ops"
)

// role is the right to run the surveys, held under a lease.
type role struct {
	leaser ops.RoleLeaser

	mu    sync.Mutex
	lease weir.Lease
	has   bool
	until time.Time // end of the time in which this process may act under the lease
}

// leading reports whether this process may write the decisions of rounds.
func (s *System) leading() bool {
	s.role.mu.Lock()
	defer s.role.mu.Unlock()
	return s.role.has && time.Now().Before(s.role.until)
}

// held returns the current lease.
func (r *role) held() weir.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease
}

// epoch returns the epoch of the current lease.
func (r *role) epoch() int64 { return r.held().Epoch }

// keepRole acquires the role when it is free, and renews it.
func (s *System) keepRole() {
	margin := min(leaseMargin, s.leaseTTL/5)
	for s.looping.Err() == nil {
		asked := time.Now()
		ctx, cancel := context.WithTimeout(s.looping, s.leaseTTL/3)
		taken, lost := s.role.keep(ctx, asked.Add(s.leaseTTL-margin), s.logger)
		cancel()
		switch {
		case taken:
			s.logger.Info("this process runs the surveys")
			s.metrics.leading.Set(1)
			s.post(roleAcquired{})
		case lost:
			s.logger.Warn("another process may run the surveys now")
			s.metrics.leading.Set(0)
			s.post(roleLost{})
		}
		select {
		case <-s.looping.Done():
		case <-time.After(supervise.Beat(time.Now(), s.leaseTTL/3)):
		}
	}
}

// keep acquires or renews the lease once.
func (r *role) keep(ctx context.Context, until time.Time, logger *slog.Logger) (taken, lost bool) {
	r.mu.Lock()
	had, lease := r.has, r.lease
	r.mu.Unlock()
	var ok bool
	var err error
	if had {
		ok, err = r.leaser.RenewRole(ctx, ops.RoleSurveyBroker, lease)
	} else {
		lease, ok, err = r.leaser.AcquireRole(ctx, ops.RoleSurveyBroker)
	}
	if err != nil {
		if ctx.Err() == nil || had {
			logger.Warn("the role of the survey broker could not be kept or taken; trying again", "error", err)
		}
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.has = ok
	if ok {
		r.lease, r.until = lease, until
	}
	return ok && !had, had && !ok
}

// release releases the role.
func (r *role) release(ctx context.Context, logger *slog.Logger) {
	r.mu.Lock()
	had, lease := r.has, r.lease
	r.has = false
	r.mu.Unlock()
	if !had {
		return
	}
	if err := r.leaser.ReleaseRole(ctx, ops.RoleSurveyBroker, lease); err != nil {
		logger.Warn("the role of the survey broker could not be given back; it expires", "error", err)
	}
}
