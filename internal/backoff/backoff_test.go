package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff_DelaysDoubleUpToTheLimit(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{1: 3, 2: 6, 3: 12, 4: 20, 100: 20} {
		if n == 0 || want == 0 {
			continue
		}
		if got := Delay(n, 3, 20); got != want {
			t.Errorf("after failure %d: %d, want %d", n, got, want)
		}
	}
	for range 100 {
		if d := Random(3, 100, 10_000); d < 200 || d > 400 {
			t.Errorf("the jittered delay of 400 is %d", d)
		}
	}
}

func TestBackoff_WaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if !Wait(ctx, time.Millisecond) || time.Since(begun) != time.Millisecond {
			t.Errorf("waited %v", time.Since(begun))
		}
		if Wait(ctx, time.Hour) || time.Since(begun) != time.Second {
			t.Errorf("waited %v for a context of one second", time.Since(begun))
		}
	})
}
