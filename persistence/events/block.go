package events

import (
	"encoding/json"
	"fmt"
	"time"

	"weir/events"
	"weir/persistence/columns"
)

// blockEvent is an event as it lies in a row. Its id follows from its place
// and the row's.
type blockEvent struct {
	Type    string          `json:"t"`
	Source  string          `json:"s"`
	Subject string          `json:"u"`
	At      int64           `json:"a"`
	Data    json.RawMessage `json:"d"`
}

// encodeBlock returns a row of events. Those without an instant happened now.
func encodeBlock(list []events.Event, now time.Time) ([]byte, error) {
	block := make([]blockEvent, len(list))
	for i := range list {
		e := &list[i]
		at := e.At
		if at.IsZero() {
			at = now
		}
		block[i] = blockEvent{Type: e.Type, Source: e.Source, Subject: e.Subject, At: columns.Micros(at), Data: e.Data}
	}
	return json.Marshal(block)
}

// decodeRow returns the events of a row that pass a filter by id and type, which is asked in
// their order. Data of others is not decoded.
func decodeRow(last int64, payload []byte, wants func(id int64, kind string) bool) ([]events.Event, error) {
	if isContacts(payload) {
		return decodeContacts(last, payload, wants)
	}
	var block []blockEvent
	if err := json.Unmarshal(payload, &block); err != nil {
		return nil, fmt.Errorf("the events up to %d cannot be read: %w", last, err)
	}
	list := make([]events.Event, 0, len(block))
	for i, e := range block {
		if id := last - int64(len(block)-1-i); wants(id, e.Type) {
			list = append(list, events.Event{ID: id, Type: e.Type, Source: e.Source, Subject: e.Subject, At: columns.Instant(e.At), Data: e.Data})
		}
	}
	return list, nil
}

// firstOf returns the id of the first event of a row.
func firstOf(last int64, payload []byte) (int64, error) {
	if isContacts(payload) {
		return last - countContacts(payload) + 1, nil
	}
	n := int64(0)
	_, err := decodeRow(last, payload, func(int64, string) bool { n++; return false })
	return last - n + 1, err
}
