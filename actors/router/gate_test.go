package router_test

import (
	"errors"
	"sync"

	"weir"
	"weir/actors/router"
	routing "weir/router"
	"weir/router/journal"
)

// verdict is the fate of a group at a gate.
type verdict int

const (
	pass   verdict = iota
	refuse         // not written, and the router gets an error
	drop           // not written, and the router gets no result: the process has died
	mute           // written, and the router gets no result
	hold           // waits until the gate is opened
)

var errBroken = errors.New("the disk is broken")

// gate is a store whose journal fails on demand. It computes the expected state
// by folding what was really written.
type gate struct {
	router.Store

	mu     sync.Mutex
	judge  func(n int) verdict // for the nth group, from 1
	n      int
	held   []func()
	truth  *routing.State
	fault  error
	writes sync.WaitGroup // that the store has not completed
}

func newGate(store router.Store) *gate {
	return &gate{Store: store, judge: func(int) verdict { return pass }, truth: routing.New(routing.DefaultSettings())}
}

// set changes the verdicts. n counts from then on.
func (g *gate) set(judge func(n int) verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge, g.n = judge, 0
}

// always returns the same verdict for all groups.
func always(v verdict) func(int) verdict { return func(int) verdict { return v } }

func (g *gate) Append(l weir.Incarnation, group journal.Group, done func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	write := func(tell func(error)) {
		g.writes.Add(1)
		g.Store.Append(l, group, func(err error) {
			defer g.writes.Done()
			if err == nil {
				g.learn(group)
			}
			tell(err)
		})
	}
	switch g.judge(g.n) {
	case pass:
		write(done)
	case refuse:
		go done(errBroken)
	case drop:
	case mute:
		write(func(error) {})
	case hold:
		g.held = append(g.held, func() { write(done) })
	}
}

// open releases held groups and lets later ones pass.
func (g *gate) open() {
	g.set(always(pass))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, release := range g.held {
		release()
	}
	g.held = nil
}

// learn folds a written group into the expected state.
func (g *gate) learn(group journal.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range group.Segments {
		events, err := journal.NewDecoder().Decode(s.Data)
		if err == nil {
			err = g.truth.Replay(events...)
		}
		g.fault = errors.Join(g.fault, err)
	}
}

// last returns the number of the last written event.
func (g *gate) last() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.truth.Seq()
}

// known returns the expected state, from everything written.
func (g *gate) known() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	data, err := g.truth.Snapshot()
	return string(data), errors.Join(g.fault, err)
}
