package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// cleanupGrace is the time that a cleanup which honors its context has to return after
// the context has ended.
const cleanupGrace = 500 * time.Millisecond

// cleanups undo the set-up, the last step first.
type cleanups []cleanup

type cleanup struct {
	name string
	undo func(context.Context) error
}

func (c *cleanups) add(name string, undo func(context.Context) error) {
	*c = append(*c, cleanup{name, undo})
}

// run runs every step, even if earlier ones failed, and joins the errors. A step
// that does not return within cleanupGrace after ctx has ended is abandoned, because the
// process must exit.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for _, step := range slices.Backward(*c) {
		errs = append(errs, step.run(ctx))
	}
	*c = nil
	return errors.Join(errs...)
}

// run runs one step; its error names the step.
func (s cleanup) run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.undo(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(cleanupGrace):
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
