package httponce

import (
	"slices"
	"sync"
	"time"
)

// pool holds kept connections.
type pool struct {
	most    int
	timeout time.Duration

	mu     sync.Mutex
	idle   []*conn     // the one that was kept first is first
	timer  *time.Timer // runs expire; nil: it was never needed
	armed  bool
	closed bool // nothing is kept until there is a new request
}

// take returns the connection that was kept last; nil: there is none.
func (p *pool) take(k key) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
	for i, c := range slices.Backward(p.idle) {
		if c.key == k {
			p.idle = slices.Delete(p.idle, i, i+1)
			return c
		}
	}
	return nil
}

// put keeps a connection. If there are too many, the one that was kept first is closed.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	c.since = time.Now()
	p.idle = append(p.idle, c)
	if len(p.idle) > p.most {
		p.idle[0].close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.arm(c.since)
}

// arm starts the timer for the connection that was kept first, if it does not run.
func (p *pool) arm(now time.Time) {
	switch {
	case p.armed || len(p.idle) == 0:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(p.timeout, p.expire)
	default:
		p.timer.Reset(p.idle[0].since.Add(p.timeout).Sub(now))
	}
	p.armed = true
}

// expire closes the connections whose time is over.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	now := time.Now()
	old := 0
	for old < len(p.idle) && now.Sub(p.idle[old].since) >= p.timeout {
		p.idle[old].close()
		old++
	}
	p.idle = slices.Delete(p.idle, 0, old)
	p.arm(now)
}

// close closes what is kept, and what would be kept before the next take.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.close()
	}
	p.idle, p.closed, p.armed = nil, true, false
	if p.timer != nil {
		p.timer.Stop()
	}
}
