package events

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
)

var (
	_ events.Log        = (*Log)(nil)
	_ events.Emitter    = (*Log)(nil)
	_ events.TypeReader = (*Log)(nil)
	_ events.Interest   = (*Log)(nil)
)

// Log is the log of events.
type Log struct {
	*commit.DB
	part  eventPart
	hooks database.Hooks
}

// NewLog returns the log in a database.
func NewLog(db *commit.DB) *Log {
	l := &Log{DB: db}
	l.part.log = l
	return l
}

// Bounds of one row of events, and of what one read decodes.
const (
	blockBytes = 256 << 10
	readBytes  = 4 << 20
)

// eventPart is the part of events.
type eventPart struct {
	log      *Log
	contacts contactEvents
	written  bool
}

// Part writes the events of batches, behind everything else.
func (l *Log) Part() commit.Part { return &l.part }

// Begin implements [commit.Part].
func (p *eventPart) Begin() {
	if p.written = false; len(p.contacts.ends) > 0 {
		p.contacts.reset()
	}
}

// Committed implements [commit.Part].
func (p *eventPart) Committed() {
	if p.written {
		p.log.hooks.Call()
	}
}

// Flush writes what the batch emitted, in few rows. Ids come from one row that
// is held until the commit, so that they are in the order of commits, without
// gaps, whichever process commits: a reader that goes by them skips none. A
// try that is rolled back returns its ids; no reader has seen them.
func (p *eventPart) Flush(t *commit.Tx) error {
	if len(t.Events()) == 0 && len(p.contacts.ends) == 0 {
		return nil
	}
	p.written = true
	list, err := rowsOf(t.Events(), t.Now)
	if err != nil {
		return err
	}
	return writeRows(append(list, p.contacts.rows()...), t.Now, func(text string, args ...any) error {
		t.Add(text, args...)
		return nil
	})
}

// row is a row of the log.
type row struct {
	events  int
	payload []byte // not used again: the statement may be sent later
}

// rowsOf returns the rows of events.
func rowsOf(list []events.Event, now time.Time) (rows []row, err error) {
	for len(list) > 0 {
		n := blockSize(list)
		payload, err := encodeBlock(list[:n], now)
		if err != nil {
			return nil, fmt.Errorf("encode events: %w", err)
		}
		rows, list = append(rows, row{n, payload}), list[n:]
	}
	return rows, nil
}

// writeRows writes rows by two statements each, whose results are not needed: the row of
// ids is read where it was changed.
func writeRows(list []row, now time.Time, exec func(text string, args ...any) error) error {
	for _, r := range list {
		if err := exec("UPDATE meta SET value = value + ? WHERE name = 'events'", int64(r.events)); err != nil {
			return err
		}
		if err := exec("INSERT INTO events (id, at, payload) SELECT value, ?, ? FROM meta WHERE name = 'events'", columns.Micros(now), r.payload); err != nil {
			return err
		}
	}
	return nil
}

// AppendEvents writes events in a transaction beside the writer's, as its last step: until the
// commit no other one gets ids. [Log.EventsAppended] follows the commit.
func (l *Log) AppendEvents(ctx context.Context, tx *sqlx.Tx, now time.Time, list ...events.Event) error {
	rows, err := rowsOf(list, now)
	if err != nil {
		return err
	}
	return writeRows(rows, now, func(text string, args ...any) error {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	})
}

// EventsAppended calls the functions of [Log.OnEvents]: this process or another has
// written events.
func (l *Log) EventsAppended() { l.hooks.Call() }

const latestEvent = "SELECT value FROM meta WHERE name = 'events'"

// blockSize is how many events go into one row: at least one.
func blockSize(list []events.Event) int {
	size := 0
	for i := range list {
		size += len(list[i].Data) + len(list[i].Subject) + 64
		if i == columns.EventsPerRow || i > 0 && size > blockBytes {
			return i
		}
	}
	return len(list)
}

// eachRow calls a function for the rows that follow an event, in order, until it returns
// false or a bounded amount was read. The function must copy what it keeps of a payload.
func (l *Log) eachRow(ctx context.Context, after int64, limit int, each func(last int64, payload []byte) (more bool, err error)) error {
	rows, err := l.Read.QueryContext(ctx, "SELECT id, payload FROM events WHERE id > ? ORDER BY id LIMIT ?", after, min(limit, columns.EventsPerRow))
	if err != nil {
		return l.Failure("read events", err)
	}
	defer func() { _ = rows.Close() }()
	for size, more := 0, true; more && size < readBytes && rows.Next(); {
		var last int64
		var payload sql.RawBytes
		if err = rows.Scan(&last, &payload); err == nil {
			size += len(payload)
			more, err = each(last, payload)
		}
		if err != nil {
			return l.Failure("read events", err)
		}
	}
	return l.Failure("read events", rows.Err())
}

// EventsSince implements [events.Log].
func (l *Log) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	var list []events.Event
	err := l.eachRow(ctx, after, limit, func(last int64, payload []byte) (bool, error) {
		left := limit - len(list)
		block, err := decodeRow(last, payload, func(id int64, _ string) bool {
			if id > after {
				left--
			}
			return id > after && left >= 0
		})
		list = append(list, block...)
		return len(list) < limit, err
	})
	return list, err
}

// EventsOf implements [events.TypeReader]. Rows follow each other without a gap, so
// that only the first one has to be decoded to know from where on it was read;
// of the others, events that do not name a type are skipped unread.
func (l *Log) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	marks := make([][]byte, len(types))
	for i, name := range types {
		marks[i] = fmt.Appendf(nil, `"t":%q`, name) // names of types are plain
	}
	ofContacts := slices.ContainsFunc(types, func(name string) bool { return slices.Contains(contactTypes(), name) })
	var out events.Chunk
	err := l.eachRow(ctx, after, limit, func(last int64, payload []byte) (bool, error) {
		if out.Last == 0 {
			first, err := firstOf(last, payload)
			if err != nil {
				return false, err
			}
			out.First = max(after+1, first)
		}
		out.Last = last
		if isContacts(payload) && !ofContacts || !isContacts(payload) && !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(payload, m) }) {
			return true, nil
		}
		block, err := decodeRow(last, payload, func(id int64, kind string) bool { return id > after && slices.Contains(types, kind) })
		out.Events = append(out.Events, block...)
		return len(out.Events) < limit, err
	})
	return out, err
}

// LatestEvent implements [events.Log].
func (l *Log) LatestEvent(ctx context.Context) (int64, error) {
	var last int64
	err := l.Read.GetContext(ctx, &last, latestEvent)
	return last, l.Failure("read the number of events", err)
}

// OnEvents implements [events.Log].
func (l *Log) OnEvents(committed func()) (stop func()) { return l.hooks.Add(committed) }

// EmitContact adds an event to the batch that is being written.
func (l *Log) EmitContact(e *ContactEvent) { l.part.contacts.add(e) }

// Emit implements [events.Emitter].
func (l *Log) Emit(ctx context.Context, list ...events.Event) error {
	size := 0
	for i := range list {
		size += 100 + len(list[i].Subject) + len(list[i].Data)
	}
	return l.Await(ctx, &commit.Request{Work: emission(list), Rows: len(list), Bytes: size})
}

// emission is work that only emits events.
type emission []events.Event

func (e emission) Write(t *commit.Tx, _ *commit.Request) error {
	t.Emit(e...)
	return nil
}

// WantContactEvents implements [events.Interest].
func (l *Log) WantContactEvents(ctx context.Context) error {
	err := l.Transaction(ctx, func(tx *sqlx.Tx) error { return enableContactEvents(ctx, tx) })
	return l.Failure("enable events of contacts", err)
}

// enableContactEvents fences off every writer if they were not enabled: this waits for the
// batches that are being committed, and each later one reads the setting again.
func enableContactEvents(ctx context.Context, tx *sqlx.Tx) error {
	result, err := tx.ExecContext(ctx, "UPDATE meta SET value = 1 WHERE name = 'contact_events' AND value = 0")
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE writers SET fence = fence + 1")
	return err
}

// PurgeEvents deletes events that were written before an instant, oldest
// first, at most limit rows of them. It returns how many rows it deleted; 0 means that
// nothing of that age is left.
func (l *Log) PurgeEvents(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = l.Transaction(ctx, func(tx *sqlx.Tx) error {
		n = 0
		var rows []struct {
			ID int64 `db:"id"`
			At int64 `db:"at"`
		}
		if err := tx.SelectContext(ctx, &rows, "SELECT id, at FROM events ORDER BY id LIMIT ?", min(limit, columns.PurgeChunk)); err != nil {
			return err
		}
		for n < len(rows) && rows[n].At < columns.Micros(before) {
			n++
		}
		if n == 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM events WHERE id <= ?", rows[n-1].ID)
		return err
	})
	return n, l.Failure("purge events", err)
}
