package commit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"weir"
	"weir/persistence/database"
)

// Work writes what a request asks for.
type Work interface {
	// Write does it, in the transaction of a batch. It may be called again for another
	// try, and then does the same from the start. An error is the database's; a request
	// that can't be done is refused with [Request.Refuse].
	Write(t *Tx, r *Request) error
}

// Request is a write of one caller.
type Request struct {
	Ctx         context.Context  // of a waiting caller; nil: the request is kept until it is written
	Channels    []weir.ChannelID // whose states it needs
	Transitions []weir.Transition
	Work        Work
	Rows        int // about how many it writes
	Bytes       int // about what they take in statements
	Answer      func(error)
	Until       time.Time // until then it may wait for others; zero: not at all
	// Alone is set if it changes what the works of others rely on, such as a channel: its
	// batch has no other request.
	Alone bool

	// IDs and At are given at the first try and kept, so that ids are in the order of
	// commits and a repeated try repeats the same; see [Tx.GiveIDs].
	IDs []int64
	At  time.Time

	err     error // of the latest try
	refusal error // of the batch: it is repeated without the request
}

// Refuse answers a request with an error. Its work writes nothing.
func (r *Request) Refuse(err error) { r.err = err }

// Exclude has the batch repeated without a request, which is answered with an error.
// Its result is the error with which the work or part ends the try.
func (r *Request) Exclude(err error) error {
	r.refusal = err
	return errExcluded
}

// errExcluded reports that a request can't be done: the transaction is repeated without
// it.
var errExcluded = errors.New("a request is excluded")

// Refused returns the error that a request is answered with.
func (r *Request) Refused() error { return r.err }

// batch is the set of requests that one transaction writes.
type batch struct {
	requests []*Request
	row      int64 // the id of its row, in the latest try
	inDoubt  bool  // COMMIT was sent, and its result is unknown
	verify   bool  // an optimistic try failed

	optimistic bool // the latest try was

	incarnations map[weir.ChannelID]int64 // that begin in it
	changed      []weir.ChannelID         // channels that it changes
}

// newBatch takes the longest run from the front of the queue that fits into
// one transaction, and returns how many requests that are.
func newBatch(queue []*Request) (*batch, int) {
	rows, bytes := 0, 0
	revisions := map[weir.Ref]int64{}
	for i, r := range queue {
		rows, bytes = rows+r.Rows, bytes+r.Bytes
		if i > 0 && (rows > MaxRows || bytes > MaxBytes || r.Alone || queue[0].Alone || !r.chains(revisions)) {
			return &batch{requests: append([]*Request(nil), queue[:i]...)}, i
		}
		r.note(revisions)
	}
	return &batch{requests: append([]*Request(nil), queue...)}, len(queue)
}

// chains reports whether each transition of a contact that the batch already
// changes replaces the revision that the batch leaves. Two that do not chain
// have to be judged one after the other.
func (r *Request) chains(revisions map[weir.Ref]int64) bool {
	for i := range r.Transitions {
		t := &r.Transitions[i]
		if rev, ok := revisions[t.Contact.Ref]; ok && rev != t.From {
			return false
		}
	}
	return true
}

func (r *Request) note(revisions map[weir.Ref]int64) {
	for i := range r.Transitions {
		t := &r.Transitions[i]
		revisions[t.Contact.Ref] = t.Contact.Rev
	}
}

func (b *batch) rows() int {
	n := 0
	for _, r := range b.requests {
		n += r.Rows
	}
	return n
}

// dropAbandoned removes requests whose caller has gone. It leaves a batch in
// doubt as it is: it may have been committed.
func (b *batch) dropAbandoned() {
	if b.inDoubt {
		return
	}
	kept := b.requests[:0]
	for _, r := range b.requests {
		if r.Ctx != nil && r.Ctx.Err() != nil {
			r.Answer(database.Unavailable("the request ended before it was stored", r.Ctx.Err()))
			continue
		}
		kept = append(kept, r)
	}
	clear(b.requests[len(kept):])
	b.requests = kept
}

func (b *batch) answer() {
	for _, r := range b.requests {
		r.Answer(r.err)
	}
}

func (b *batch) fail(err error) {
	for _, r := range b.requests {
		r.Answer(err)
	}
}

// Submit queues a request. An error means that it was not taken.
func (s *DB) Submit(r *Request) error {
	w := s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return database.Unavailable("the store takes nothing", errors.New("the store is closed"))
	case !w.begun:
		return database.Unavailable("the store takes nothing", errors.New("the store was not joined"))
	}
	w.queue = append(w.queue, r)
	s.Metrics.Waiting.Set(float64(len(w.queue)))
	w.poke()
	return nil
}

// Waiting returns how many requests wait for the writer.
func (s *DB) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

const (
	// downTimeout is how long a caller waits for a store that went down after the
	// request was submitted.
	downTimeout = 2 * time.Second
	// submitWithin is how long a caller waits for another goroutine to submit the request.
	submitWithin = 20 * time.Millisecond
)

// Call is a request whose caller waits for the answer.
type Call struct {
	db        *DB
	request   *Request
	ctx       context.Context // of the caller
	cancel    context.CancelFunc
	submitted atomic.Bool
	answered  chan error
}

// NewCall makes a call of a request, whose own Answer is called first. The error says
// that the store is down.
func (s *DB) NewCall(ctx context.Context, r *Request) (*Call, error) {
	if s.writer.down.Load() {
		return nil, database.Unavailable("the store is down", nil)
	}
	c := &Call{db: s, request: r, ctx: ctx, answered: make(chan error, 1)}
	r.Ctx, c.cancel = context.WithCancel(ctx)
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
	defer c.cancel()
	pause := downTimeout
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
			return database.Unavailable("it is not known whether this was stored", c.ctx.Err())
		case <-late.C:
			if !c.Submit(nil) && c.db.writer.down.Load() {
				return database.Unavailable("the store is down; it is not known whether this was stored", nil)
			}
			late.Reset(downTimeout)
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
