package weir

import (
	"context"
	"time"
)

// Reconciliation is one reconciliation pass of a channel's broker over contacts
// whose reports are overdue.
type Reconciliation struct {
	At       time.Time
	Checked  int // contacts to ask the provider about
	Resolved int // contacts reconciled by asking, then and since
}

// Backlog is the number and age of the waiting contacts of a channel.
type Backlog struct {
	Queued int64
	// OldestQueuedAt is when the oldest waiting contact that is not delayed was
	// accepted; zero: there is none.
	OldestQueuedAt time.Time
}

// FiguresReader reads the figures of many channels at once. Channels without
// figures are absent from the result.
type FiguresReader interface {
	// Backlogs returns the backlog of each channel.
	Backlogs(ctx context.Context, channels []ChannelID) (map[ChannelID]Backlog, error)
	// Flights counts what is in flight: InFlight, Sending, Active and Unknown.
	Flights(ctx context.Context, channels []ChannelID) (map[ChannelID]Figures, error)
}
