package router

import (
	"time"

	"weir"
	"weir/router"
	routerjournal "weir/router/journal"
)

// mode is the state of the actor toward callers.
type mode int

const (
	loading  mode = iota // callers wait
	serving              // the state is loaded
	draining             // no new calls are accepted
	ended
)

// routerActor is the actor. Only the actor accesses the state.
type routerActor struct {
	*Router
	mode  mode
	gen   generation // of the state; messages of another one are ignored
	stop  func()
	state *router.State
	by    weir.Incarnation

	stash    []*call // calls that arrived while loading
	slow     bool    // loading takes long: calls are refused
	waiters  waiterQueue
	journal  journalQueue
	wake     *time.Timer
	wakeAt   time.Time // zero: not set
	snapshot snapshots
	drained  []chan struct{}
	failures int // failures in a row
}

// generation numbers the states that follow one another. Messages for one of them
// embed it.
type generation int64

func (g generation) of() generation { return g }

// Messages of the actor to itself and of the tasks that it starts.
type (
	flush     struct{ generation }
	tick      struct{ generation }
	committed struct {
		generation
		last uint64
		err  error
	}
	loaded struct {
		generation
		restored
		by weir.Incarnation
	}
	restored struct {
		state  *router.State
		missed []routerjournal.Event // durable, but not passed to Watch yet
		seq    uint64                // the last event of the snapshot
		size   int                   // entities in the snapshot
	}
	loadIsSlow struct{ generation }
	supplied   struct {
		generation
		command router.Command
	}
	drain          struct{ done chan struct{} }
	cutNext        struct{ generation }
	snapshotIsLate struct{ generation }
)

// journalQueue carries events to the journal: applied events collect in the open
// group while earlier groups are being written.
type journalQueue struct {
	durable    uint64 // the last event that is durable
	current    []routerjournal.Event
	submitted  []group // passed to the encoder and not durable, in order
	events     int     // applied and not durable
	flushAsked bool    // a flush message is pending
	encoder    chan<- group
}

// group is a set of events that become durable as one.
type group struct {
	events []routerjournal.Event
	begun  time.Time
}

func (g *group) last() uint64 { return g.events[len(g.events)-1].Head().Seq }

// snapshots is the progress of saving the state.
type snapshots struct {
	seq   uint64    // the last event in the latest snapshot
	at    time.Time // when the last attempt ended, or the state was loaded
	size  int       // records in it
	cut   *router.Snapshot
	upTo  uint64 // the last event in the cut
	whole bool   // the cut is complete
	busy  bool   // the cut is being written
	last  bool   // it is the last one of a drain

	awaited bool // a drain waits for it, but not for long
}

type saved struct {
	generation
	seq  uint64
	size int
	err  error
}
