package surveys

import (
	"math"
	"time"

	"weir/operators"
	"weir/surveys/calendar"
)

// Tally holds the sums of a survey. The store maintains them; no poll counts
// respondents.
type Tally struct {
	Pending   int
	Active    int
	Final     int // final disposition, or counted
	Completed int // successes: disposition completed, or counted
	Counted   int // count toward the target: completed, and partial ones if the survey counts them
	Secured   int // active and counted already: nothing more is expected of them
	// Buckets holds the number of counted respondents per bucket.
	Buckets []int
}

// Target returns how many respondents are wanted: the cutoff or the sum of the
// quotas, whichever is larger; 0 if there is neither.
func (pl *Plan) Target() int { return max(pl.Quotas.Sum(), pl.Cutoff) }

// CompletionRate returns the reached share of the target, from 0 to 1; 0 without a
// target.
func (pl *Plan) CompletionRate(t Tally) float64 {
	target := pl.Target()
	if target == 0 {
		return 0
	}
	return min(1, float64(pl.counted(t))/float64(target))
}

// counted returns how many respondents count toward the target.
func (pl *Plan) counted(t Tally) int {
	if len(pl.Quotas) > 0 {
		return pl.Quotas.Done(t.Buckets)
	}
	return t.Counted
}

// SuccessRate returns the share of successes among the respondents with a known
// result; 1 while there is none.
func (t Tally) SuccessRate() float64 {
	if t.Final == 0 {
		return 1
	}
	return float64(t.Completed) / float64(t.Final)
}

// ExpectedRate returns the share of respondents that are expected to complete: the
// configured initial rate at first, the observed one as the survey nears its target.
func (pl *Plan) ExpectedRate(t Tally) float64 {
	c := pl.CompletionRate(t)
	return (1-c)*pl.InitialSuccessRate + c*t.SuccessRate()
}

// BatchSize returns the max number of active respondents: as many as are needed, at
// the expected rate, to reach the target.
//
// An expected rate of 0 does not tell how many are needed. Then the size is that
// without a target, and no less than the number still missing: the survey continues,
// and the first respondent that completes yields a rate.
func (pl *Plan) BatchSize(t Tally) int {
	target := pl.Target()
	if target == 0 {
		return pl.Batch
	}
	missing := max(0, target-pl.counted(t))
	rate := pl.ExpectedRate(t)
	if rate <= 0 {
		if missing == 0 {
			return 0
		}
		return max(pl.Batch, missing)
	}
	// Sums of fractions may fall just short of a whole number.
	return int(min(float64(missing)/rate+1e-9, math.MaxInt32))
}

// NumbersNeeded estimates how many more respondents the target takes than there are, at
// the present success rate; ok is false without a target or a success. It does not know
// to which quotas new respondents would belong.
func (pl *Plan) NumbersNeeded(t Tally) (n int, ok bool) {
	if pl.Target() == 0 || t.Completed == 0 {
		return 0, false
	}
	if pl.Enough(t) {
		return 0, true
	}
	needed := math.Ceil(float64(pl.Target()-pl.counted(t))/t.SuccessRate() - 1e-9)
	return max(0, int(min(needed, math.MaxInt32))-t.Pending-(t.Active-t.Secured)), true
}

// Enough reports whether a survey has reached its cutoff, or all its quotas.
func (pl *Plan) Enough(t Tally) bool {
	return pl.Cutoff > 0 && t.Counted >= pl.Cutoff || pl.Quotas.Reached(t.Buckets)
}

// Decision is the decision of a poll about a running survey.
type Decision struct {
	Done    bool // no respondent is active and none is to be started
	Stop    bool // its last window is over: stop it, as a user would
	ToStart int  // how many pending respondents to start now, before any limit
	// Why is the reason why ToStart is 0 while the survey continues.
	Why operators.Why
}

// Decide decides the next action of a running survey. It ignores the state of the
// channels, so that a survey is found done even if its channel is down or paused;
// the caller must start no respondent on such a channel.
func (pl *Plan) Decide(now time.Time, t Tally) Decision {
	enough := pl.Enough(t)
	switch {
	case t.Active == 0 && (t.Pending == 0 || enough):
		return Decision{Done: true}
	case pl.Schedule.Over(now):
		return Decision{Stop: true}
	case enough:
		return Decision{Why: operators.NewWhy(operators.WhyTarget, operators.TextTarget, "completed", t.Counted, "active", t.Active)}
	case !pl.Schedule.Contains(now):
		return Decision{Why: pl.Schedule.WhyClosed(now)}
	case t.Pending == 0:
		return Decision{Why: operators.NewWhy(operators.WhyActive, operators.TextAllStarted, "active", t.Active)}
	}
	batch, active := pl.BatchSize(t), t.Active-t.Secured
	if active >= batch {
		return Decision{Why: operators.NewWhy(operators.WhyBatch, operators.TextBatch, "active", active, "batch", batch)}
	}
	return Decision{ToStart: min(batch-active, t.Pending)}
}

// Verdict is what a round does about the state of a survey.
type Verdict struct {
	Step   Step // to take; empty: none
	Cause  Cause
	GoesOn bool // it contacts respondents while its window is open
}

// Judge returns what becomes of a survey that runs or is paused. braked reports that it has passed a
// bound of its brake, spent that what is left of its budget pays for no contact.
func (pl *Plan) Judge(s State, d Decision, t Tally, braked, spent bool) Verdict {
	over := Exhausted
	if pl.Enough(t) {
		over = Reached
	}
	switch {
	case d.Done && t.Pending > 0: // respondents that are no longer needed are canceled, too
		return Verdict{Step: Stop, Cause: over}
	case d.Done:
		return Verdict{Step: Finish, Cause: over}
	case d.Stop:
		return Verdict{Step: Stop, Cause: WindowOver}
	case braked:
		return Verdict{Step: Pause}
	case spent:
		return Verdict{Step: Stop, Cause: BudgetSpent}
	}
	return Verdict{GoesOn: s == Running}
}

// WakeAt returns when the schedule of a survey asks for a round: when it opens, or at the end of its
// last window and grace; zero: not again.
func (pl *Plan) WakeAt(now time.Time) (at time.Time) {
	if last, bounded := pl.Schedule.LastClose(); bounded {
		at = last.Add(calendar.Grace)
	}
	if opens, ok := pl.Schedule.NextOpen(now); ok && opens.After(now) && (at.IsZero() || opens.Before(at)) {
		at = opens
	}
	return at
}

// Pace is the pace of a survey so far, in respondents per minute of open schedule. Zero:
// not known.
type Pace struct{ Started, Ended float64 }

// EndsAt estimates when a survey is done if respondents are started and end at the pace
// so far, and the last ones do not answer. latest are the active respondents whose next
// steps are the latest. ok is false if there is no estimate: not yet, or no longer, since the
// schedule has no window left and a paused survey ends when somebody resumes it.
func (pl *Plan) EndsAt(now time.Time, t Tally, pace Pace, latest []Progress) (_ time.Time, ok bool) {
	last, bounded := pl.Schedule.LastClose()
	end, ok := pl.lastStartEnds(now, t, pace)
	for _, p := range latest {
		end = calendar.LaterOf(end, pl.unansweredUntil(p, now))
	}
	if !ok || bounded && end.After(last) {
		return last, bounded && !last.Before(now)
	}
	return end, true
}

// toStart returns how many pending respondents are yet to be started, and how many of them may be
// active at once.
func (pl *Plan) toStart(t Tally) (n, free int) {
	free = max(0, pl.BatchSize(t)-(t.Active-t.Secured))
	switch {
	case pl.Enough(t):
		return 0, free
	case pl.Target() > 0: // the batch is as large as is needed
		return min(t.Pending, free), free
	default:
		return t.Pending, free
	}
}

// lastStartEnds estimates when the last respondent ends who is yet to be started; now if
// none is.
func (pl *Plan) lastStartEnds(now time.Time, t Tally, pace Pace) (_ time.Time, ok bool) {
	toStart, free := pl.toStart(t)
	if toStart == 0 {
		return now, true
	}
	minutes := float64(toStart) / min(pace.Started, float64(pl.LimitPerMinute))
	if toStart > free { // they are started as others end
		minutes = max(minutes, float64(toStart-free)/pace.Ended)
	}
	if minutes > math.MaxInt32 {
		return now, false
	}
	at, ok := pl.Schedule.Later(now, time.Duration(minutes*float64(time.Minute)))
	if !ok {
		return now, false
	}
	for arm := range pl.Arms {
		if p, _, err := pl.Start(NewProgress(), at, arm); err == nil {
			now = calendar.LaterOf(now, pl.unansweredUntil(p, at))
		}
	}
	return now, true
}

// unansweredUntil returns when a respondent ends that does not answer. Its open contact
// and all later ones are assumed to end at once.
func (pl *Plan) unansweredUntil(p Progress, now time.Time) (end time.Time) {
	if !pl.Covers(p) {
		return now
	}
	for end = now; p.Due(p.DueAt); p, _ = pl.Timeout(p, p.DueAt) {
		if p.Contact != Idle {
			p.Contact, p.DueAt = Idle, pl.nextStepAt(p, end)
		}
		end = calendar.LaterOf(end, p.DueAt)
	}
	return end
}

// AddTotals returns the totals of a progress with what an outbox entry reports. A repeated
// entry of a contact adds nothing. The notes of a contact to an interviewer are no messages.
func (pl *Plan) AddTotals(p Progress, n *OutboxEntry) Totals {
	t, serial := p.Totals, n.Owner.Serial
	t.CallSeconds += n.Result.CallSeconds // only ContactEnded has them, and a contact ends once
	switch {
	case n.Kind == MessageReceived:
		t.Received++
	case serial == 0: // a reply; the store reports its acceptance once
		t.Sent += n.Messages
	case serial == p.Serial && serial > t.Serial && n.Messages > 0 && pl.Covers(p) && !Voice(pl.Mode(p)):
		t.Sent, t.Serial = t.Sent+n.Messages, serial
	}
	return t
}

// Tally returns the totals that the rules need.
func (s Sums) Tally(buckets int) Tally {
	t := Tally{Buckets: make([]int, buckets)}
	for g, n := range s.Respondents {
		switch g.Status {
		case Pending:
			t.Pending += n
		case Active:
			t.Active += n
		case Completed, Failed, Rejected, Canceled: // counted by their dispositions
		}
		if g.Disposition.Final() || g.Counted {
			t.Final += n
		}
		if g.Disposition == Complete || g.Counted {
			t.Completed += n
		}
		if !g.Counted {
			continue
		}
		t.Counted += n
		if g.Status == Active {
			t.Secured += n
		}
		if g.Bucket >= 0 && g.Bucket < buckets {
			t.Buckets[g.Bucket] += n
		}
	}
	return t
}

// FullBuckets returns the buckets that have reached their quotas.
func (q Quotas) FullBuckets(counts []int) []int {
	var out []int
	for i := range q {
		if q.Full(counts, i) {
			out = append(out, i)
		}
	}
	return out
}
