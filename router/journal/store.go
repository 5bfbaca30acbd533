package journal

import (
	"context"
	"errors"

	"weir"
	"weir/events"
)

// Store stores a router durably: a snapshot of its state and the events after
// it. Only the latest incarnation of the router may write.
type Store interface {
	// Append passes a group to the group-commit writer and returns at once. done
	// is called once, from another goroutine. Groups are committed in the order
	// of the calls. A group that does not follow the last committed one is
	// refused with [ErrGap], and a group of an earlier state with
	// [weir.ErrSuperseded]. While the store is down the writer keeps the group
	// and retries; it gives up only when it is closed.
	Append(by weir.Incarnation, g Group, done func(error))
	// Segments reads what follows an event, in order: at most limit segments,
	// and of a bounded total size. An empty result means that there is no more.
	Segments(ctx context.Context, after uint64, limit int) ([]Segment, error)
	// SaveSnapshot atomically replaces the snapshot by one of the state after
	// event seq and then drops the events that it covers. It refuses a snapshot
	// that is ahead of the journal.
	SaveSnapshot(ctx context.Context, by weir.Incarnation, seq uint64, data []byte) error
	// LoadSnapshot reads the snapshot.
	LoadSnapshot(ctx context.Context) (Saved, error)
}

// ErrGap means that a group of events does not follow the last event in the
// journal.
var ErrGap = errors.New("the events do not follow those in the journal")

// Group is committed as one: events, and the public events that announce them.
type Group struct {
	Segments []Segment
	Public   []events.Event
}

// Segment is a run of events in the form of [Append].
type Segment struct {
	First, Last uint64
	Data        []byte
}

// Saved is a snapshot and the end of the journal. Data is empty if no snapshot
// was saved.
type Saved struct {
	Seq  uint64 // the last event in the snapshot
	Data []byte
	Last uint64 // the last event in the journal
}
