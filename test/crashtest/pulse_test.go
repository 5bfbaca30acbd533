package crashtest_test

import (
	"sync"
	"testing"
	"time"
)

// A pulse later than pulseLate shows that nothing ran on the machine: it was
// suspended, or its processors ran other guests.
const (
	pulseEvery = 20 * time.Millisecond
	pulseLate  = 200 * time.Millisecond
)

// pulse records when the machine stood still, so that such time is not counted against
// the time limits that the program guarantees. It runs in the test's process, beside
// the program: a program that waits or sleeps too long is not excused, but one that
// keeps both cores from all other processes might be. The excused time is therefore
// logged with the figures of each test.
type pulse struct {
	mu   sync.Mutex
	last time.Time
	gaps []gap
}

type gap struct{ from, to time.Time }

func newPulse(t *testing.T) *pulse {
	t.Helper()
	p := &pulse{last: time.Now()}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for rest(done, pulseEvery) {
			p.beat(time.Now())
		}
	})
	t.Cleanup(func() {
		close(done)
		work.Wait()
	})
	return p
}

func (p *pulse) beat(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) > pulseLate {
		p.gaps = append(p.gaps, gap{p.last, now})
	}
	p.last = now
}

// still returns how long the machine stood still between two instants, as far as it was
// noticed; a gap that has not ended counts up to the later instant.
func (p *pulse) still(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum time.Duration
	gaps := p.gaps
	if to.Sub(p.last) > pulseLate {
		gaps = append(gaps[:len(gaps):len(gaps)], gap{p.last, to})
	}
	for _, g := range gaps {
		if g.from.Before(from) {
			g.from = from
		}
		if g.to.After(to) {
			g.to = to
		}
		sum += max(0, g.to.Sub(g.from))
	}
	return sum
}

func TestPulse_CountsTheTimeThatIsMissing(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }
	p := &pulse{last: at(0)}
	for _, ms := range []int{20, 40, 1040, 1060, 1300, 1320} { // 1,000 ms missing, then 240
		p.beat(at(ms))
	}
	for _, c := range []struct{ from, to, want int }{
		{0, 1320, 1240}, {0, 40, 0}, {500, 1320, 780}, {0, 540, 500}, {600, 700, 100}, {1060, 1320, 240},
		{0, 1500, 1240}, {0, 1700, 1620}, {1310, 1700, 380},
	} {
		if got := p.still(at(c.from), at(c.to)); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("between %d and %d it stood still for %v, want %d ms", c.from, c.to, got, c.want)
		}
	}
}
