package weir

import (
	"context"
	"time"
)

// Counter names one of the counts of a [Minute].
type Counter int

// The counters.
const (
	CountAccepted   Counter = iota
	CountSent               // hand-overs that the provider took
	CountSendFailed         // hand-overs that it did not take, or whose result was lost
	CountCompleted          // from here on contacts that ended, by outcome
	CountBusy
	CountNoAnswer
	CountFailed
	CountExpired
	CountCanceled
	CountLost
	CountDeadLetter
	CountApplied // from here on reports of callbacks, by verdict
	CountDuplicate
	CountLate
	CountNotOurs
	CountForwarded
	CountCollections // collections that began
	CountReconciled  // contacts that were settled by asking the provider
	Counters         // how many there are
)

// CounterOf is the counter of contacts that ended with an outcome.
func CounterOf(o Outcome) (Counter, bool) {
	for i, known := range Outcomes() {
		if o == known {
			return CountCompleted + Counter(i), true
		}
	}
	return 0, false
}

// Verdicts lists every verdict, in the order of their counters.
func Verdicts() []Verdict { return []Verdict{Applied, Duplicate, Late, NotOurs, Forwarded} }

// CounterOfVerdict is the counter of reports with a verdict.
func CounterOfVerdict(v Verdict) (Counter, bool) {
	for i, known := range Verdicts() {
		if v == known {
			return CountApplied + Counter(i), true
		}
	}
	return 0, false
}

// Quarter is the width of what is kept beside single minutes, for charts of
// many channels.
const Quarter = 15 * time.Minute

// Minute is what one process saw happen on a channel in one minute, or what
// all of them saw together.
type Minute struct {
	Channel ChannelID
	At      time.Time // its beginning
	Counts  [Counters]int64
	// Gauged tells whether the gauges below are known: only the process that
	// runs the channel knows them.
	Gauged       bool
	InFlight     int64 // slots, at the end
	InFlightMost int64
	Queued       int64 // at the end
	Capacity     int64
}

// Empty tells whether nothing was counted.
func (m *Minute) Empty() bool { return m.Counts == [Counters]int64{} }

// Add adds what another process, or a later minute, saw.
func (m *Minute) Add(o *Minute) {
	for i := range m.Counts {
		m.Counts[i] += o.Counts[i]
	}
	if !o.Gauged {
		return
	}
	m.InFlightMost = max(m.InFlightMost, o.InFlightMost)
	m.Gauged, m.InFlight, m.Queued, m.Capacity = true, o.InFlight, o.Queued, o.Capacity
}

// MinuteStore keeps the minutes of channels.
type MinuteStore interface {
	// AddMinutes adds what this process saw to what is there. With an error it
	// gives the rest, which was not written: that is what to try again.
	AddMinutes(ctx context.Context, list []Minute) (rest []Minute, err error)
	// Minutes lists the minutes of a channel from an instant on and before
	// another, oldest first. Those in which nothing happened and nothing changed
	// are not there. before is the last one earlier than that; nil: none.
	Minutes(ctx context.Context, channel ChannelID, from, until time.Time) (list []Minute, before *Minute, err error)
	// Quarters lists quarters of an hour of many channels, from an instant on and
	// before another, by channel and then oldest first: the sums of their minutes.
	Quarters(ctx context.Context, channels []ChannelID, from, until time.Time) ([]Minute, error)
	// PurgeMinutes deletes minutes and quarters from before an instant, at most
	// limit of each, and says how many.
	PurgeMinutes(ctx context.Context, before time.Time, limit int) (int, error)
}
