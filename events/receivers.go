package events

import (
	"context"
	"time"

	"weir"
)

// Receivers keeps how far each receiver of events has got. Receivers have
// names; what they are, only who delivers knows.
type Receivers interface {
	// Register makes a receiver known that is not yet: it gets what is
	// committed from now on.
	Register(ctx context.Context, receiver string) error
	// Progress reads where a receiver is. One that is not known is at 0.
	Progress(ctx context.Context, receiver string) (Progress, error)
	// Advance writes a step. It refuses with weir.ErrLeaseLost when the lease
	// of weir.EventDelivery is no longer good.
	Advance(ctx context.Context, l weir.Lease, s Step) error
}

// Progress of a receiver.
type Progress struct {
	Cursor int64   // events up to here are delivered, unwanted, or put aside
	Aside  []Aside // by event
}

// Aside is an event that was put aside, so that others go on.
type Aside struct {
	Event  int64
	Order  string // what has to stay in order behind it
	Tries  int    // that failed
	NextAt time.Time
}

// Step is what changes in the progress of a receiver.
type Step struct {
	Receiver string
	Cursor   int64
	Put      []Aside // new, or in place of what was there
	Done     []int64 // no longer put aside
}
