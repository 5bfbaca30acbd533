package care

import "sync"

// crewThroughput is how many messages an actor handles before others may run; the
// value is the actor library's default.
const crewThroughput = 300

// Crew is a worker pool: it keeps goroutines for reuse. A new goroutine begins
// with a small stack, which is copied several times before a deep call has room;
// those of a crew have grown already. It is safe for concurrent use.
type Crew struct {
	most int // max idle goroutines

	mu     sync.Mutex
	idle   []chan func() // last in, first out: the latest to have finished has a warm stack
	closed bool
}

// NewCrew returns a crew that keeps at most most idle goroutines.
func NewCrew(most int) *Crew { return &Crew{most: most} }

// Go runs a function on a goroutine, never on the caller's. It never waits, no
// matter how many run already.
func (c *Crew) Go(do func()) {
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		next := c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		next <- do
		return
	}
	c.mu.Unlock()
	go c.run(do)
}

func (c *Crew) run(do func()) {
	next := make(chan func(), 1)
	for do != nil {
		do()
		if !c.rest(next) {
			return
		}
		do = <-next
	}
}

// rest adds a goroutine to the idle ones, unless there are enough.
func (c *Crew) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= c.most {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}

// Close ends the idle goroutines. Running functions finish by themselves, and a
// goroutine started later ends with its function. It may be called more than once.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
}

// Schedule implements actor.Dispatcher.
func (c *Crew) Schedule(do func()) { c.Go(do) }

// Throughput implements actor.Dispatcher.
func (c *Crew) Throughput() int { return crewThroughput }
