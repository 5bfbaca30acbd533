package commit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/persistence/dialect"
)

// confirmations are the batches that the database has confirmed to this process. If it has
// fewer later, it is another one than it was: a replica that was promoted before it had
// caught up, an older state that was restored, or a server that lost what it had not flushed.
type confirmations struct {
	mu       sync.Mutex
	last     int64
	instants []confirmation // in their order; old ones are dropped
}

// confirmation is the first batch of a step of time.
type confirmation struct {
	number int64
	at     time.Time
}

// Bounds of what is remembered: some minutes under load.
const (
	confirmationStep = 100 * time.Millisecond
	maxConfirmations = 8192
)

func (c *confirmations) add(number int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = number
	if n := len(c.instants); n > 0 && now.Sub(c.instants[n-1].at) < confirmationStep {
		return
	}
	if len(c.instants) == maxConfirmations {
		c.instants = slices.Delete(c.instants, 0, maxConfirmations/2)
	}
	c.instants = append(c.instants, confirmation{number, now})
}

// latest returns the number of the latest batch; 0: there is none.
func (c *confirmations) latest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// missing returns the error about a database whose last batch has a number; nil: it has all.
func (c *confirmations) missing(number, want int64) error {
	if number >= want {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since, word := c.instants[0].at, "since"
	if number+1 < c.instants[0].number { // older ones are gone
		word = "since before"
	}
	for _, i := range c.instants {
		if i.number <= number+1 {
			since = i.at
		}
	}
	return fmt.Errorf("commits are missing %s %s: the database has confirmed %d batches of this process and has %d; "+
		"it is a replica that was promoted before it had caught up, or an older state that was restored", word, since.UTC().Format(time.RFC3339Nano), want, number)
}

// inspect refuses a connection to a server that lacks confirmed batches.
func (w *writer) inspect(ctx context.Context, read dialect.ReadNumber) error {
	want := w.confirmed.latest()
	if want == 0 {
		return nil
	}
	number, _, err := read(ctx, fmt.Sprint("SELECT batch FROM writers WHERE start_number = ", w.s.Start()))
	if err != nil {
		return err
	}
	if err := w.confirmed.missing(number, want); err != nil {
		return w.s.LoseCommits(err)
	}
	return nil
}
