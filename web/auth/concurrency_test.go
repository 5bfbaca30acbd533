package auth_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/web/auth"
)

// Scenario 189: a released operation admits a waiting caller.
func TestConcurrency_ReleaseAdmitsAWaitingCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := auth.NewConcurrencyLimit(1, 1)
		leave, _ := s.Acquire(t.Context(), "a", 0)
		go func() {
			time.Sleep(time.Second)
			leave()
			leave() // releases once, not twice
		}()
		if _, ok := s.Acquire(t.Context(), "b", 2*time.Second); !ok {
			t.Error("the waiting caller was not admitted")
		}
		if _, ok := s.Acquire(t.Context(), "c", 2*time.Second); ok {
			t.Error("two callers were admitted")
		}
	})
}
