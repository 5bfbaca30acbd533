package operators

import (
	"context"
	"slices"
	"time"

	"weir"
)

// Counter names one of the counts of a [Minute].
type Counter int

// The counters.
const (
	CountAccepted   Counter = iota
	CountSent               // dispatches that the provider accepted
	CountSendFailed         // dispatches that it did not accept, or whose result was lost
	CountCompleted          // from here on contacts that are done, by outcome
	CountBusy
	CountNoAnswer
	CountFailed
	CountExpired
	CountCanceled
	CountLost
	CountDeadLetter
	CountApplied // from here on callback reports, by verdict
	CountDuplicate
	CountLate
	CountUnknownAttempt
	CountReconciliations // reconciliation passes begun
	CountReconciled      // contacts reconciled by asking the provider
	Counters             // number of counters
)

// OutcomeCounter returns the counter of contacts that are done with an outcome; those that
// were suppressed have none.
func OutcomeCounter(o weir.Outcome) (Counter, bool) {
	i := slices.Index(weir.Outcomes(), o)
	return CountCompleted + Counter(i), i >= 0 && o != weir.Suppressed
}

// VerdictCounter returns the counter of reports with a verdict.
func VerdictCounter(v weir.Verdict) (Counter, bool) {
	i := slices.Index(weir.Verdicts(), v)
	return CountApplied + Counter(i), i >= 0
}

// Minute is the activity on a channel in one minute.
type Minute struct {
	Channel weir.ChannelID
	At      time.Time // start of the minute
	Counts  [Counters]int64
	// Gauged reports whether the gauges below are known: they are while the channel's broker
	// runs.
	Gauged      bool
	InFlight    int64 // slots, at the end of the minute
	MaxInFlight int64
	Queued      int64 // at the end of the minute
	Capacity    int64
}

// Empty reports whether all counters are zero.
func (m *Minute) Empty() bool { return m.Counts == [Counters]int64{} }

// Add adds the same minute as an earlier process counted it, or a later one.
func (m *Minute) Add(o *Minute) {
	for i := range m.Counts {
		m.Counts[i] += o.Counts[i]
	}
	if !o.Gauged {
		return
	}
	m.MaxInFlight = max(m.MaxInFlight, o.MaxInFlight)
	m.Gauged, m.InFlight, m.Queued, m.Capacity = true, o.InFlight, o.Queued, o.Capacity
}

// Hour is how busy a channel was in one hour.
type Hour struct {
	At       time.Time // start of the hour
	Sent     int64     // dispatches that the provider accepted
	Used     int64     // slots in flight at the end of each minute, added up
	Capacity int64     // the most of the hour
}

// Utilization returns the share of the capacity that was in use, from 0 to 1.
func (h Hour) Utilization() float64 {
	if h.Capacity <= 0 {
		return 0
	}
	return min(1, float64(h.Used)/float64(h.Capacity)/time.Hour.Minutes())
}

// HoursKept is how long the hours of channels are kept.
const HoursKept = 13 * 7 * 24 * time.Hour

// MinuteStore stores the minutes of channels, and what they add up to in an hour.
type MinuteStore interface {
	// AddMinutes adds the minutes of this process to the stored ones. With an
	// error it returns the minutes that were not written; retry only these.
	AddMinutes(ctx context.Context, list []Minute) (rest []Minute, err error)
	// Minutes lists the minutes of a channel in [from, until), oldest first.
	// Minutes in which nothing happened, nothing changed and nothing was in flight are
	// absent. before is
	// the last minute earlier than from; nil: none.
	Minutes(ctx context.Context, channel weir.ChannelID, from, until time.Time) (list []Minute, before *Minute, err error)
	// Quarters lists quarters of an hour of many channels in [from, until), by
	// channel, then oldest first. A quarter is the sum of its minutes.
	Quarters(ctx context.Context, channels []weir.ChannelID, from, until time.Time) ([]Minute, error)
	// PurgeMinutes deletes minutes from before an instant, at most limit, and returns
	// how many it deleted.
	PurgeMinutes(ctx context.Context, before time.Time, limit int) (int, error)
	// Hours lists the hours of a channel in [from, until), oldest first. Hours in which
	// nothing happened are absent.
	Hours(ctx context.Context, channel weir.ChannelID, from, until time.Time) ([]Hour, error)
	// PurgeHours deletes hours from before an instant, at most limit, and returns how many
	// it deleted.
	PurgeHours(ctx context.Context, before time.Time, limit int) (int, error)
}
