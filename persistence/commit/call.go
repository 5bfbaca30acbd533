package commit

import (
	"context"
	"sync/atomic"
	"time"

	"weir/persistence/member"
)

const (
	// patience is how long a caller waits for a store that went down after the
	// request was submitted.
	patience = 2 * time.Second
	// submitWithin is how long a caller waits for another goroutine to submit the request.
	submitWithin = 20 * time.Millisecond
)

// Call is a request whose caller waits for the answer.
type Call struct {
	db        *DB
	request   *Request
	ctx       context.Context // of the caller
	takeBack  context.CancelFunc
	submitted atomic.Bool
	answered  chan error
}

// NewCall makes a call of a request, whose own Answer is called first. The error says
// that the store is down.
func (s *DB) NewCall(ctx context.Context, r *Request) (*Call, error) {
	if s.writer.down.Load() {
		return nil, member.Unavailable("the store is down", nil)
	}
	c := &Call{db: s, request: r, ctx: ctx, answered: make(chan error, 1)}
	r.Ctx, c.takeBack = context.WithCancel(ctx)
	first := r.Answer
	r.Answer = func(err error) {
		if first != nil {
			first(err)
		}
		c.answered <- err
	}
	return c, nil
}

// Submit passes the request to the writer, after it has called prepare. It does both
// once: another call has no effect and returns false.
func (c *Call) Submit(prepare func()) bool {
	if !c.submitted.CompareAndSwap(false, true) {
		return false
	}
	if prepare != nil {
		prepare()
	}
	if err := c.db.Submit(c.request); err != nil {
		c.request.Answer(err)
	}
	return true
}

// Wait waits for the answer, and submits the request if no one else does in time. Once
// the store is down it does not wait for its return: the request is canceled, unless
// its COMMIT was sent.
func (c *Call) Wait() error {
	defer c.takeBack()
	pause := patience
	if !c.submitted.Load() {
		pause = submitWithin
	}
	late := time.NewTimer(pause)
	defer late.Stop()
	for {
		select {
		case err := <-c.answered:
			return err
		case <-c.ctx.Done():
			return member.Unavailable("it is not known whether this was stored", c.ctx.Err())
		case <-late.C:
			if !c.Submit(nil) && c.db.writer.down.Load() {
				return member.Unavailable("the store is down; it is not known whether this was stored", nil)
			}
			late.Reset(patience)
		}
	}
}

// Await submits a request to the writer and waits for the answer.
func (s *DB) Await(ctx context.Context, r *Request) error {
	c, err := s.NewCall(ctx, r)
	if err != nil {
		return err
	}
	c.Submit(nil)
	return c.Wait()
}
