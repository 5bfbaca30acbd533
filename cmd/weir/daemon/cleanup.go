package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// grace is what a cleanup that honours its context needs to say so after the
// context has ended.
const grace = 500 * time.Millisecond

// cleanups undo what set-up did, the last step first.
type cleanups struct {
	steps []cleanup
}

type cleanup struct {
	name string
	undo func(context.Context) error
}

func (c *cleanups) add(name string, undo func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name, undo})
}

// run takes every step, whatever became of the ones before it, and joins what
// went wrong. A step that does not heed the end of ctx is left behind, because
// the process must end.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for i := len(c.steps) - 1; i >= 0; i-- {
		errs = append(errs, c.steps[i].run(ctx))
	}
	c.steps = nil
	return errors.Join(errs...)
}

// run takes one step; its error names it.
func (s cleanup) run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.undo(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(grace):
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
