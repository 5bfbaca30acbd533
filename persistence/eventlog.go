package persistence

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/events"
)

var (
	_ events.Log     = (*Store)(nil)
	_ events.Emitter = (*Store)(nil)
)

// Bounds of one row of events, and of what one read decodes.
const (
	blockEvents = 512
	blockBytes  = 256 << 10
	readBytes   = 4 << 20
)

// writeEvents writes what the batch emitted, in few rows. Ids come from one row that
// is held until the commit, so that they are in the order of commits, without
// gaps, whichever process commits: a reader that goes by them skips none. A
// try that is rolled back returns its ids; no reader has seen them.
func (t *transaction) writeEvents() error {
	if len(t.events) == 0 {
		return nil
	}
	if _, err := t.exec("UPDATE meta SET value = value + ? WHERE name = 'events'", len(t.events)); err != nil {
		return err
	}
	var last int64
	if err := t.get(&last, latestEvent); err != nil {
		return err
	}
	first := last - int64(len(t.events)) + 1
	for list := t.events; len(list) > 0; {
		n := blockSize(list)
		payload, err := encodeBlock(list[:n], t.now)
		if err != nil {
			return fmt.Errorf("encode events: %w", err)
		}
		_, err = t.exec("INSERT INTO events (id, at, payload) VALUES (?, ?, ?)", first+int64(n)-1, micros(t.now), payload)
		if err != nil {
			return err
		}
		list, first = list[n:], first+int64(n)
	}
	t.b.announced = true
	return nil
}

const latestEvent = "SELECT value FROM meta WHERE name = 'events'"

// blockSize is how many events go into one row: at least one.
func blockSize(list []events.Event) int {
	bytes := 0
	for i := range list {
		bytes += len(list[i].Data) + len(list[i].Subject) + 64
		if i == blockEvents || i > 0 && bytes > blockBytes {
			return i
		}
	}
	return len(list)
}

// EventsSince implements [events.Log].
func (s *Store) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT id, payload FROM events WHERE id > ? ORDER BY id LIMIT ?", after, min(limit, blockEvents))
	if err != nil {
		return nil, s.failure("read events", err)
	}
	defer func() { _ = rows.Close() }()
	var list []events.Event
	for bytes := 0; bytes < readBytes && len(list) < limit && rows.Next(); {
		var last int64
		var payload sql.RawBytes // what is decoded of it is copied
		if err := rows.Scan(&last, &payload); err != nil {
			return nil, s.failure("read events", err)
		}
		bytes += len(payload)
		block, err := decodeBlock(last, payload)
		if err != nil {
			return nil, s.failure("read events", err)
		}
		for _, e := range block {
			if e.ID > after && len(list) < limit {
				list = append(list, e)
			}
		}
	}
	return list, s.failure("read events", rows.Err())
}

// LatestEvent implements [events.Log].
func (s *Store) LatestEvent(ctx context.Context) (int64, error) {
	var last int64
	err := s.read.GetContext(ctx, &last, latestEvent)
	return last, s.failure("read the number of events", err)
}

// OnEvents implements [events.Log].
func (s *Store) OnEvents(committed func()) (stop func()) { return s.hooks.add(committed) }

// Emit implements [events.Emitter].
func (s *Store) Emit(ctx context.Context, list ...events.Event) error {
	bytes := 0
	for i := range list {
		bytes += 100 + len(list[i].Subject) + len(list[i].Data)
	}
	_, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, emission(list), len(list), bytes, answer)
	})
	return err
}

// emission is work that only tells.
type emission []events.Event

func (e emission) write(t *transaction, _ *request) error {
	t.emit(e...)
	return nil
}

// PurgeEvents deletes events that were written before an instant, oldest
// first, at most limit rows of them. It returns how many rows it deleted;
// fewer than limit means that nothing of that age is left.
func (s *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		want := min(purgeChunk, limit-total)
		n, err := s.purgeEvents(ctx, before, want)
		total += n
		if err != nil || n < want {
			return total, s.failure("purge events", err)
		}
	}
	return total, nil
}

func (s *Store) purgeEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	n := 0
	err := s.transaction(ctx, func(tx *sqlx.Tx) error {
		n = 0
		var rows []struct {
			ID int64 `db:"id"`
			At int64 `db:"at"`
		}
		if err := tx.SelectContext(ctx, &rows, "SELECT id, at FROM events ORDER BY id LIMIT ?", limit); err != nil {
			return err
		}
		for n < len(rows) && rows[n].At < micros(before) {
			n++
		}
		if n == 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM events WHERE id <= ?", rows[n-1].ID)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// hooks are functions that others want called.
type hooks struct {
	mu   sync.Mutex
	next int
	list map[int]func()
}

func (h *hooks) add(f func()) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = map[int]func(){}
	}
	n := h.next
	h.next++
	h.list[n] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.list, n)
	}
}

func (h *hooks) call() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.list {
		f()
	}
}
