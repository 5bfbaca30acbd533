package care

import "sync"

// crewThroughput is how many messages an actor handles before it lets others
// run, as the library has it.
const crewThroughput = 300

// Crew runs functions on goroutines that it keeps for the next one. A new
// goroutine begins with a small stack, which is copied several times before a
// deep call has room; those of a crew have grown already. It is safe for
// concurrent use.
type Crew struct {
	most int // goroutines that wait for work

	mu     sync.Mutex
	idle   []chan func() // the latest to have ended is the next to run: its stack is warm
	closed bool
}

// NewCrew makes a crew that keeps up to so many goroutines.
func NewCrew(most int) *Crew { return &Crew{most: most} }

// Go runs a function on a goroutine, never on the caller's. However many run
// already, it does not wait.
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

// rest puts a goroutine among those that wait, unless there are enough.
func (c *Crew) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= c.most {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}

// Close ends the goroutines that wait. What runs ends by itself, and what is
// begun later ends with its function. It may be called again.
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
