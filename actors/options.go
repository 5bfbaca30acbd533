// Package actors runs one supervised actor for each channel. The actors are
// thin shells: what to do is decided by package core; the store, the providers
// and the clock are reached from goroutines whose results come back as
// messages.
//
// Invariants:
//   - only the manager spawns and stops the brokers; messages reach them along
//     ways that it opens and shuts, or through it
//   - a broker acts only under its channel's lease; each incarnation takes a
//     new epoch, so that whatever an earlier one left in the writer is refused
//   - mailboxes carry hints; what must not be lost is in the store
package actors

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/core"
	"weir/channels"
)

// Store is what the actors need of the store.
type Store interface {
	weir.Accepter
	weir.Committer
	weir.ContactReader
	weir.QueueReader
	weir.FiguresReader
	weir.DeadStore
	weir.ChannelStore
	weir.Leaser
	weir.Inbox
	weir.Looker
}

// Options are what a System is made from.
type Options struct {
	Store     Store
	Directory *channels.Directory
	// Minutes takes the counters of each minute; nil: nobody keeps them.
	Minutes weir.MinuteStore
	Core    core.Config
	Logger  *slog.Logger
	Metrics *Metrics
	// SendTimeout bounds a hand-over, AskTimeout every other call of a
	// provider.
	SendTimeout time.Duration
	AskTimeout  time.Duration
	LeaseTTL    time.Duration
	// Shared says that other processes may use the same store, so that what
	// they leave is looked for.
	Shared bool
	// Middleware wraps the brokers' Receive; tests inject faults with it.
	Middleware []actor.ReceiverMiddleware
}

// Fixed figures.
const (
	replyWithin    = 10 * time.Second // for callers that wait for a broker
	ioTimeout      = 10 * time.Second // for reads of the store
	lookEvery      = time.Second      // between looks for what other processes left
	lookQuiet      = 2 * time.Second  // if they have left nothing for quietAfter
	quietAfter     = 10 * time.Second
	sweepEvery     = 30 * time.Second
	standbyFirst   = 100 * time.Millisecond // between looks at a lease that is taken, at first
	standbyEvery   = 5 * time.Second        // and in the end
	stashMost      = 10_000
	renewRetry     = 250 * time.Millisecond // after a renewal that failed
	leasePoll      = 50 * time.Millisecond  // between looks whether the lease is ours again
	leaseMargin    = 2 * time.Second        // or a fifth of the lease, if that is less
	inboxBatch     = 500
	reloadAfter    = 200 * time.Millisecond
	reloadMost     = 5 * time.Second
	changesAtOnce  = 1000
	cancelsAtOnce  = 64  // of one channel
	crewRests      = 256 // goroutines that wait for a broker's or a provider's turn
	figuresTimeout = 2 * time.Second
)

// background gives I/O a bound of its own.
func background(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
