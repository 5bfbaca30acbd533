// Package router is the pure engine of the router: it matches jobs to the
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
// event and supplied by a command; see [journal.JobRulesRequestedEvent] and
// [journal.JobScoresRequestedEvent].
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
package router

import (
	"context"
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// Engine is a running router: one state, many callers, every answer durable.
type Engine interface {
	// Do calls build on the present state and applies the resulting command at
	// once, with nothing in between. It then calls see on the state that results,
	// and returns when the events are durable. see may be nil. Neither function
	// may keep the state or block, and neither runs after Do has returned. After
	// an error nothing has changed, except that [weir.CodeUnavailable] leaves the
	// outcome open if build was called.
	Do(ctx context.Context, build func(*State, time.Time) (Command, error), see func(*State, []journal.Event)) error
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

// Execute fires the timers that are due by now, then runs the command (nil for
// none), and then makes every offer that has become possible. Afterwards
// nothing is due before some later instant. Execute returns the events of all
// three steps, already applied to the state, and an error if the command was
// refused; the events are then only those of the timers and the offers that
// followed. Time never goes backwards: an earlier now counts as the latest one
// seen.
//
// The events of one Execute belong together: make them durable as one, and only
// then announce them and answer the client. If they cannot be made durable,
// this state is ahead of the journal and must be discarded and rebuilt.
func (s *State) Execute(c Command, now time.Time) ([]journal.Event, error) {
	now = now.UTC().Truncate(time.Microsecond)
	s.emitted, s.executing = nil, true
	s.fireUntil(now)
	if now.After(s.now) {
		s.now = now
	}
	var err error
	if c != nil {
		err = c.decide(&s.decisions)
	}
	s.matcher.match()
	s.decisions.cancelNoWait()
	s.decisions.supplied = suppliedScores{}
	s.fireUntil(s.now)
	s.executing = false
	out := s.emitted
	s.emitted = nil
	return out, err
}

// Tick is a command that only lets time pass.
type Tick struct{}

func (Tick) decide(*decisions) error { return nil }

// fireUntil fires the due timers, each at its own time and followed by the
// offers that it makes possible, as if Execute had been called at that very
// instant. A timer that was due before the latest event fires at the time of
// that event.
func (s *State) fireUntil(now time.Time) {
	for {
		t := s.nextTimer()
		if t == nil || t.at > now.UnixMicro() {
			return
		}
		if at := time.UnixMicro(t.at).UTC(); at.After(s.now) {
			s.now = at
		}
		if !s.decisions.fire(t) {
			s.setTimers(t.job)
		}
		s.matcher.match()
	}
}

// NextWake returns the next instant at which [State.Execute] has something to do
// without a command; ok is false if there is none. The instant may be in the
// past.
func (s *State) NextWake() (at time.Time, ok bool) {
	if t := s.nextTimer(); t != nil {
		return time.UnixMicro(t.at).UTC(), true
	}
	return time.Time{}, false
}

// nextTimer returns the timer that fires next.
func (s *State) nextTimer() *timer {
	var first *timer
	for k := range s.timers {
		if e := s.timers[k].entries; len(e) > 0 && (first == nil || e[0].at < first.at) {
			first = e[0].t
		}
	}
	return first
}

// emit numbers an event, applies it and adds it to the output of Execute.
func (s *State) emit(e journal.Event) {
	h := e.Head()
	h.Seq, h.At = s.seq+1, s.now
	s.apply(e)
	s.emitted = append(s.emitted, e)
}

// WithSettings returns a copy of the state under other limits. Events that the copy
// makes must be replayed on a snapshot of the copy, not of the original.
func (s *State) WithSettings(settings Settings) (*State, error) {
	copied := s.CopySnapshot()
	copied.head.Settings = settings
	data, err := copied.Encode()
	if err != nil {
		return nil, err
	}
	return Restore(data)
}
