package persistence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/dialect"
)

// writer is the group-commit writer: one goroutine, one connection. Requests
// are settled in the order in which they came.
type writer struct {
	s  *Store
	db *sqlx.DB

	mu     sync.Mutex
	queue  []*request
	begun  bool
	closed bool
	signal chan struct{} // one token: the queue or closed has changed

	down   atomic.Bool     // the database was not reached
	stop   context.Context // ends when close gives up
	giveUp context.CancelFunc
	ctx    context.Context // of statements
	ended  chan struct{}

	start  int64 // which row of the table writers is ours
	number int64 // of the last batch
	cache  *statementCache

	company time.Time // until when what is queued waits for more
	scratch []any     // arguments of the statement before
	flights *flights

	// Channels of this process as they were read last, under a fence; see
	// [transaction.readChannels].
	owned map[weir.ChannelID]channelState
	fence int64
}

// Bounds of a batch. A request that is larger goes alone.
const (
	maxRows  = 1000
	maxBytes = 1 << 20
)

// When the writer lingers, for how long, and how many waiting rows are enough not
// to.
const (
	busyRows   = 24
	lingerFor  = time.Millisecond
	enoughRows = 256
)

// Pauses between tries while the database is down.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// errClosed answers changes that were handed over too late.
var errClosed = errors.New("the store is closed")

func newWriter(s *Store) *writer {
	stop, cancel := context.WithCancel(context.Background())
	ctx := stop
	if s.sql.Brief {
		ctx = context.WithoutCancel(stop)
	}
	db := sqlx.NewDb(s.database.Pools().Batch, s.write.DriverName())
	return &writer{
		s: s, db: db, signal: make(chan struct{}, 1), stop: stop, giveUp: cancel, ctx: ctx,
		ended: make(chan struct{}), cache: newStatementCache(db, s.sql.Prepare), flights: newFlights(),
	}
}

// begin starts the goroutine under the number of this start.
func (w *writer) begin(start int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start, w.begun = start, true
	go w.run()
}

// startNumber is the number of this start; 0 before it has one.
func (w *writer) startNumber() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start
}

// hand queues a request. An error means that it was not taken.
func (w *writer) hand(r *request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errClosed
	case !w.begun:
		return errors.New("the store was not joined")
	}
	w.queue = append(w.queue, r)
	w.s.metrics.waiting.Set(float64(len(w.queue)))
	w.poke()
	return nil
}

func (w *writer) poke() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// close lets the writer finish what it was handed, until ctx ends.
func (w *writer) close(ctx context.Context) error {
	w.mu.Lock()
	begun := w.begun
	w.closed = true
	w.poke()
	w.mu.Unlock()
	defer w.giveUp()
	defer w.cache.close()
	if !begun {
		return nil
	}
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		w.giveUp()
		<-w.ended
		return unavailable("the store was closed before everything was written", ctx.Err())
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
		rows := b.rows()
		w.settle(b)
		if rows >= busyRows {
			w.linger()
		}
	}
}

// sleep waits for something to do: a request or the end.
func (w *writer) sleep() {
	if w.company.IsZero() {
		<-w.signal
		return
	}
	timer := time.NewTimer(time.Until(w.company))
	defer timer.Stop()
	select {
	case <-w.signal:
	case <-timer.C:
	}
}

// linger lets more requests come before the next batch, when the one before
// shows that many are on their way: a commit writes every page that it touches,
// however few rows it changes there. A writer with little to do never lingers.
// ADR 11 has what this costs and saves.
func (w *writer) linger() {
	w.mu.Lock()
	enough := w.closed || w.waits(enoughRows)
	w.mu.Unlock()
	if !enough {
		w.wait(lingerFor)
	}
}

// waits tells whether so many rows wait to be written.
func (w *writer) waits(rows int) bool {
	for _, r := range w.queue {
		if rows -= r.rows; rows <= 0 {
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
	if w.company = (time.Time{}); len(w.queue) == 0 {
		return nil, !w.closed
	}
	if w.company = w.awaited(); w.company.After(time.Now()) && !w.closed {
		return nil, true
	}
	b, n := newBatch(w.queue)
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	w.s.metrics.waiting.Set(float64(rest))
	return b, true
}

// awaited is until when what is queued may wait for more.
func (w *writer) awaited() time.Time {
	for _, r := range w.queue {
		if r.until.IsZero() {
			return time.Time{}
		}
	}
	return w.queue[0].until
}

// settle tries until every request of a batch is answered.
func (w *writer) settle(b *batch) {
	pauseFor := firstPause
	for {
		b.dropAbandoned()
		if len(b.requests) == 0 && !w.down.Load() {
			return
		}
		err := w.attempt(b)
		if err == nil {
			w.setDown(nil)
			w.flights.committed(&b.wrote)
			b.answer()
			if b.noticed {
				w.s.noticed()
			}
			if b.told {
				w.s.hooks.call()
			}
			return
		}
		kind, code := w.s.classify(err)
		w.s.metrics.errors.WithLabelValues(code).Inc()
		switch {
		case w.stop.Err() != nil:
			b.fail(unavailable("the store was closed; it is not known whether this was written", err))
			return
		case kind == dialect.Again:
			w.wait(jitter())
		case kind == dialect.Fault && len(b.requests) > 0 && !b.inDoubt:
			w.blame(b, err)
			return
		default:
			w.setDown(err)
			w.wait(pauseFor)
			pauseFor = min(2*pauseFor, lastPause)
		}
		w.s.metrics.retries.Inc()
	}
}

// blame finds the request that the database refused: each runs alone.
func (w *writer) blame(b *batch, err error) {
	if len(b.requests) == 1 {
		w.setDown(nil) // it answered
		w.s.log.Error("the database refused a request", "error", err)
		b.fail(w.s.fault("the database refused this", err))
		return
	}
	for _, r := range b.requests {
		w.settle(&batch{requests: []*request{r}})
	}
}

func (w *writer) wait(d time.Duration) { pause(w.stop, d) }

// setDown notes whether the database can be reached, and says so once.
func (w *writer) setDown(err error) {
	switch was := w.down.Swap(err != nil); {
	case err != nil && !was:
		w.s.metrics.down.Set(1)
		w.s.log.Warn("the store is down; changes are kept and tried again", "error", err)
	case err == nil && was:
		w.s.metrics.down.Set(0)
		w.s.log.Info("the store is back")
	}
}

// attempt runs the transaction of a batch, unless an earlier try turns out to
// have been committed.
func (w *writer) attempt(b *batch) error {
	if b.inDoubt {
		committed, err := w.committed(b.number)
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
	result := resultCommitted
	if err != nil {
		result = resultFailed
	} else {
		w.s.metrics.changes.Observe(float64(b.rows()))
	}
	w.s.metrics.transactions.WithLabelValues(result).Inc()
	w.s.metrics.duration.Observe(time.Since(begin).Seconds())
	return err
}

// committed finds out whether a batch whose COMMIT broke was committed. The
// row is locked until the server has ended the broken transaction.
func (w *writer) committed(number int64) (bool, error) {
	tx, err := w.db.BeginTxx(w.ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	var last int64
	if err := tx.GetContext(w.ctx, &last, w.s.text.marked, w.start); err != nil {
		return false, err
	}
	return last == number, nil
}

// transact writes a batch in one transaction.
func (w *writer) transact(b *batch) error {
	w.number++
	b.number = w.number
	if err := w.cache.fill(w.ctx); err != nil {
		return err
	}
	tx, err := w.db.BeginTxx(w.ctx, nil)
	if err != nil {
		return err
	}
	t := newTransaction(w, tx, b)
	if err := t.run(); err != nil {
		return errors.Join(err, ended(tx.Rollback()))
	}
	b.inDoubt = true
	err = tx.Commit()
	if err == nil {
		b.inDoubt = false
		return nil
	}
	// A deadlock is looked into as well: it may have been reported for a statement
	// before COMMIT, of which servers have executed some all the same.
	kind, _ := w.s.classify(err)
	if kind == dialect.Fault {
		b.inDoubt = false
	}
	if kind != dialect.Fault || !b.optimistic { // otherwise the connection is well
		w.s.reset(w.db.DB)
	}
	return err
}
