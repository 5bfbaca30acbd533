// Package routertest runs a router for tests: a state behind a mutex, with a
// log in memory in place of a store.
//
// Invariants:
//   - everything that a call has acknowledged is in the log, and Reopen recovers
//     exactly the log
//   - a call that fails on purpose (see Fail) returns that the store is
//     unavailable; the test chooses whether its events are in the log
package routertest

import (
	"context"
	"sync"
	"time"

	"weir"
	"weir/router"
	"weir/router/journal"
)

// Engine is a [router.Engine] for tests. It is safe for concurrent use.
type Engine struct {
	now      func() time.Time
	settings router.Settings
	mu       sync.Mutex
	state    *router.State
	log      [][]journal.Event
	watch    []func([]journal.Event)
	fault    Fault
}

// Fault is the failure of the next call that changes something.
type Fault int

// The faults.
const (
	None Fault = iota
	// LosesWrite: the events are not logged, and the state is rebuilt.
	LosesWrite
	// LosesAnswer: the events are logged, but the caller gets an error.
	LosesAnswer
)

// New returns an engine. now is the clock for its calls.
func New(now func() time.Time) *Engine {
	set := router.DefaultSettings()
	return &Engine{now: now, settings: set, state: router.New(set)}
}

// Fail makes the next call of Do fail.
func (e *Engine) Fail(f Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = f
}

// Watch calls f with the events of each call once they are in the log. f must
// not call the engine.
func (e *Engine) Watch(f func([]journal.Event)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watch = append(e.watch, f)
}

// Do implements [router.Engine].
func (e *Engine) Do(ctx context.Context, build func(*router.State, time.Time) (router.Command, error), see func(*router.State, []journal.Event)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.tick(now)
	c, err := build(e.state, now)
	if err != nil {
		return err
	}
	fault := e.fault
	e.fault = None
	events, err := e.state.Execute(c, now)
	if fault == LosesWrite {
		e.rebuild()
		return unavailable()
	}
	e.record(events)
	if fault == LosesAnswer {
		return unavailable()
	}
	if err == nil && see != nil {
		see(e.state, events)
	}
	return err
}

func unavailable() error {
	return weir.Errorf(weir.CodeUnavailable, "the store is not available, on purpose")
}

// View implements [router.Engine].
func (e *Engine) View(ctx context.Context, see func(*router.State, time.Time)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	e.tick(now)
	see(e.state, now)
	return nil
}

// Must applies a command that must succeed.
func (e *Engine) Must(c router.Command) []journal.Event {
	var out []journal.Event
	err := e.Do(context.Background(), func(*router.State, time.Time) (router.Command, error) { return c, nil },
		func(_ *router.State, events []journal.Event) { out = events })
	if err != nil {
		panic(err)
	}
	return out
}

// Job returns a job in its present state.
func (e *Engine) Job(id string) (j router.Job, ok bool) {
	_ = e.View(context.Background(), func(s *router.State, _ time.Time) { j, ok = s.Job(id) })
	return j, ok
}

func (e *Engine) tick(now time.Time) {
	events, _ := e.state.Execute(nil, now)
	e.record(events)
}

func (e *Engine) record(events []journal.Event) {
	if len(events) == 0 {
		return
	}
	e.log = append(e.log, events)
	for _, f := range e.watch {
		f(events)
	}
}

// Reopen simulates a crash and a restart: the state is rebuilt from the log.
func (e *Engine) Reopen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rebuild()
}

func (e *Engine) rebuild() {
	e.state = router.New(e.settings)
	for _, events := range e.log {
		if err := e.state.Replay(events...); err != nil {
			panic(err)
		}
	}
}

// Log returns the durable events, one element for each write.
func (e *Engine) Log() [][]journal.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([][]journal.Event(nil), e.log...)
}
