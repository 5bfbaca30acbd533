package channels

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// spareGoroutines is how many goroutines may wait for work.
const spareGoroutines = 64

// goroutines keeps goroutines whose work has ended for the next work. The turn of a
// broker and the call of a provider need 16 kB of stack, and a new goroutine gets
// there by copying its stack several times: a tenth of the CPU time of a contact.
// It is the dispatcher of the brokers.
type goroutines struct {
	work  chan func()
	spare atomic.Int32  // goroutines that wait, or are about to
	ended chan struct{} // closed by end
}

var _ actor.Dispatcher = (*goroutines)(nil)

func newGoroutines() *goroutines {
	return &goroutines{work: make(chan func()), ended: make(chan struct{})}
}

// Schedule runs do at once, on a goroutine of its own.
func (g *goroutines) Schedule(do func()) {
	select {
	case g.work <- do:
	default:
		go g.run(do)
	}
}

// Throughput is how many messages a broker handles before others have a turn.
func (g *goroutines) Throughput() int { return 300 }

func (g *goroutines) run(do func()) {
	for {
		do()
		if g.spare.Add(1) > spareGoroutines {
			g.spare.Add(-1)
			return
		}
		select {
		case do = <-g.work:
			g.spare.Add(-1)
		case <-g.ended:
			return
		}
	}
}

// end lets the goroutines go that wait. Work that is scheduled later still runs.
func (g *goroutines) end() { close(g.ended) }
