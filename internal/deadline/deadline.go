// Package deadline has contexts that end at an instant, like those of
// context.WithDeadline, and cost next to nothing while nobody waits for their
// end: no timer, no entry with the parent. It is for calls of which nearly all
// are over long before: whoever knows the instant can often bound what it does by
// that alone.
//
// # Invariants
//
//   - A context behaves as one of context.WithDeadline does. Only where both its
//     parent has ended and its instant has passed before anybody asks is it not
//     known which was first; then it is the parent.
//   - An end is for ever.
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
	waited context.Context // of whoever waits; nil: nobody does
	cancel context.CancelFunc
	err    error // once it is known to have ended
}

// In gives a context that ends after a while. End has to be called.
func In(parent context.Context, d time.Duration) *Context {
	at := time.Now().Add(d)
	if sooner, ok := parent.Deadline(); ok && sooner.Before(at) {
		at = sooner
	}
	return &Context{parent: parent, at: at}
}

// Parent is what ends it before its time, but for End.
func (c *Context) Parent() context.Context { return c.parent }

// End ends it and frees what it holds. It may be called again.
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

// Done implements context.Context. From here on there is a timer.
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

// ended finds out whether it has. The caller holds the lock.
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
