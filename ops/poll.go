package ops

import (
	"context"

	"weir"
)

// Poller polls for work that other processes left for this one. It uses a single
// statement, so that polling can be frequent.
type Poller interface {
	// Poll lists the oldest items of channels whose lease this process holds, in order for
	// each channel, and, if orphans is set, the orphans as [weir.Leaser] does. It also wakes
	// waiters for events or tokens of other
	// processes.
	Poll(ctx context.Context, limit int, orphans bool) (Polled, error)
}

// Polled is the result of one poll.
type Polled struct {
	Items   []weir.InboxItem
	Orphans []weir.ChannelID
	News    bool // there are events or tokens that the previous poll did not see
}
