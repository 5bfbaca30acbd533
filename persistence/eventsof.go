package persistence

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"weir/events"
)

var _ events.TypeReader = (*Store)(nil)

// EventsOf implements [events.TypeReader]. Rows follow each other without a gap, so
// that only the first one has to be decoded to know from where on it was read;
// of the others, events that do not name a type are skipped unread.
func (s *Store) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	var out events.Chunk
	rows, err := s.read.QueryContext(ctx, "SELECT id, payload FROM events WHERE id > ? ORDER BY id LIMIT ?", after, min(limit, blockEvents))
	if err != nil {
		return out, s.failure("read events", err)
	}
	defer func() { _ = rows.Close() }()
	marks := make([][]byte, len(types))
	for i, name := range types {
		marks[i] = appendString([]byte(`"t":`), name)
	}
	for size := 0; size < readBytes && len(out.Events) < limit && rows.Next(); {
		var last int64
		var payload sql.RawBytes
		if err := rows.Scan(&last, &payload); err != nil {
			return events.Chunk{}, s.failure("read events", err)
		}
		size += len(payload)
		if out.Last == 0 || slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(payload, m) }) {
			block, err := decodeBlock(last, payload)
			if err != nil {
				return events.Chunk{}, s.failure("read events", err)
			}
			if out.Last == 0 {
				out.First = max(after+1, last-int64(len(block))+1)
			}
			for _, e := range block {
				if e.ID > after && slices.Contains(types, e.Type) {
					out.Events = append(out.Events, e)
				}
			}
		}
		out.Last = last
	}
	return out, s.failure("read events", rows.Err())
}
