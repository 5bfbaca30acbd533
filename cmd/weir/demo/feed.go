package demo

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	batchSize  = 25
	feedPause  = 50 * time.Millisecond  // before a full queue is looked at again
	feedEvery  = 600 * time.Millisecond // a batch at least so often, however full the queue is
	retryPause = 100 * time.Millisecond // before a batch is sent again
)

// feeder hands the contacts of one channel to the broker, batch after batch,
// as a client does that takes nothing for granted: a batch whose answer did
// not come is sent again as it was.
type feeder struct {
	channel *channel
	backlog int           // it slows down while so many are open
	every   time.Duration // a batch at least so often
	posting chan struct{} // whoever listens is told just before a batch goes out

	mu         sync.Mutex
	acked      []outreach
	done       int // as the broker tells
	repeated   int // batches that had no answer at first
	duplicates int // contacts that the broker knew already
	complete   bool
	err        error
}

func newFeeder(c *channel, every time.Duration, posting chan struct{}) *feeder {
	// A fifth ahead: when half is done there is still something to feed.
	return &feeder{channel: c, backlog: max(c.capacity, len(c.contacts)/5), every: every, posting: posting}
}

// run feeds until everything is acknowledged, or the broker refuses a batch.
func (f *feeder) run(ctx context.Context, a *api) {
	rest, again, last := f.channel.contacts, false, time.Time{}
	for len(rest) > 0 && ctx.Err() == nil {
		if f.ahead() >= f.backlog && !again && time.Since(last) < f.every {
			pause(ctx, feedPause)
			continue
		}
		batch := rest[:min(batchSize, len(rest))]
		select {
		case f.posting <- struct{}{}:
		default:
		}
		answers, err := a.hand(ctx, f.channel.name, batch)
		if no := (*refusedError)(nil); errors.As(err, &no) {
			f.fail(err)
			return
		}
		if err != nil {
			again = true
			pause(ctx, retryPause)
			continue
		}
		f.acknowledge(batch, answers, again)
		rest, again, last = rest[len(batch):], false, time.Now()
	}
	f.note(func() { f.complete = len(rest) == 0 })
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (f *feeder) note(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
}

func (f *feeder) fail(err error) { f.note(func() { f.err = err }) }

func (f *feeder) acknowledge(batch []Contact, answers []accepted, again bool) {
	f.note(func() {
		if again {
			f.repeated++
		}
		for i, a := range answers {
			f.acked = append(f.acked, outreach{ID: a.ID, To: batch[i].To, Units: batch[i].units()})
			if a.Duplicate {
				f.duplicates++
			}
		}
	})
}

// ahead is how many acknowledged contacts are not done.
func (f *feeder) ahead() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.acked) - f.done
}

// state is a copy of what the feeder has noted.
func (f *feeder) state() fed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fed{acked: len(f.acked), repeated: f.repeated, duplicates: f.duplicates, complete: f.complete, err: f.err}
}

type fed struct {
	acked      int
	repeated   int
	duplicates int
	complete   bool
	err        error
}
