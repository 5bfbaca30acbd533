package eventlog

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"weir/events"
)

var _ events.TypeReader = (*Store)(nil)

// EventsOf implements [events.TypeReader]. Rows follow each other without a gap, so
// that only the first one has to be decoded to know from where on it was read;
// of the others, events that do not name a type are skipped unread.
func (s *Store) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	marks := make([][]byte, len(types))
	for i, name := range types {
		marks[i] = fmt.Appendf(nil, `"t":%q`, name) // names of types are plain
	}
	ofContacts := slices.ContainsFunc(types, func(name string) bool { return slices.Contains(contactTypes(), name) })
	var out events.Chunk
	err := s.eachRow(ctx, after, limit, func(last int64, payload []byte) (bool, error) {
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
