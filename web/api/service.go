// Package api holds the routes of channels, contacts, dead letters, events, minutes,
// the audit log and health, with the types of their bodies.
package api

import (
	"context"
	"sync/atomic"
	"time"

	"weir"
	"weir/channels"
	"weir/events"
	"weir/internal/tracing"
	"weir/ops"
	"weir/web/auth"
	"weir/web/callbacks"
)

// Store is the part of the store that the API uses without the broker.
type Store interface {
	weir.ChannelStore
	weir.ContactReader
	// IncomingSince lists messages with a greater ID, oldest first.
	IncomingSince(ctx context.Context, channel weir.ChannelID, after int64, limit int) ([]weir.Incoming, error)
	// Ready returns an error if the store cannot be written to.
	Ready(ctx context.Context) error
}

// Broker is the running broker as the API uses it.
type Broker interface {
	// Accept stores contacts. They are durable when it returns.
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
	// Cancel cancels a contact. Done: it is canceled; any other state: the
	// provider, or the process that runs the channel, is being asked.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
	// Changed reports that the row of a channel was created or changed.
	Changed(ctx context.Context, channel weir.ChannelID)
	// Delete ends the open contacts of a channel and marks it as deleted. done
	// is false while that is still in progress.
	Delete(ctx context.Context, channel weir.ChannelID) (done bool, err error)
	// Requeue creates new contacts from dead letters of a channel.
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (ops.Requeued, error)
	// CurrentMinutes lists the counts that are not in the store yet.
	CurrentMinutes() []ops.Minute
	// Figures returns the live figures of a channel.
	Figures(ctx context.Context, ch weir.Channel) (ops.Figures, error)
	// Whys explains why each of some contacts of a channel waits, in their
	// order.
	Whys(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]ops.Why, error)
	// FiguresOf returns the figures of many channels, in their order.
	FiguresOf(ctx context.Context, list []weir.Channel) ([]ops.Figures, error)
}

// Options are the parts of Weir that the API uses.
type Options struct {
	Directory       *channels.Directory
	DefaultCapacity int              // of channels that set none
	Now             func() time.Time // nil: time.Now
	Draining        func() bool      // the process shuts down, and still serves; nil: never
	Ending          func() bool      // what takes long ends now; nil: never
	// Router returns the phase of the job router in this process; nil: it has
	// none.
	Router func() string
	// DatabaseServer returns HOST:PORT of the database server in use; empty or nil: the database
	// is a file.
	DatabaseServer func() string
	Events         events.Log
	// Interest enables the events of contacts for clients that read them; nil: reading
	// does not enable them.
	Interest events.Interest
	Minutes  ops.MinuteStore // the per-minute counters of channels
	Dead     ops.DeadLetterStore
	Trail    *auth.Trail // records the audit log
	// Hold keeps Weir from dispatching anything; nil: there is no hold.
	Hold Hold
	// Processes lists the processes of the database, the owner first; nil: they are not known.
	Processes func() []ProcessView
	// Tracing exports traces; nil: traces are off.
	Tracing *tracing.Tracer
	// Webhooks stores the webhooks of clients, and TestWebhook sends the test event to
	// one.
	Webhooks    events.WebhookStore
	TestWebhook func(context.Context, events.Webhook) (events.Try, error)
	// MayCall returns why a URL must not be called; nil: every URL may be.
	MayCall func(url string) error
}

// Service serves the routes of channels, contacts, events and access.
type Service struct {
	Options
	Store  Store
	Broker Broker
	// Index caches channels by name.
	Index *callbacks.Index
	// Changed is called after a change of a channel.
	Changed func(weir.Channel)
	// Deleted is called after a channel was deleted.
	Deleted func(weir.Channel)
	// Survey returns an error if there is no survey of a name.
	Survey func(ctx context.Context, name string) error
	// Streams limits the open event streams.
	Streams         *auth.ConcurrencyLimit
	contactEventsOn atomic.Bool // a client of this process has enabled them
}

// Hold keeps Weir from dispatching anything until it is released.
type Hold interface {
	// Since returns when the hold began; zero: there is none.
	Since() time.Time
	// Release ends the hold, durably and for every process.
	Release(ctx context.Context) error
}
