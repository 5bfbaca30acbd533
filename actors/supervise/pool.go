package supervise

import "sync"

// poolThroughput is how many messages an actor handles before others may run; the
// value is the actor library's default.
const poolThroughput = 300

// Pool is a worker pool: it keeps goroutines for reuse. A new goroutine begins
// with a small stack, which is copied several times before a deep call has room;
// those of a pool have grown already. It is safe for concurrent use.
type Pool struct {
	maxIdle int // max idle goroutines

	mu     sync.Mutex
	idle   []chan func() // last in, first out: the latest to have finished has a warm stack
	closed bool
}

// NewPool returns a pool that keeps at most maxIdle idle goroutines.
func NewPool(maxIdle int) *Pool { return &Pool{maxIdle: maxIdle} }

// Go runs a function on a goroutine, never on the caller's. It never waits, no
// matter how many run already.
func (c *Pool) Go(do func()) {
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

func (c *Pool) run(do func()) {
	next := make(chan func(), 1)
	for do != nil {
		do()
		if !c.park(next) {
			return
		}
		do = <-next
	}
}

// park adds a goroutine to the idle ones, unless there are enough.
func (c *Pool) park(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= c.maxIdle {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}

// Close ends the idle goroutines. Running functions finish by themselves, and a
// goroutine started later ends with its function. It may be called more than once.
func (c *Pool) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
}

// Schedule implements actor.Dispatcher.
func (c *Pool) Schedule(do func()) { c.Go(do) }

// Throughput implements actor.Dispatcher.
func (c *Pool) Throughput() int { return poolThroughput }
