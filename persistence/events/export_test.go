package events

import (
	"time"

	"weir/events"
)

// DecodeBlock gives the events of a row of the log.
func DecodeBlock(last int64, payload []byte) ([]events.Event, error) {
	return decodeRow(last, payload, func(int64, string) bool { return true })
}

// EncodeBlock is the other way round.
func EncodeBlock(list []events.Event) ([]byte, error) { return encodeBlock(list, time.Time{}) }

// EncodeContacts makes a row of events of contacts.
func EncodeContacts(list ...ContactEvent) []byte {
	var c contactEvents
	for i := range list {
		c.add(&list[i])
	}
	return c.rows()[0].payload
}
