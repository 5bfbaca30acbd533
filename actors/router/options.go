// Package router runs the router of package routing: one actor that holds the
// state and applies commands, and around it whatever does I/O.
//
// Invariants:
//   - only the holder of the role [weir.Router] applies commands, and what it
//     writes is refused once somebody else has taken the role
//   - nobody is told anything, neither an answer nor an event nor what a
//     function said, before all that it may rest on is durable
//   - a state that is ahead of what could be made durable is thrown away, and
//     built anew from the journal
//   - the actor does no I/O and waits for nothing
package router

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/events"
	"weir/routing"
)

// Store is what the router needs of the store.
type Store interface {
	routing.Journal
	weir.RoleLeaser
}

// Caller calls functions over HTTP. It bounds what it reads and whom it calls.
type Caller interface {
	// Post gives the status and the body of the answer.
	Post(ctx context.Context, url string, header http.Header, body []byte) (int, []byte, error)
}

// Options are what a Router is made from. Store is needed; the rest has
// defaults. Without a Caller rules of functions fail.
type Options struct {
	Store  Store
	Caller Caller
	Events events.Emitter // of [FunctionEvent]; nil: none are emitted
	// Hold waits while no function may be called and returns when the hold ended;
	// zero: there was none. nil: there is never one.
	Hold     func(ctx context.Context) (ended time.Time, err error)
	Settings routing.Settings // the zero value: the default ones
	Logger   *slog.Logger
	Metrics  *Metrics
	LeaseTTL time.Duration // the store's; default 15 s
	// Shared says that other processes may use the same store, so that a lease
	// that could not be renewed in time does not allow reads.
	Shared bool
	// SnapshotEvents is after how many events a snapshot is made, unless the
	// state is large beside that; SnapshotEvery after how long if there were any.
	SnapshotEvents int
	SnapshotEvery  time.Duration
	// Watch is as [Router.Watch], from the very first commit on; it may be nil.
	Watch func([]routing.Event)
	// Middleware wraps the actor's Receive; tests inject faults with it.
	Middleware []actor.ReceiverMiddleware
}

// Fixed figures.
const (
	replyWithin   = 10 * time.Second       // for callers
	ioTimeout     = 10 * time.Second       // for one read or write of the store
	callersMost   = 10_000                 // that wait at once
	pendingMost   = 100_000                // events applied and not durable
	groupEvents   = 5_000                  // in one group, unless one command brings more
	groupBusy     = 24                     // events of a group after which more are waited for
	groupRest     = 500 * time.Microsecond // for how long
	groupWorth    = 100                    // events that are worth a group of their own behind another
	groupWait     = 50 * time.Millisecond
	groupsAhead   = 2 // handed to the writer and not durable
	segmentBytes  = 512 << 10
	usualBytes    = 300 // of an event in the journal
	segmentsRead  = 64
	cutJobs       = 1000                   // copied in one step of a snapshot
	snapshotShare = 4                      // the next snapshot is due after entities/4 events
	replayMost    = 5_000                  // events that a start replays without a new snapshot
	decodersMost  = 2                      // at once, of the journal
	patience      = 500 * time.Millisecond // of callers, while the state is being read
	standbyFirst  = 100 * time.Millisecond // between looks at a role that is taken, at first
	standbyEvery  = 5 * time.Second        // and in the end
	renewRetry    = 250 * time.Millisecond
	leaseMargin   = 2 * time.Second // or a fifth of the lease, if that is less
	elsewhere     = 2 * time.Second // what callers are told to wait
)

func withDefaults(o Options) Options {
	if o.Settings == (routing.Settings{}) {
		o.Settings = routing.DefaultSettings()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = 15 * time.Second
	}
	if o.SnapshotEvents <= 0 {
		o.SnapshotEvents = 25_000
	}
	if o.SnapshotEvery <= 0 {
		o.SnapshotEvery = 10 * time.Minute
	}
	return o
}

func (r *Router) margin() time.Duration { return min(leaseMargin, r.o.LeaseTTL/5) }
