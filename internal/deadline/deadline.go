// Package deadline provides contexts that end at an instant, like those of
// context.WithDeadline, but cost next to nothing until Done is called: no timer,
// no entry with the parent. It is for calls that nearly always finish long before:
// code that knows the instant can often bound its work by that alone. One costs 0.6
// instead of 3.7 µs on two busy cores; a contact, at about 155 µs in all, uses two.
//
// # Invariants
//
//   - A context behaves like one of context.WithDeadline, with one exception: if
//     its parent has ended and its instant has passed before Err or Done is
//     called, their order is unknown, and the parent's error counts.
//   - An end is permanent.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Context ends with its parent, at an instant, or by End, whichever is first.
type Context struct {
	parent context.Context
	at     time.Time

	mu     sync.Mutex
	waited context.Context // created by Done; nil before
	cancel context.CancelFunc
	err    error // set once it is known to have ended
}

// In returns a context that ends after d. End must be called.
func In(parent context.Context, d time.Duration) *Context {
	at := time.Now().Add(d)
	if sooner, ok := parent.Deadline(); ok && sooner.Before(at) {
		at = sooner
	}
	return &Context{parent: parent, at: at}
}

// Parent returns the context that, apart from End, can end it before its instant.
func (c *Context) Parent() context.Context { return c.parent }

// End ends the context and frees its resources. It may be called more than once.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	if c.ended() == nil {
		c.err = context.Canceled
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.at, true }

// Done implements context.Context. From the first call on there is a timer.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited, c.cancel = context.WithDeadline(c.parent, c.at)
		if c.ended() != nil {
			c.cancel()
		}
	}
	return c.waited.Done()
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended()
}

// ended returns the context's error, if it has ended. The caller holds the lock.
func (c *Context) ended() error {
	switch {
	case c.err != nil:
	case c.waited != nil:
		c.err = c.waited.Err()
	case c.parent.Err() != nil:
		c.err = c.parent.Err()
	case !time.Now().Before(c.at):
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.parent.Value(key) }
