// Package routing is the pure engine of the router: it matches jobs to the
// workers who can do them. It has no I/O, no clock, no goroutine and no source
// of randomness, and uses the standard library and package weir only.
//
//	events, err := state.Apply(command, now)
//
// does what has come due by now and then the command, makes every offer that
// has become possible, and gives the events of all that. A shell makes those
// durable as one and only then announces them and answers its client.
// [State.NextWake] says when Apply has to be called next although nobody asks.
// A state is rebuilt from its events alone ([State.Fold]) or from a snapshot
// ([State.Snapshot], [Restore]) and the events after it.
//
// What only the outside can compute (function rules) is asked for by an event
// and answered by a command, see [JobRulesAskedEvent], [JobScoresAskedEvent].
//
// # Invariants
//
//   - A refused command changes nothing.
//   - Every change is an event, and folding is the only thing that changes an
//     entity; so the state that Apply leaves is the one that its events give.
//   - Between two calls of Apply no worker has room for a job that it can
//     take and that wants an offer.
//   - Of all jobs that somebody can take, the first by expedite, priority and
//     order of queueing gets the next offer.
//   - What a worker's offers and assignments cost never exceeds its capacity,
//     unless a client lowered it below what was assigned by then.
//   - A job has at most one assignment that is not closed, and then no offers.
package routing
