package operators

import (
	"context"
	"time"

	"weir"
)

// Figures is a snapshot of the live numbers of a channel.
type Figures struct {
	InFlight       int // slots of sending, active and unknown contacts
	Sending        int // contacts
	Active         int
	Unknown        int
	Queued         int64
	Blocked        int // queued contacts larger than the capacity, counted only in the broker's window
	OldestQueuedAt time.Time
	Health         weir.Health
	HealthReason   string
	Breaker        Breaker
	RetryBudget    float64 // share of the retry budget that is left, 0 to 1
	BreakerUntil   time.Time
	RatePerSecond  float64            // the rate limit in force; 0: none
	Reconciliation Reconciliation     // the last one since the broker started; zero: none
	NextDue        time.Time          // when the next delayed contact is due; zero: none
	SentPerMinute  float64            // dispatches by this process over the last minutes
	IdleSince      time.Time          // since when nothing was dispatched, to the minute; zero: not known
	Brake          *weir.BrakeFigures // what the channel's brake counts; nil: it has none, or that is not known
	Why            Why                // why no waiting contact starts, as far as this process knows
}

// maxEmptying is how far ahead the end of a queue is estimated.
const maxEmptying = 30 * 24 * time.Hour

// EmptyAt estimates when the queue is empty if contacts are dispatched as fast as over the last
// minutes and none is added; zero: not known, because nothing waits, or nothing is dispatched.
// Contacts larger than the capacity wait for ever, and are not counted.
func (f *Figures) EmptyAt(now time.Time) time.Time {
	waiting := float64(f.Queued - int64(f.Blocked))
	if waiting <= 0 || f.SentPerMinute <= 0 || waiting/f.SentPerMinute > maxEmptying.Minutes() {
		return time.Time{}
	}
	return now.Add(time.Duration(waiting / f.SentPerMinute * float64(time.Minute)))
}

// Breaker is the state of a channel's circuit breaker.
type Breaker int

// The states of a breaker.
const (
	BreakerClosed  Breaker = iota // every dispatch passes
	BreakerProbing                // a single dispatch probes the provider
	BreakerOpen                   // no dispatch passes for a while
)

// Reconciliation is one reconciliation pass of a channel's broker over contacts
// whose reports are overdue.
type Reconciliation struct {
	At       time.Time
	Checked  int // contacts to ask the provider about
	Resolved int // contacts reconciled by asking, then and since
}

// Backlog is the number and age of the waiting contacts of a channel.
type Backlog struct {
	Queued int64
	// OldestQueuedAt is when the oldest waiting contact that is not delayed was
	// accepted; zero: there is none.
	OldestQueuedAt time.Time
}

// FiguresReader reads the figures of many channels at once. Channels without
// figures are absent from the result.
type FiguresReader interface {
	// Backlogs returns the backlog of each channel.
	Backlogs(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]Backlog, error)
	// Flights counts what is in flight: InFlight, Sending, Active and Unknown.
	Flights(ctx context.Context, channels []weir.ChannelID) (map[weir.ChannelID]Figures, error)
}
