package eventlog

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"weir/events"
	"weir/persistence/values"
)

var _ events.TypeReader = (*Store)(nil)

// EventsOf implements [events.TypeReader]. Rows follow each other without a gap, so
// that only the first one has to be decoded to know from where on it was read;
// of the others, events that do not name a type are skipped unread.
func (s *Store) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	var out events.Chunk
	rows, err := s.Read.QueryContext(ctx, "SELECT id, payload FROM events WHERE id > ? ORDER BY id LIMIT ?", after, min(limit, values.EventsPerRow))
	if err != nil {
		return out, s.Failure("read events", err)
	}
	defer func() { _ = rows.Close() }()
	marks := make([][]byte, len(types))
	for i, name := range types {
		marks[i] = fmt.Appendf(nil, `"t":%q`, name) // names of types are plain
	}
	ofContacts := slices.ContainsFunc(types, func(name string) bool { return slices.Contains(contactTypes(), name) })
	for size := 0; size < readBytes && len(out.Events) < limit && rows.Next(); {
		var last int64
		var payload sql.RawBytes
		if err := rows.Scan(&last, &payload); err != nil {
			return events.Chunk{}, s.Failure("read events", err)
		}
		size += len(payload)
		if out.Last == 0 {
			first, err := firstOf(last, payload)
			if err != nil {
				return events.Chunk{}, s.Failure("read events", err)
			}
			out.First = max(after+1, first)
		}
		out.Last = last
		if isContacts(payload) && !ofContacts || !isContacts(payload) && !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(payload, m) }) {
			continue
		}
		block, err := decodeRow(last, payload, func(id int64, kind string) bool { return id > after && slices.Contains(types, kind) })
		if err != nil {
			return events.Chunk{}, s.Failure("read events", err)
		}
		out.Events = append(out.Events, block...)
	}
	return out, s.Failure("read events", rows.Err())
}
