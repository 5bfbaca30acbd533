package surveys

import (
	"fmt"
	"math"
	"time"

	"weir"
)

// Tally is what is known of a survey as a whole. The store keeps these sums; no
// poll counts respondents.
type Tally struct {
	Pending   int
	Active    int
	Ended     int // status completed, or counted
	Final     int // a final disposition, or counted
	Completed int // successes: disposition completed, or counted
	Counted   int // those that count: completed, with partial ones if the survey counts them
	Secured   int // active, and counted already: nothing more is expected of them
	// Buckets are those that count, for each bucket.
	Buckets []int
}

// Target is how many are wanted: the cut-off or the sum of the quotas, whichever
// is more; 0 if there is neither.
func (pl *Plan) Target() int { return max(pl.Quotas.Sum(), pl.Cutoff) }

// CompletionRate is how much of the target there is, from 0 to 1; 0 without a
// target.
func (pl *Plan) CompletionRate(t Tally) float64 {
	target := pl.Target()
	if target == 0 {
		return 0
	}
	done := t.Counted
	if len(pl.Quotas) > 0 {
		done = pl.Quotas.Done(t.Buckets)
	}
	return min(1, float64(done)/float64(target))
}

// SuccessRate is the share of successes among the respondents whose result is
// known; 1 as long as none is.
func (t Tally) SuccessRate() float64 {
	if t.Final == 0 {
		return 1
	}
	return float64(t.Completed) / float64(t.Final)
}

// ExpectedRate is the share of respondents that are expected to complete: the
// initial guess at first, what was observed as the survey nears its target.
func (pl *Plan) ExpectedRate(t Tally) float64 {
	c := pl.CompletionRate(t)
	return (1-c)*pl.InitialSuccessRate + c*t.SuccessRate()
}

// BatchSize is how many respondents are to be active at a time: as many as it
// takes, at the expected rate, to reach the target.
//
// An expected rate of 0 says nothing about how many it takes. Then it is as many
// as without a target, and no fewer than are still wanted: the survey goes on,
// and the first that completes gives a rate.
func (pl *Plan) BatchSize(t Tally) int {
	target := pl.Target()
	if target == 0 {
		return pl.Batch
	}
	done := t.Ended
	if len(pl.Quotas) > 0 {
		done = pl.Quotas.Done(t.Buckets)
	}
	missing := max(0, target-done)
	rate := pl.ExpectedRate(t)
	if rate <= 0 {
		if missing == 0 {
			return 0
		}
		return max(pl.Batch, missing)
	}
	// Sums of fractions fall short of whole numbers by a hair.
	return int(min(float64(missing)/rate+1e-9, math.MaxInt32))
}

// Enough tells whether a survey has reached its cut-off, or all its quotas.
func (pl *Plan) Enough(t Tally) bool {
	return pl.Cutoff > 0 && t.Counted >= pl.Cutoff || pl.Quotas.Reached(t.Buckets)
}

// Verdict is what a poll decides about a running survey.
type Verdict struct {
	Done  bool // nobody is active and nobody is to be started
	Stop  bool // its last window is over: stop it as its user would
	Start int  // how many pending respondents are wanted now, before any limit
	// Why says why Start is 0 while the survey goes on.
	Why weir.Why
}

// Poll decides what a running survey needs. That a channel is down or paused
// does not keep it from noticing that it is done; it only starts nobody, which
// is the caller's to see to.
func (pl *Plan) Poll(now time.Time, t Tally) Verdict {
	enough := pl.Enough(t)
	switch {
	case t.Active == 0 && (t.Pending == 0 || enough):
		return Verdict{Done: true}
	case pl.Schedule.Over(now):
		return Verdict{Stop: true}
	case enough:
		return Verdict{Why: weir.Why{Code: weir.WhyTarget, Text: fmt.Sprintf("enough respondents are completed (%d); waiting for %d active ones", t.Counted, t.Active)}}
	case !pl.Schedule.Contains(now):
		return Verdict{Why: pl.Schedule.why(now)}
	case t.Pending == 0:
		return Verdict{Why: weir.Why{Code: weir.WhyActive, Text: fmt.Sprintf("all respondents have been started; waiting for %d active respondents", t.Active)}}
	}
	batch, active := pl.BatchSize(t), t.Active-t.Secured
	if active >= batch {
		return Verdict{Why: weir.Why{Code: weir.WhyBatch, Text: fmt.Sprintf("%d respondents are active, as many as wanted at a time (%d)", active, batch)}}
	}
	return Verdict{Start: min(batch-active, t.Pending)}
}

// why says when a schedule that is closed opens.
func (s *Schedule) why(now time.Time) weir.Why {
	if open, ok := s.NextOpen(now); ok {
		return weir.Why{Code: weir.WhyWindow, Text: "the schedule opens " + s.local(open)}
	}
	return weir.Why{Code: weir.WhyWindow, Text: "the schedule does not open again"}
}

// local shows an instant in the zone of the schedule.
func (s *Schedule) local(t time.Time) string {
	return t.In(s.zone).Format("Mon 2006-01-02 15:04 ") + s.zone.String()
}

// Remaining is how many more respondents have to be brought to their end: all,
// or as many as it takes to reach the target.
func (pl *Plan) Remaining(t Tally) int {
	left := t.Pending + t.Active
	switch {
	case pl.Enough(t):
		return t.Active
	case pl.Target() == 0:
		return left
	}
	return min(left, max(pl.BatchSize(t), t.Active))
}

// EndsAt estimates when a survey will be over that brings so many respondents
// to their end each minute, while its schedule is open; ok is false if nothing
// can be said.
func (pl *Plan) EndsAt(now time.Time, t Tally, perMinute float64) (_ time.Time, ok bool) {
	last, bounded := pl.Schedule.LastClose()
	if n := pl.Remaining(t); n == 0 {
		return now, true
	} else if open := float64(n) / perMinute * float64(time.Minute); perMinute > 0 && open < math.MaxInt64/2 {
		if end, ok := pl.Schedule.Later(now, time.Duration(open)); ok {
			return end, true
		}
	}
	return last, bounded
}
