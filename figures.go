package weir

import (
	"context"
	"time"
)

// Collection is one search of a channel's broker for contacts that have been
// silent for too long.
type Collection struct {
	At      time.Time
	Checked int // contacts that the provider was to be asked about
	Settled int // contacts that were settled by asking, then and since
}

// Backlog is what waits on a channel.
type Backlog struct {
	Queued int64
	// OldestQueuedAt is the acceptance of the oldest contact that waits and is
	// not delayed; zero: there is none.
	OldestQueuedAt time.Time
}

// FiguresReader reads the figures of many channels at once. Channels of which
// there is nothing to say are not in the answer.
type FiguresReader interface {
	// Backlogs tells what waits.
	Backlogs(ctx context.Context, channels []ChannelID) (map[ChannelID]Backlog, error)
	// Flights counts what is in flight: InFlight, Sending, Active and Unknown.
	Flights(ctx context.Context, channels []ChannelID) (map[ChannelID]Figures, error)
}
