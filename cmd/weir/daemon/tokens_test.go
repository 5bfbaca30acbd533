package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"weir/ops"
	"weir/web/auth"
)

// shaky is a token store whose reads fail a given number of times.
type shaky struct {
	ops.TokenStore
	fails, reads int
}

func (s *shaky) LiveTokens(context.Context, time.Time) ([]ops.Token, bool, error) {
	if s.reads++; s.fails > 0 {
		s.fails--
		return nil, false, errors.New("down")
	}
	return nil, true, nil
}

// The signal that a token was revoked comes once. If the store cannot be read at
// that moment, the read is retried after readTokensEvery, not after readTokensSharedEvery:
// the revoked token would be accepted until then.
func TestTokensAreReadAgainSoonAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &shaky{}
		var tell func()
		read := refreshTokensJob(auth.NewGate(auth.GateOptions{Store: store}), true, func(changed func()) { tell = changed })
		stop := startJobs([]job{read}, slog.New(slog.DiscardHandler))
		time.Sleep(time.Second) // the first read
		synctest.Wait()
		store.fails, store.reads = 3, 0
		tell()
		time.Sleep(3*readTokensEvery + time.Second)
		synctest.Wait()
		if store.reads != 4 || store.fails != 0 {
			t.Errorf("it was read %d times, and has still to fail %d times", store.reads, store.fails)
		}
		time.Sleep(2 * readTokensEvery)
		synctest.Wait()
		if store.reads != 4 {
			t.Error("it is read often although nothing is wrong")
		}
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
