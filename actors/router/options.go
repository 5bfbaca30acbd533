// Package router runs the engine of package weir/router: one actor holds the state
// and applies commands; everything that does I/O runs outside the actor.
//
// Invariants:
//   - it runs in the process that owns the database, and the writes of an earlier state
//     are refused
//   - nothing leaves the router, neither a reply nor an event nor a request to a
//     function, before the events that caused it are durable
//   - a state that is ahead of the journal after a failed commit is discarded and
//     rebuilt from the journal
//   - the actor does no I/O and never blocks
package router

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/events"
	"weir/router"
	"weir/router/journal"
)

// Store is the part of the store that the router uses.
type Store interface {
	journal.Store
	// Incarnate begins a new state, as channel 0: groups of an earlier one are refused.
	Incarnate(ctx context.Context, channel weir.ChannelID) (weir.Incarnation, error)
}

// Caller calls functions over HTTP. It bounds the size of responses and the
// addresses that may be called.
type Caller interface {
	// Post returns the status and the body of the response.
	Post(ctx context.Context, url string, header http.Header, body []byte) (int, []byte, error)
}

// Options configure a Router. Store is required; the rest has defaults. Without
// a Caller function rules fail.
type Options struct {
	Store  Store
	Caller Caller
	Events events.Emitter // of [FunctionEvent]; nil: none are emitted
	// Hold blocks while no function may be called and returns when the hold
	// ended; a zero time means that there was none. nil: there is never a hold.
	Hold     func(ctx context.Context) (ended time.Time, err error)
	Settings router.Settings // zero value: the defaults
	Logger   *slog.Logger
	Metrics  *Metrics
	// Valid reports whether this process certainly owns the database: otherwise calls are
	// refused. nil: always.
	Valid func() bool
	// SnapshotEvents is the number of events after which a snapshot is made; a
	// large state raises it (see snapshotShare). SnapshotEvery is the time after
	// which one is made if there were any events.
	SnapshotEvents int
	SnapshotEvery  time.Duration
	// Watch is called with the events of each commit, in order, after they became
	// durable; it may be nil. Events that became durable although the store's
	// reply was lost or late are delivered after the journal was read again. The
	// function must not block. It may keep the events and must not change them.
	Watch func([]journal.Event)
	// System runs the actor.
	System *actor.ActorSystem
	// Middleware wraps the actor's Receive; tests inject faults with it.
	Middleware []actor.ReceiverMiddleware
}

// Fixed limits.
const (
	replyTimeout  = 10 * time.Second       // for callers
	ioTimeout     = 10 * time.Second       // for one read or write of the store
	maxCallers    = 10_000                 // max callers that wait at once
	maxPending    = 100_000                // max events applied and not durable
	groupEvents   = 5_000                  // max events in one group, unless one command emits more
	busyGroup     = 24                     // events in a group after which the next group waits for more
	groupDelay    = 500 * time.Microsecond // for this long
	minGroup      = 100                    // events that justify a group of their own behind another
	maxGroupWait  = 50 * time.Millisecond
	maxSubmitted  = 2 // max groups passed to the writer and not durable
	segmentBytes  = 512 << 10
	usualBytes    = 300 // typical size of an event in the journal
	segmentsRead  = 64
	cutJobs       = 1000            // copied in one step of a snapshot
	snapshotShare = 4               // the next snapshot is due after entities/4 events
	maxReplay     = 5_000           // a start that replays this many events makes a new snapshot
	decoders      = 2               // concurrent decoders of the journal
	loadPatience  = 5 * time.Second // how long callers wait while the state is loading: that of 100,000 jobs takes 2 s
	// Between attempts to build the state.
	minRecoveryDelay = 100 * time.Millisecond
	maxRecoveryDelay = 5 * time.Second
)

func withDefaults(o Options) Options {
	o.Settings = cmp.Or(o.Settings, router.DefaultSettings())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or(o.Metrics, NewMetrics(nil))
	o.SnapshotEvents = cmp.Or(o.SnapshotEvents, 25_000)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, 10*time.Minute)
	if o.Valid == nil {
		o.Valid = func() bool { return true }
	}
	if o.Watch == nil {
		o.Watch = func([]journal.Event) {}
	}
	return o
}

// Limits of calls of functions.
const (
	maxCalls     = 16 // max concurrent calls of one address
	maxAsks      = 16 // max jobs for which calls of one kind to an address run at once; others wait for their turn
	callTries    = 3
	callTimeout  = 5 * time.Second
	callRetry    = 100 * time.Millisecond
	warnEvery    = 10 * time.Second
	answerWithin = 20 * time.Second // for all results that one job waits for
	turnWithin   = 5 * time.Minute  // max wait for a turn before the job's classification fails
	maxBatch     = 100              // max workers in one call
	batchDefault = 20
)
