// Package channels runs one supervised actor for each channel. The actors are
// thin shells: package contacts decides what to do; goroutines reach the store, the
// providers and the clock, and their results come back as messages.
//
// Invariants:
//   - only the manager spawns and stops the brokers; a broker whose channel is idle
//     drops its core, and stays as an empty actor
//   - a broker calls its provider only while this process owns the database; whatever
//     an earlier incarnation submits late is refused
//   - mailboxes carry hints; what must not be lost is in the store
package channels

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	core "weir/actors/contacts"
	"weir/channels"
	"weir/internal/tracing"
	"weir/operators"
)

// Store is the part of the store that the system uses for clients, and for channels whose
// brokers rest.
type Store interface {
	weir.Accepter
	operators.FiguresReader
	// The methods below are documented in weir.ContactReader, weir.ChannelStore and
	// operators.DeadLetterStore.
	Contact(ctx context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error)
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
	UpdateChannel(ctx context.Context, c weir.Channel) (weir.Channel, error)
	// OpenChannels lists the channels that have contacts that are not done, or are being
	// deleted.
	OpenChannels(ctx context.Context) ([]weir.ChannelID, error)
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (operators.Requeued, error)
}

// Queue is the part of the store that a broker uses for the channel that it runs.
type Queue interface {
	weir.Committer
	weir.QueueReader
	// Incarnate begins an incarnation of the channel's broker: what an earlier one submits from
	// then on is refused.
	Incarnate(ctx context.Context, channel weir.ChannelID) (weir.Incarnation, error)
	DeleteChannel(ctx context.Context, id weir.ChannelID) error
	// BrakeChannel pauses a channel that has a brake, and records why, together with its
	// event. It changes nothing, and acted is false, if the channel is paused or being
	// deleted. An update that resumes the channel deletes the record.
	BrakeChannel(ctx context.Context, id weir.ChannelID, b weir.Braked) (acted bool, err error)
}

// Options configures a System.
type Options struct {
	Store     Store
	Queue     Queue
	Directory *channels.Directory
	// Minutes stores the counters of each minute; nil: they are not stored.
	Minutes operators.MinuteStore
	Core    core.Config
	Logger  *slog.Logger
	Metrics *Metrics
	// SendTimeout bounds a dispatch, AskTimeout every other provider call.
	SendTimeout time.Duration
	AskTimeout  time.Duration
	// Valid reports whether this process certainly owns the database, and may act.
	Valid func() bool
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
	sweepEvery     = 30 * time.Second
	maxStash       = 10_000
	leasePoll      = 50 * time.Millisecond // poll interval while a lease that ran out may be renewed
	minReloadDelay = 200 * time.Millisecond
	maxReloadDelay = 5 * time.Second
	changesAtOnce  = 1000
	maxCancels     = 64 // max concurrent cancels of one channel
)

// background bounds one I/O operation.
func background(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
