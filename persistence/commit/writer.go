package commit

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/database"
	"weir/persistence/dialect"
)

// writer is the group-commit writer: one goroutine, one connection. Requests
// are committed in the order in which they were submitted.
type writer struct {
	s  *DB
	db *sqlx.DB

	mu     sync.Mutex
	queue  []*Request
	begun  bool
	closed bool
	signal chan struct{} // one token: the queue or closed has changed

	down   atomic.Bool     // the database was not reached
	since  atomic.Int64    // in nanoseconds of Unix: when the batch that is being written began; 0: there is none
	stop   context.Context // ends when close gives up
	giveUp context.CancelFunc
	ctx    context.Context // of statements
	ended  chan struct{}

	confirmed atomic.Int64                // the row of the last batch that the database has confirmed; 0: none
	texts     map[dialect.TextName]string // see [Tx.Text]

	delayed time.Time // until when what is queued waits for more

	// Channels as they were read last, under a fence; see [Tx.readChannels].
	known map[weir.ChannelID]ChannelState
	fence int64
	// The latest incarnation of each channel's broker, by number; see [DB.Incarnate].
	incarnations map[weir.ChannelID]int64
	incarnation  int64 // the latest number
	// contactEvents reports whether events of contacts are enabled. It was read with the
	// channels, and is good as long as they are.
	contactEvents bool
}

// Bounds of a batch. A request that is larger goes alone.
const (
	MaxRows  = 1000
	MaxBytes = 1 << 20
)

// The batch delay: after a batch of busyRows the next one begins no earlier than batchDelay
// after that one did, unless enoughRows wait. What is left of it is waited for if it is
// leastWait or more: an idle process wakes from shorter timers a whole millisecond later.
const (
	busyRows   = 24
	batchDelay = time.Millisecond
	leastWait  = batchDelay / 2
	enoughRows = 256
)

// Pauses between tries while the database is down.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

func newWriter(s *DB) *writer {
	stop, cancel := context.WithCancel(context.Background())
	ctx := stop
	if s.Dialect.Brief {
		ctx = context.WithoutCancel(stop)
	}
	db := sqlx.NewDb(s.Database.Pools().Batch, s.Write.DriverName())
	return &writer{
		s: s, db: db, signal: make(chan struct{}, 1), stop: stop, giveUp: cancel, ctx: ctx,
		ended: make(chan struct{}), incarnations: map[weir.ChannelID]int64{}, texts: map[dialect.TextName]string{},
	}
}

// begin starts the goroutine.
func (w *writer) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
	go w.run()
}

func (w *writer) poke() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// close lets the writer write what was submitted, until ctx ends.
func (w *writer) close(ctx context.Context) error {
	w.mu.Lock()
	begun := w.begun
	w.closed = true
	w.poke()
	w.mu.Unlock()
	defer w.giveUp()
	if !begun {
		return nil
	}
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		w.giveUp()
		<-w.ended
		return database.Unavailable("the store was closed before everything was written", ctx.Err())
	}
}

func (w *writer) run() {
	defer close(w.ended)
	for {
		b, more := w.collect()
		if !more {
			return
		}
		if b == nil {
			w.sleep()
			continue
		}
		rows, began := b.rows(), time.Now()
		w.commitBatch(b)
		if rows >= busyRows {
			w.waitForMore(batchDelay - time.Since(began))
		}
	}
}

// sleep waits for something to do: a request or the end.
func (w *writer) sleep() {
	if w.delayed.IsZero() {
		<-w.signal
		return
	}
	timer := time.NewTimer(time.Until(w.delayed))
	defer timer.Stop()
	select {
	case <-w.signal:
	case <-timer.C:
	}
}

// waitForMore waits for what is left of the batch delay, when the batch before shows that
// many requests are on their way: a commit writes every page that it touches, however few
// rows it changes there. While a slow commit was under way, as many have come as a delay
// after it would bring. A writer with little to do never delays. ADR 10 has the cost and the
// gain.
func (w *writer) waitForMore(left time.Duration) {
	if left < leastWait {
		return
	}
	w.mu.Lock()
	enough := w.closed || w.isWaiting(enoughRows)
	w.mu.Unlock()
	if !enough {
		w.wait(left)
	}
}

// isWaiting reports whether so many rows wait to be written.
func (w *writer) isWaiting(rows int) bool {
	for _, r := range w.queue {
		if rows -= r.Rows; rows <= 0 {
			return true
		}
	}
	return false
}

// collect takes what waits. more is false when the writer is closed and
// nothing is left.
func (w *writer) collect() (_ *batch, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.delayed = (time.Time{}); len(w.queue) == 0 {
		return nil, !w.closed
	}
	if w.delayed = w.delayedUntil(); w.delayed.After(time.Now()) && !w.closed {
		return nil, true
	}
	b, n := newBatch(w.queue)
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	w.s.Metrics.Waiting.Set(float64(rest))
	return b, true
}

// delayedUntil returns until when the queued requests may wait for more.
func (w *writer) delayedUntil() time.Time {
	for _, r := range w.queue {
		if r.Until.IsZero() {
			return time.Time{}
		}
	}
	return w.queue[0].Until
}

// commitBatch tries until every request of a batch is answered.
func (w *writer) commitBatch(b *batch) {
	w.since.Store(time.Now().UnixNano())
	defer w.since.Store(0)
	pauseFor := firstPause
	for {
		b.dropAbandoned()
		if len(b.requests) == 0 && !w.down.Load() {
			return
		}
		if len(b.requests) > 0 && w.beginInMemory(b) { // the parts have no batch that they could apply
			maps.Copy(w.incarnations, b.incarnations)
			b.answer()
			return
		}
		err := w.attempt(b)
		if err == nil {
			w.setDown(nil)
			w.confirmed.Store(b.row)
			maps.Copy(w.incarnations, b.incarnations)
			for _, id := range b.changed {
				delete(w.known, id)
			}
			for _, p := range w.s.parts {
				p.Committed()
			}
			b.answer()
			return
		}
		kind, code := w.s.Classify(err)
		w.s.Metrics.Errors.WithLabelValues(code).Inc()
		switch {
		case errors.Is(err, database.ErrNotOwner):
			b.fail(err)
			return
		case w.stop.Err() != nil:
			b.fail(database.Unavailable("the store was closed; it is not known whether this was written", err))
			return
		case kind == dialect.Again:
			w.wait(database.Jitter())
		case kind == dialect.Fault && len(b.requests) > 0 && !b.inDoubt:
			w.blame(b, err)
			return
		default:
			w.setDown(err)
			w.wait(pauseFor)
			pauseFor = min(2*pauseFor, lastPause)
		}
		w.s.Metrics.Retries.Inc()
	}
}

// blame finds the request that the database rejected: each is written alone.
func (w *writer) blame(b *batch, err error) {
	if len(b.requests) == 1 {
		w.setDown(nil) // it answered
		w.s.Logger.Error("request rejected by the database", "error", err)
		b.fail(w.s.Fault("the database rejected this", err))
		return
	}
	for _, r := range b.requests {
		w.commitBatch(&batch{requests: []*Request{r}})
	}
}

// stuck is for how long the writer has been trying to commit the same batch.
func (w *writer) stuck(now time.Time) time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, since))
}

func (w *writer) wait(d time.Duration) { database.Pause(w.stop, d) }

// setDown records whether the database can be reached, and logs a change once.
func (w *writer) setDown(err error) {
	switch was := w.down.Swap(err != nil); {
	case err != nil && !was:
		w.s.Metrics.Down.Set(1)
		w.s.Logger.Warn("store down; changes are kept and retried", "error", err)
	case err == nil && was:
		w.s.Metrics.Down.Set(0)
		w.s.Logger.Info("store available again")
	}
}

// attempt runs the transaction of a batch, unless an earlier try turns out to
// have been committed.
func (w *writer) attempt(b *batch) error {
	if b.inDoubt {
		committed, err := w.committed(b.row)
		if err != nil {
			return err
		}
		b.inDoubt = false
		if committed {
			return nil
		}
	}
	begin := time.Now()
	err := w.transactAll(b)
	result := database.ResultCommitted
	if err != nil {
		result = database.ResultFailed
	} else {
		w.s.Metrics.Changes.Observe(float64(b.rows()))
	}
	w.s.Metrics.Transactions.WithLabelValues(result).Inc()
	w.s.Metrics.Duration.Observe(time.Since(begin).Seconds())
	return err
}

// committed reports whether a batch whose COMMIT broke was committed. Raising the fence
// waits until the server has ended the broken transaction. If that has yet to insert its row,
// the new fence rejects it whenever it does. Only another owner can have deleted the row: then
// the next try finds that owner.
func (w *writer) committed(row int64) (bool, error) {
	w.known = nil
	if _, err := w.db.ExecContext(w.ctx, w.s.text.raiseFence, w.s.Start()); err != nil {
		return false, err
	}
	var n int64
	err := w.db.GetContext(w.ctx, &n, w.s.text.logged, row)
	return n > 0, err
}

// setFence clears the cache of channels when the fence of this process changes.
func (w *writer) setFence(fence int64) {
	if w.known == nil || fence != w.fence {
		w.known, w.fence = map[weir.ChannelID]ChannelState{}, fence
	}
}

// setContactEvents sets whether events of contacts are written.
func (w *writer) setContactEvents(enabled bool) {
	if enabled && !w.contactEvents {
		w.s.Logger.Info("contact events enabled")
	}
	w.contactEvents = enabled
}

// transact writes a batch in one transaction.
func (w *writer) transact(b *batch) error {
	tx, err := w.s.Database.Begin(w.ctx, w.db)
	if err != nil {
		return err
	}
	t := &Tx{w: w, sql: tx, Ctx: w.ctx, b: b, Now: time.Now(), states: map[weir.ChannelID]ChannelState{}}
	if err := t.run(); err != nil {
		return errors.Join(err, database.Ended(tx.Rollback()))
	}
	b.inDoubt = true
	if err = tx.Commit(w.ctx, t.list); err == nil {
		return w.s.CheckPresent()
	}
	// A deadlock is looked into as well: it may have been reported for a statement
	// before COMMIT, and servers have executed COMMIT all the same.
	kind, _ := w.s.Classify(err)
	if kind == dialect.Fault || errors.Is(err, dialect.ErrNotCommitted) {
		b.inDoubt = false
	}
	if kind != dialect.Fault || !b.optimistic { // otherwise the connection is well
		w.s.Reset(w.db.DB)
	}
	return err
}
