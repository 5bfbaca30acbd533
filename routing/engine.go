// Package routing is the pure engine of the router: it matches jobs to the
// workers who can do them. It has no I/O, no clock and no source of randomness,
// starts no goroutine except to decode in [Restore], and depends only on the
// standard library and on packages of Weir that do no I/O either.
//
//	events, err := state.Execute(command, now)
//
// fires what is due by now, runs the command, makes every offer that has become
// possible, and returns the events of all three. A shell makes those events
// durable as one, and only then announces them and answers its client.
// [State.NextWake] returns when Execute must be called next even if no command
// arrives. A state is rebuilt from its events alone ([State.Replay]), or from a
// snapshot ([State.Snapshot], [Restore]) and the events after it.
//
// Results that only the caller can compute (function rules) are requested by an
// event and supplied by a command; see [eventlog.JobRulesRequestedEvent] and
// [eventlog.JobScoresRequestedEvent].
//
// # Invariants
//
//   - A refused command changes nothing.
//   - Every change is an event, and only applying an event changes an entity.
//     The state after Execute therefore equals the state replayed from its events.
//   - Between two calls of Execute, no worker has room for a job that it can take
//     and that may get an offer.
//   - Of all jobs that some worker can take, the first by expedite, priority and
//     queueing order gets the next offer.
//   - The total cost of a worker's offers and assignments never exceeds its
//     capacity, unless a client lowered the capacity below what was assigned.
//   - A job has at most one assignment that is not closed; while it has one, it
//     has no offers.
package routing

import (
	"context"
	"time"

	"weir/routing/eventlog"
	"weir/routing/resource"
)

// Engine is a running router: one state, many callers, every answer durable.
type Engine interface {
	// Do calls build on the present state and applies the resulting command at
	// once, with nothing in between. It then calls see on the state that results,
	// and returns when the events are durable. see may be nil. Neither function
	// may keep the state or block, and neither runs after Do has returned. After
	// an error nothing has changed, except that [weir.CodeUnavailable] leaves the
	// outcome open if build was called.
	Do(ctx context.Context, build func(*State, time.Time) (Command, error), see func(*State, []eventlog.Event)) error
	// View calls see on the state and returns when everything that see may have
	// read is durable.
	View(ctx context.Context, see func(*State, time.Time)) error
}

// FailingFunction is a function or webhook that a policy calls and whose last call
// failed. It omits the address, which may contain a key.
type FailingFunction struct {
	PolicyKind resource.Kind
	Policy     string
	Host       string
	Since      time.Time
	LastAt     time.Time // time of the last call
	Reason     string    // of the last failure
}
