package events

import (
	"context"
	"time"

	"weir"
)

// Receivers stores the progress of each receiver of events. Receivers have names;
// only the delivery knows their meaning.
type Receivers interface {
	// Register adds a receiver unless it exists. It gets the events that are
	// committed from now on.
	Register(ctx context.Context, receiver string) error
	// Progress returns the progress of a receiver. An unknown one is at 0.
	Progress(ctx context.Context, receiver string) (Progress, error)
	// Advance stores a step. It returns weir.ErrLeaseLost if the lease
	// of ops.RoleEventDelivery is no longer valid.
	Advance(ctx context.Context, l weir.Lease, s Step) error
}

// Progress is the progress of a receiver.
type Progress struct {
	Cursor int64   // events up to here are delivered, unwanted, or delayed
	Aside  []Aside // ordered by event
}

// Aside is an event that is delayed for a retry, so that others are delivered.
type Aside struct {
	Event  int64
	Order  string // key of the events that must stay in order behind it
	Tries  int    // failed attempts
	NextAt time.Time
}

// Step is a change of a receiver's progress.
type Step struct {
	Receiver string
	Cursor   int64
	Put      []Aside // new, or replacing existing entries
	Done     []int64 // no longer delayed
}
