// Package actors runs one supervised actor for each channel. The actors are
// thin shells: package core decides what to do; goroutines reach the store, the
// providers and the clock, and their results come back as messages.
//
// Invariants:
//   - only the manager spawns and stops the brokers; a broker whose channel is idle
//     drops its core and its lease, and stays as an empty actor
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
	"weir/internal/tracing"
	"weir/ops"
)

// Store is the part of the store that the system uses for clients, for other
// processes, and for channels that none of its brokers runs.
type Store interface {
	weir.Accepter
	ops.FiguresReader
	ops.Poller
	// The methods below are documented in weir.ContactReader, weir.ChannelStore,
	// weir.Leaser, weir.Inbox and ops.DeadLetterStore.
	Contact(ctx context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error)
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
	UpdateChannel(ctx context.Context, c weir.Channel) (weir.Channel, error)
	OpenChannels(ctx context.Context) ([]weir.ChannelID, error)
	Renew(ctx context.Context) ([]weir.ChannelID, error)
	Deliver(ctx context.Context, item weir.InboxItem) error
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (ops.Requeued, error)
}

// Queue is the part of the store that a broker uses for the channel that it runs.
type Queue interface {
	weir.Committer
	weir.QueueReader
	Acquire(ctx context.Context, channel weir.ChannelID) (_ weir.Lease, ok bool, err error)
	Release(ctx context.Context, l weir.Lease) error
	DeleteChannel(ctx context.Context, id weir.ChannelID) error
}

// Options configures a System.
type Options struct {
	Store     Store
	Queue     Queue
	Directory *channels.Directory
	// Minutes stores the counters of each minute; nil: they are not stored.
	Minutes ops.MinuteStore
	Core    core.Config
	Logger  *slog.Logger
	Metrics *Metrics
	// SendTimeout bounds a dispatch, AskTimeout every other provider call.
	SendTimeout time.Duration
	AskTimeout  time.Duration
	LeaseTTL    time.Duration
	// Shared means that other processes may use the same store, so that the
	// system polls for work that they left.
	Shared bool
	// Tracing exports traces; nil: traces are off.
	Tracing *tracing.Tracer
	// System runs the actors.
	System *actor.ActorSystem
	// Middleware wraps the brokers' Receive; tests inject faults with it.
	Middleware []actor.ReceiverMiddleware
}

// Fixed parameters.
const (
	replyTimeout   = 10 * time.Second // for callers that wait for a broker
	ioTimeout      = 10 * time.Second // for one access to the store
	pollEvery      = time.Second      // poll interval for work left by other processes
	pollIdleEvery  = 2 * time.Second  // the same, if they have left nothing for pollIdleAfter
	pollIdleAfter  = 10 * time.Second
	sweepEvery     = 30 * time.Second
	minStandbyPoll = 100 * time.Millisecond // first interval between polls of a lease that is taken
	maxStandbyPoll = 5 * time.Second        // max interval between them
	maxStash       = 10_000
	renewRetry     = 250 * time.Millisecond // after a failed renewal
	leasePoll      = 50 * time.Millisecond  // poll interval while a lease that ran out may be renewed
	inboxBatch     = 500
	minReloadDelay = 200 * time.Millisecond
	maxReloadDelay = 5 * time.Second
	changesAtOnce  = 1000
	maxCancels     = 64 // max concurrent cancels of one channel
)

// background bounds one I/O operation.
func background(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
