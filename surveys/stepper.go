package surveys

import (
	"errors"
	"time"

	"weir"
	"weir/events"
	"weir/people"
)

// Stepper turns the decisions of the rules about a survey's
// respondents into moves. It does no I/O.
type Stepper struct {
	Survey *Survey
	Plan   *Plan
	Now    time.Time
	Random func() float64
	Tokens Tokens
	// ChannelFor returns the channel of a mode; ok is false if none accepts contacts.
	ChannelFor func(Mode) (_ weir.Channel, ok bool)
	// ChannelName returns the name of a channel, for the log; empty if it is not
	// known.
	ChannelName func(weir.ChannelID) string
	// Zone returns the time zone of a respondent.
	Zone func(*Respondent) *time.Location
	// Buckets counts the respondents that count in each bucket, as far as they matter to conversations.
	Buckets []int
	// OnPanic is called with panics in the rules.
	OnPanic func(panicked any)
}

// Change is a move that is to be written to the store.
type Change struct {
	Move        Move
	Cancel      weir.Ref // the contact to cancel; zero: none
	InFlightToo bool     // cancel it even if its provider has it
	AfterCommit bool     // cancel it after the commit, not before
	NewAttempt  bool     // the move begins a first attempt or a retry
}

// Rule is a step of a [Plan].
type Rule func(Progress) (Progress, Effects, error)

// Certain makes a rule of a step that always succeeds.
func Certain(step func(Progress) (Progress, Effects)) Rule {
	return func(p Progress) (Progress, Effects, error) {
		p, e := step(p)
		return p, e, nil
	}
}

// errStepFailed reports that a step failed for a reason of the respondent's
// own: a rule panicked.
var errStepFailed = errors.New("the step of a respondent failed")

// Try takes a step. A panic in a rule fails the step of this respondent only.
func (st *Stepper) Try(p Progress, step Rule) (_ Progress, _ Effects, err error) {
	defer func() {
		if r := recover(); r != nil {
			st.OnPanic(r)
			err = errStepFailed
		}
	}()
	return step(p)
}

// Build builds the move of a step. If the contact cannot be built, the
// respondent is delayed instead.
func (st *Stepper) Build(was Respondent, p Progress, e Effects) Change {
	return st.buildSpoken(was, p, e, Spoken{Bucket: was.Bucket})
}

// buildSpoken is Build for a step of a conversation of questions.
func (st *Stepper) buildSpoken(was Respondent, p Progress, e Effects, spoken Spoken) Change {
	c := Change{Move: Move{Was: was}}
	st.record(&c, spoken.Answers, p.Talk)
	if o := e.Enqueue; o != nil {
		ch, ok := st.ChannelFor(o.Mode)
		if !ok || st.Survey.State != Running {
			p = st.Plan.NotEnqueued(p, *o)
		} else if st.Plan.Questions != nil {
			if p, e, ok = st.ask(&c, p, e, ch); !ok {
				return st.DeferFailed(was)
			}
		} else if spec, err := st.buildContact(&was, p, *o); errors.Is(err, ErrMissingValue) {
			return st.giveUpUnbuildable(was, err)
		} else if err != nil {
			return st.DeferFailed(was)
		} else {
			c.Move.Enqueue, c.Move.Channel = &spec, ch.ID
			st.Log(&c, LogEntry{Event: LogEnqueued, Mode: o.Mode, Channel: ch.Name, Attempt: o.Attempt})
		}
	}
	if e.Cancel != 0 && was.Contact != (weir.Ref{}) {
		c.Cancel, c.InFlightToo = was.Contact, e.CancelInFlight
		st.Log(&c, LogEntry{Event: logCanceled, Mode: st.mode(was.Progress), Channel: st.ChannelName(was.Contact.Channel), Attempt: was.Tries})
	}
	st.setNewState(&c, p, e)
	c.Move.Is.Bucket = spoken.Bucket
	st.reply(&c, spoken.Say)
	return c
}

// giveUpUnbuildable ends a respondent who is missing a value used in the text.
func (st *Stepper) giveUpUnbuildable(was Respondent, why error) Change {
	p, e := st.Plan.GiveUp(was.Progress)
	c := Change{Move: Move{Was: was}}
	reason := why.Error()
	if e, ok := errors.AsType[*weir.Error](why); ok {
		reason = e.Message // without its code, for people
	}
	st.Log(&c, LogEntry{Event: logSkipped, Reason: reason})
	if e.Cancel != 0 {
		c.Cancel = was.Contact
	}
	st.setNewState(&c, p, e)
	return c
}

// buildContact builds the content of a contact. It may fail or panic on one
// respondent's data, so it runs under try.
func (st *Stepper) buildContact(r *Respondent, p Progress, o Outreach) (spec weir.Spec, err error) {
	_, _, err = st.Try(p, func(p Progress) (Progress, Effects, error) {
		var err error
		spec, err = st.Plan.Contact(st.Survey.Name, st.Tokens.Person(r), p, o)
		return p, Effects{}, err
	})
	spec.Owner = weir.Owner{Group: r.Survey, ID: int64(r.ID), Serial: o.Serial}
	return spec, err
}

// setNewState sets the respondent's state after the move.
func (st *Stepper) setNewState(c *Change, p Progress, e Effects) {
	was := &c.Move.Was
	p = st.closeTalk(c, p)
	is := *was
	is.Rev++
	is.Answers, is.Unsaid = nil, false
	is.Progress, is.Updated = p, st.Now
	if p.Talk.Since != was.Talk.Since { // another question; the store says which contact says it
		is.Said = weir.Ref{}
	}
	if was.Status == Pending && p.Status == Active {
		is.Started = st.Now
	}
	if was.Disposition != p.Disposition && p.Disposition != Queued {
		st.Log(c, LogEntry{Event: LogDisposition, From: was.Disposition, To: p.Disposition})
	}
	if e.Finished && !was.Status.Final() {
		is.Finished = st.Now
		finished := LogEntry{Event: logFinished, From: was.Disposition, To: p.Disposition}
		if p.OptedOut {
			finished.Reason = reasonOptedOut
		}
		st.Log(c, finished)
		c.Move.Events = append(c.Move.Events, newEvent(RespondentEvent, sourceSurveys, respondentSubject(st.Survey.Name, was.ID), st.Now,
			respondentData{st.Survey.Name, was.ID.String(), p.Status, p.Disposition, st.Plan.AttemptsMade(p)}))
	}
	c.Move.Is, c.Move.Mode = is, st.mode(p)
}

// DeferFailed delays a respondent.
func (st *Stepper) DeferFailed(was Respondent) Change {
	c := Change{Move: Move{Was: was}}
	p, e, err := st.Try(was.Progress, Certain(func(p Progress) (Progress, Effects) {
		return st.Plan.DeferFailed(p, st.Now, st.Random())
	}))
	if err != nil { // the rules fail even at this
		p, e = was.Progress, Effects{}
		if p.DueAt = st.Now.Add(time.Hour); p.Status == Pending {
			p.DueAt, p.DelayedUntil = time.Time{}, st.Now.Add(time.Hour)
		}
	}
	if e.Cancel != 0 {
		c.Cancel = was.Contact
	}
	st.Log(&c, LogEntry{Event: logDeferred})
	st.setNewState(&c, p, e)
	return c
}

// mode returns the mode of a progress, or "" if the progress belongs to another
// plan.
func (st *Stepper) mode(p Progress) Mode {
	if st.Plan.Covers(p) {
		return st.Plan.Mode(p)
	}
	return ""
}

func (st *Stepper) Log(c *Change, e LogEntry) {
	e.At, e.Respondent = st.Now, c.Move.Was.ID
	c.Move.Log = append(c.Move.Log, e)
}

// Step takes one step of a respondent. ok is false if there is nothing to do.
func (st *Stepper) Step(was Respondent, step Rule) (_ Change, ok bool) {
	p, e, err := st.Try(was.Progress, step)
	switch {
	case errors.Is(err, errStepFailed):
		return st.DeferFailed(was), true
	case err != nil || p == was.Progress && e == (Effects{}):
		return Change{}, false
	}
	return st.Build(was, p, e), true
}

// Start takes the first step of a respondent.
func (st *Stepper) Start(r *Respondent) (Progress, Effects, error) {
	return st.Try(r.Progress, func(p Progress) (Progress, Effects, error) { return st.Plan.Start(p, st.Now, st.arm(r)) })
}

// Cancel ends a respondent because its survey ends.
func (st *Stepper) Cancel(p Respondent) (Change, bool) { return st.Step(p, Certain(st.Plan.Cancel)) }

// CancelWaiting cancels the contact of a respondent if it waits in its channel. again reports that its
// cancellation has to be repeated: a crash may have happened between commit and cancel.
func (st *Stepper) CancelWaiting(p Respondent) (_ Change, again, ok bool) {
	if p.Progress.Contact != Waiting {
		return Change{}, p.Progress.Contact == Canceling, false
	}
	c, ok := st.Step(p, Certain(func(p Progress) (Progress, Effects) { return st.Plan.CancelWaiting(p, st.Now) }))
	c.AfterCommit = true
	return c, false, ok
}

// ApplyEntries applies the outbox entries of one respondent, in order. It stops after
// an entry whose effects must be executed before the next one; left are the
// remaining entries.
func (st *Stepper) ApplyEntries(was Respondent, entries []OutboxEntry) (_ Change, left []OutboxEntry) {
	p, e := was.Progress, Effects{}
	var c Change
	c.Move.Was = was
	spoken := Spoken{Bucket: was.Bucket}
	for len(entries) > 0 && e.Enqueue == nil && e.Cancel == 0 && len(spoken.Say) == 0 {
		n := entries[0]
		who := was
		who.Bucket, who.Answers = spoken.Bucket, Merged(was.Answers, spoken.Answers)
		var more Spoken
		q, f, err := st.Try(p, st.ruleFor(&n, &who, &more))
		if errors.Is(err, errStepFailed) {
			if len(c.Move.Taken) > 0 {
				break // the respondent is delayed when this entry is processed next
			}
			c = st.DeferFailed(was)
			c.Move.Taken = append(c.Move.Taken, n.ID)
			return c, entries[1:]
		}
		totals := st.Plan.AddTotals(p, &n)
		st.recordEntry(&c, p, &n)
		c.Move.Taken = append(c.Move.Taken, n.ID)
		entries = entries[1:]
		if err == nil {
			f.Finished = f.Finished || e.Finished
			p, e = q, f
			if st.conversed(&n) {
				spoken = Spoken{Answers: append(spoken.Answers, more.Answers...), Say: more.Say, Bucket: more.Bucket}
			}
		}
		p.Totals = totals
	}
	out := st.buildSpoken(was, p, e, spoken)
	st.countBucket(&out.Move)
	out.Move.Log = append(c.Move.Log, out.Move.Log...)
	out.Move.Events = append(c.Move.Events, out.Move.Events...)
	out.Move.Taken, out.Move.Attempt = c.Move.Taken, c.Move.Attempt
	if out.Move.Is.Reached = was.Reached; !c.Move.Is.Reached.IsZero() {
		out.Move.Is.Reached = c.Move.Is.Reached
	}
	return out, entries
}

// applyAsEntry applies an event of the respondent's latest contact as if an outbox
// entry had reported it.
func (st *Stepper) applyAsEntry(who Respondent, n OutboxEntry) Change {
	n.Channel, n.Contact = who.Contact.Channel, who.Contact
	n.Owner = weir.Owner{Group: who.Survey, ID: int64(who.ID), Serial: who.Serial}
	out, _ := st.ApplyEntries(who, []OutboxEntry{n})
	out.Move.Taken = nil
	return out
}

// ruleFor returns the rule that applies an outbox entry. In a conversation of questions it says in
// spoken what else follows.
func (st *Stepper) ruleFor(n *OutboxEntry, who *Respondent, spoken *Spoken) Rule {
	return func(p Progress) (q Progress, e Effects, err error) {
		if n.Turn > 0 && !n.Claimed.IsZero() {
			p = st.Plan.Claimed(p, n.Turn, n.Claimed)
		}
		switch q = p; {
		case n.Kind == ContactAccepted:
			q, e = st.Plan.ContactAccepted(p, n.At, n.Owner.Serial)
		case n.Kind == CallAnswered:
			q, e = st.Plan.CallAnswered(p, n.At, n.Owner.Serial)
		case n.Kind == ContactEnded:
			q, e = st.Plan.ContactEnded(p, st.Now, Ending{At: n.At, Serial: n.Owner.Serial, Outcome: n.Outcome, Rule: n.Rule, Result: n.Result})
		case st.conversed(n):
			who.Progress = p
			q, e, *spoken, err = st.Plan.Converse(who, st.talker(who), &n.Message, st.Now, func(bucket int) bool {
				return st.Plan.Quotas.Full(st.Buckets, bucket)
			})
		case n.Kind == MessageReceived && st.Plan.IsOptOut(n.Message.Body):
			q, e = st.Plan.OptOut(p)
		case n.Kind == MessageReceived && !people.IsReaction(n.Message.Body):
			q, e, err = st.Plan.Replied(p, st.Now, 0, "")
		}
		return q, e, err
	}
}

// recordEntry adds to c what an outbox entry reports in addition to its step: log,
// events, attempt and the instant of acceptance.
func (st *Stepper) recordEntry(c *Change, p Progress, n *OutboxEntry) {
	if n.Kind != MessageReceived && n.Owner.Serial == 0 {
		return // the log has a reply once, when it is queued
	}
	entry := LogEntry{At: n.At, Respondent: c.Move.Was.ID, Event: string(n.Kind), Channel: st.ChannelName(n.Channel), Outcome: n.Outcome, Reason: n.Reason}
	if n.Kind == MessageReceived {
		entry.Event = LogMessage
		c.Move.Events = append(c.Move.Events, st.messageEvent(&c.Move.Was, p, n)...)
	} else if n.Owner.Serial == p.Serial {
		entry.Mode, entry.Attempt = st.mode(p), max(p.Tries, 1)
		if n.Kind == ContactEnded && p.Contact != Idle && n.Outcome != weir.Suppressed {
			c.Move.Attempt = &Made{Mode: st.mode(p), Outcome: n.Outcome}
		}
		if n.Kind == ContactAccepted && p.Contact != Idle {
			c.Move.Is.Reached = n.At
		}
	}
	if c.Move.Was.Reached.IsZero() && c.Move.Is.Reached.IsZero() && n.Accepted() { // late, or its end is the first report
		c.Move.Is.Reached = n.At
	}
	c.Move.Log = append(c.Move.Log, entry)
}

// messageEvent returns the event that passes a message to what evaluates it: the application
// that holds the conversation, or the answers that the survey evaluates.
func (st *Stepper) messageEvent(r *Respondent, p Progress, n *OutboxEntry) []events.Event {
	if st.Survey.Application.URL == "" && st.Survey.Definition.Answer == nil || st.Survey.State == Done {
		return nil
	}
	return []events.Event{newEvent(MessageEvent, sourceSurveys, respondentSubject(st.Survey.Name, r.ID), st.Now, MessageData{
		Survey: st.Survey.Name, Respondent: r.ID.String(), Channel: st.ChannelName(n.Channel), Text: n.Message.Body,
		ReceivedAt: n.Message.ReceivedAt.UTC(), Serial: p.Serial,
	})}
}
