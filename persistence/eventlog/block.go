package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"weir/events"
	"weir/persistence/values"
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
		block[i] = blockEvent{Type: e.Type, Source: e.Source, Subject: e.Subject, At: values.Micros(at), Data: e.Data}
	}
	return json.Marshal(block)
}

// decodeBlock returns the events of a row.
func decodeBlock(last int64, payload []byte) ([]events.Event, error) {
	var block []blockEvent
	if err := json.Unmarshal(payload, &block); err != nil {
		return nil, fmt.Errorf("the events up to %d cannot be read: %w", last, err)
	}
	list := make([]events.Event, len(block))
	for i, e := range block {
		list[i] = events.Event{
			ID: last - int64(len(block)-1-i), Type: e.Type, Source: e.Source, Subject: e.Subject, At: values.Instant(e.At), Data: e.Data,
		}
	}
	return list, nil
}
