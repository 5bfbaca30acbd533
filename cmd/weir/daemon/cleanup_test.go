package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCleanup_UndoesTheLastStepFirstAndAllOfThem(t *testing.T) {
	t.Parallel()
	var c cleanups
	var order []string
	step := func(name string, err error) {
		c.add(name, func(context.Context) error { order = append(order, name); return err })
	}
	broken, torn := errors.New("broken"), errors.New("torn")
	step("store", broken)
	step("listener", nil)
	step("server", torn)
	err := c.run(t.Context())
	if diff := cmp.Diff([]string{"server", "listener", "store"}, order); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(err, broken) || !errors.Is(err, torn) || err.Error() != "server: torn\nstore: broken" {
		t.Errorf("%v; want both mistakes by name", err)
	}
	if err := c.run(t.Context()); err != nil || len(order) != 3 {
		t.Errorf("run again: %v, %v", order, err)
	}
}

// The process exits even if a step ignores the end of its context.
func TestCleanup_IsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cleanups
		stuck := make(chan struct{})
		reached := false
		c.add("store", func(context.Context) error { reached = true; return nil })
		c.add("actors", func(context.Context) error { <-stuck; return nil })
		c.add("server", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := c.run(ctx)
		if took := time.Since(start); took > time.Second+2*cleanupGrace {
			t.Errorf("took %v", took)
		}
		if err == nil || !reached {
			t.Errorf("error %v, the step behind the stuck one reached: %v", err, reached)
		}
		close(stuck)
	})
}
