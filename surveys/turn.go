package surveys

import (
	"slices"
	"time"

	"weir"
	"weir/limits"
)

// How many respondents a round reads of a survey: with those of full buckets, its turn fits in one
// transaction.
const (
	DuePage   = 200
	StartPage = 200
)

const (
	blockedDelay = time.Minute            // delay of respondents whose channel has no room, or whom the budget does not pay for
	blockedPause = 500 * time.Millisecond // between two pages of them
)

// Facts are what a round has read of a running survey, when it is to decide whom to contact.
type Facts struct {
	Tally     Tally
	Full      []int // buckets that have reached their quotas
	ToStart   int   // how many respondents pacing wants to be started
	PerMinute int   // how many contacts the limit per minute leaves
	Open      bool  // the survey's window is open
	Rooms     map[Mode]Room

	Due        []Respondent              // a page of [DuePage]
	Contacts   map[weir.Ref]weir.Contact // of them; those that were deleted are missing
	Rejectable []Respondent              // some of those that are in full buckets
	Startable  []Respondent              // a page of StartLimit
	StartLimit int                       // see [Facts.StartsToRead]
	Hours      *Hours                    // of Startable
	Funds      *Funds                    // for Startable; nil: there is enough for all
}

// Room is what a channel has room for.
type Room struct {
	Channel  weir.ChannelID // 0: there is none
	Contacts int            // of the survey
	Size     int            // max slots of one of its contacts
	Works    bool
}

// Funds are what is left of a budget by which a claim was refused already.
type Funds struct {
	Left    limits.Money
	Cost    Cost
	Payable bool // some pending respondents can be contacted
}

// Turn is what a survey does in a round.
type Turn struct {
	Changes     []Change   // that need no channel
	Recancel    []weir.Ref // contacts whose cancellation a crash may have lost
	Bids        []*Bid
	Backlog     int       // see [Stepper.backlog]
	RateLimited bool      // it wants more than the limit per minute allows
	ClosedHours bool      // respondents to start are outside their hours
	MoreWork    bool      // the next round follows at once
	Wake        time.Time // or then; zero: not for this
}

func (t *Turn) wakeAt(at time.Time) {
	if t.Wake.IsZero() || at.Before(t.Wake) {
		t.Wake = at
	}
}

// room returns the room of a channel.
func (f *Facts) room(id weir.ChannelID) Room {
	for _, r := range f.Rooms {
		if r.Channel == id {
			return r
		}
	}
	return Room{}
}

// StartsToRead returns how many respondents have to be read to be started; 0: none can be. closedHours
// reports that of the last ones some were outside their hours, so that more have to be read than
// there is room for.
func (f *Facts) StartsToRead(plan *Plan, closedHours bool) int {
	free := 0
	for _, arm := range plan.Arms {
		free = max(free, f.Rooms[arm.Modes[0]].Contacts)
	}
	switch {
	case f.ToStart <= 0 || free <= 0:
		return 0
	case len(plan.Arms) == 1 && !closedHours:
		return min(StartPage, free+1, f.ToStart) // one more than there is room for shows that the survey wants more
	}
	return StartPage
}

// Decide decides what a survey does in a round. It only bids for the channels: [ShareRoom] says what
// it gets, and [Stepper.Grant] contacts them.
func (st *Stepper) Decide(f *Facts) (t Turn) {
	retries := st.decideDue(f, &t)
	if !f.Open {
		return t
	}
	t.Backlog = st.backlog(f, retries)
	for _, r := range f.Rejectable {
		if c, ok := st.Step(r, st.Plan.Reject); ok {
			t.Changes, t.MoreWork = append(t.Changes, c), true
		}
	}
	starts := st.decideStarts(f, &t)
	t.Bids, t.RateLimited = st.bids(f, retries, starts)
	return t
}

// decideDue decides on the respondents that are due. It returns those that need a channel.
func (st *Stepper) decideDue(f *Facts, t *Turn) (out []Candidate) {
	var changes []Change
	for _, r := range f.Due {
		if r.Progress.Contact != Idle {
			c, again, ok := st.Overdue(r, f.Contacts)
			if again {
				t.Recancel = append(t.Recancel, r.Contact)
			}
			if ok {
				changes = append(changes, c)
			}
			continue
		}
		c, next := st.stepDue(r, f)
		if next != nil {
			out = append(out, *next)
		} else if c != nil {
			changes = append(changes, *c)
		}
	}
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Move.Is.Status.Final() }) {
		t.wakeAt(st.Now) // the survey may be done
	}
	if len(f.Due) == DuePage {
		// Without a change, the next round would read the same page again.
		t.MoreWork = t.MoreWork || len(changes) > 0
		changes = append(changes, st.deferBlocked(f, t, out)...)
	}
	t.Changes = append(t.Changes, changes...)
	return out
}

// stepDue takes the next step of a respondent that is due and has no contact: a change, or a candidate
// if the step needs a channel; neither if there is nothing to do.
func (st *Stepper) stepDue(r Respondent, f *Facts) (*Change, *Candidate) {
	// Its bucket has filled since it was started: no further contact is spent on it.
	if !r.Counted && slices.Contains(f.Full, r.Bucket) {
		if c, ok := st.Step(r, st.Plan.Reject); ok {
			return &c, nil
		}
	}
	change := func(p Progress, e Effects) (*Change, *Candidate) {
		c := st.Build(r, p, e)
		return &c, nil
	}
	if r.Unsaid {
		if p, ok := st.Plan.Unsaid(r.Progress, st.Now); ok {
			return change(p, Effects{})
		}
	}
	if !r.Due(st.Now) { // the question was sent later than it was to be
		return change(r.Progress, Effects{})
	}
	p, e, err := st.Try(r.Progress, Certain(func(p Progress) (Progress, Effects) { return st.Plan.Timeout(p, st.Now) }))
	switch {
	case err != nil:
		c := st.DeferFailed(r)
		return &c, nil
	case e.Enqueue == nil && p == r.Progress:
		return nil, nil
	case e.Enqueue == nil:
		return change(p, e)
	}
	return nil, &Candidate{respondent: r, progress: p, effects: e, channel: f.Rooms[e.Enqueue.Mode].Channel}
}

// decideStarts decides on the respondents to start. It returns those that can be started, each in its
// arm, and delays those whose hours are closed or whom the budget does not pay for.
func (st *Stepper) decideStarts(f *Facts, t *Turn) (out []Candidate) {
	var changes []Change
	unpaid := 0
	for i := range f.Startable {
		r := &f.Startable[i]
		if opens := f.Hours.Opens(r, st.Now); opens.After(st.Now) {
			changes, t.ClosedHours = append(changes, st.delayUntil(*r, opens)), true
			continue
		}
		if f.Funds != nil && !f.Funds.pay(st.NeedOf(r, f.Funds.Cost)) {
			// If others can be paid for, it is delayed, so that the next page shows them.
			if f.Funds.Payable {
				unpaid++
				changes = append(changes, st.delayUntil(*r, st.Now.Add(blockedDelay+time.Duration(unpaid)*time.Millisecond)))
				t.wakeAt(st.Now.Add(blockedPause))
			}
			continue
		}
		p, e, err := st.Start(r)
		if err != nil {
			changes = append(changes, st.DeferFailed(*r))
			continue
		}
		if e.Enqueue != nil {
			out = append(out, Candidate{respondent: *r, progress: p, effects: e, channel: f.Rooms[e.Enqueue.Mode].Channel})
		}
	}
	if t.ClosedHours && len(f.Startable) == f.StartLimit {
		t.wakeAt(st.Now.Add(blockedPause)) // hundreds of thousands more may be outside their hours
	}
	if len(f.Startable) == StartPage {
		t.MoreWork = t.MoreWork || len(changes) > 0
		changes = append(changes, st.deferBlocked(f, t, out)...)
	}
	t.Changes = append(t.Changes, changes...)
	return out
}

// pay reports whether the funds pay for what a contact needs.
func (f *Funds) pay(n Need) bool { return n.Free || n.Cost <= f.Left }

// delayUntil delays the start, or the next step, of a respondent.
func (st *Stepper) delayUntil(r Respondent, at time.Time) Change {
	p := r.Progress
	if p.Status == Pending {
		p.DelayedUntil = at
	} else {
		p.DueAt = at
	}
	return st.Build(r, p, Effects{})
}

// deferBlocked delays respondents whose channel has no room, so that the next page
// shows others. It does so only if they are at least half of the candidates and
// another channel of the survey has room. The next page follows after
// blockedPause, because hundreds of thousands more may be blocked.
func (st *Stepper) deferBlocked(f *Facts, t *Turn, candidates []Candidate) []Change {
	var out []Change
	free := false
	for _, r := range f.Rooms {
		free = free || r.Contacts > 0
	}
	for _, c := range candidates {
		if f.room(c.channel).Contacts <= 0 {
			// A millisecond apart, so that they are due in the order that they had.
			out = append(out, st.delayUntil(c.respondent, st.Now.Add(blockedDelay+time.Duration(len(out))*time.Millisecond)))
		}
	}
	if 2*len(out) < len(candidates) || !free {
		return nil
	}
	t.wakeAt(st.Now.Add(blockedPause))
	return out
}

// backlog counts the survey's backlog: respondents that it would contact now
// if there were room. These are due retries whose channel works, and starts
// that pacing wants if the first channel of an arm works. A survey whose
// backlog stays above zero while it contacts no respondent is stuck; the metric
// exists to show that.
func (st *Stepper) backlog(f *Facts, retries []Candidate) int {
	n := 0
	for _, c := range retries {
		if f.room(c.channel).Works {
			n++
		}
	}
	for _, arm := range st.Plan.Arms {
		if f.Rooms[arm.Modes[0]].Works {
			return n + max(0, min(f.ToStart, f.Tally.Pending))
		}
	}
	return n
}

// Overdue returns the change that follows from the contact of a respondent that is overdue; one that
// is not among contacts was deleted. again reports that the contact has to be canceled again; ok is
// false if there is nothing to do.
func (st *Stepper) Overdue(r Respondent, contacts map[weir.Ref]weir.Contact) (_ Change, again, ok bool) {
	c, found := contacts[r.Contact]
	switch {
	case !found:
		return st.applyAsEntry(r, OutboxEntry{Kind: ContactEnded, At: st.Now, Outcome: weir.Lost}), false, true
	case c.State == weir.Done:
		return st.applyAsEntry(r, OutboxEntry{Kind: ContactEnded, At: st.Now, Outcome: c.Outcome, Reason: c.Reason, Messages: c.AcceptedMessages()}), false, true
	case c.State.Waiting() && r.Progress.Contact == Canceling:
		again = true
	case !c.SentAt.IsZero() && r.Progress.Contact == Waiting:
		return st.applyAsEntry(r, OutboxEntry{Kind: ContactAccepted, At: c.SentAt, Messages: c.AcceptedMessages()}), false, true
	}
	out, ok := st.Step(r, Certain(func(p Progress) (Progress, Effects) {
		p, e := st.Plan.Timeout(p, st.Now)
		if !p.DueAt.After(st.Now) { // do not check it again at once
			p.DueAt = st.Now.Add(time.Minute)
		}
		return p, e
	}))
	return out, again, ok
}
