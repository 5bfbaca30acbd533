package eventlog

import (
	"time"

	"weir/events"
)

// DecodeBlock gives the events of a row of the log.
func DecodeBlock(last int64, payload []byte) ([]events.Event, error) {
	return decodeBlock(last, payload)
}

// EncodeBlock is the other way round.
func EncodeBlock(list []events.Event) ([]byte, error) { return encodeBlock(list, time.Time{}) }
