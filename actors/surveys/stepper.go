package surveys

import (
	"errors"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/people"
	"weir/surveys"
)

// stepper turns the decisions of the rules about a survey's
// respondents into moves. It does no I/O.
type stepper struct {
	survey *surveys.Survey
	plan   *surveys.Plan
	now    time.Time
	random func() float64
	tokens surveys.Tokens
	// channelFor returns the channel of a mode; ok is false if none accepts contacts.
	channelFor func(surveys.Mode) (_ weir.Channel, ok bool)
	// channelName returns the name of a channel, for the log; empty if it is not
	// known.
	channelName func(weir.ChannelID) string
	// zone returns the time zone of a respondent.
	zone func(*surveys.Respondent) *time.Location
	// buckets counts the respondents that count in each bucket, as far as they matter to conversations.
	buckets []int
	// onPanic is called with panics in the rules.
	onPanic func(panicked any)
}

// change is a move that is to be written to the store.
type change struct {
	move              surveys.Move
	cancel            weir.Ref // the contact to cancel; zero: none
	inFlightToo       bool     // cancel it even if its provider has it
	cancelAfterCommit bool     // cancel it after the commit, not before
	newAttempt        bool     // the move begins a first attempt or a retry
}

// rule is a step of package surveys.
type rule func(surveys.Progress) (surveys.Progress, surveys.Effects, error)

// certain makes a rule of a step that always succeeds.
func certain(step func(surveys.Progress) (surveys.Progress, surveys.Effects)) rule {
	return func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		p, e := step(p)
		return p, e, nil
	}
}

// errStepFailed reports that a step failed for a reason of the respondent's
// own: a rule panicked.
var errStepFailed = errors.New("the step of a respondent failed")

// try takes a step. A panic in a rule fails the step of this respondent only.
func (st *stepper) try(p surveys.Progress, step rule) (_ surveys.Progress, _ surveys.Effects, err error) {
	defer func() {
		if r := recover(); r != nil {
			st.onPanic(r)
			err = fmt.Errorf("%w: %s", errStepFailed, supervise.PanicText(r))
		}
	}()
	return step(p)
}

// buildChange builds the move of a step. If the contact cannot be built, the
// respondent is delayed instead.
func (st *stepper) buildChange(was surveys.Respondent, p surveys.Progress, e surveys.Effects) change {
	return st.buildSpoken(was, p, e, surveys.Spoken{Bucket: was.Bucket})
}

// buildSpoken is buildChange for a step of a conversation of questions.
func (st *stepper) buildSpoken(was surveys.Respondent, p surveys.Progress, e surveys.Effects, spoken surveys.Spoken) change {
	c := change{move: surveys.Move{Was: was}}
	st.record(&c, spoken.Answers, p.Talk)
	if o := e.Enqueue; o != nil {
		ch, ok := st.channelFor(o.Mode)
		if !ok || st.survey.State != surveys.Running {
			p = st.plan.NotEnqueued(p, *o)
		} else if st.plan.Questions != nil {
			if p, e, ok = st.ask(&c, p, e, ch); !ok {
				return st.deferFailed(was)
			}
		} else if spec, err := st.buildContact(&was, p, *o); errors.Is(err, surveys.ErrMissingValue) {
			return st.giveUpUnbuildable(was, err)
		} else if err != nil {
			return st.deferFailed(was)
		} else {
			c.move.Enqueue, c.move.Channel = &spec, ch.ID
			st.log(&c, surveys.LogEntry{Event: logEnqueued, Mode: o.Mode, Channel: ch.Name, Attempt: o.Attempt})
		}
	}
	if e.Cancel != 0 && was.Contact != (weir.Ref{}) {
		c.cancel, c.inFlightToo = was.Contact, e.CancelInFlight
		st.log(&c, surveys.LogEntry{Event: logCanceled, Mode: st.mode(was.Progress), Channel: st.channelName(was.Contact.Channel), Attempt: was.Tries})
	}
	st.setNewState(&c, p, e)
	c.move.Is.Bucket = spoken.Bucket
	st.reply(&c, spoken.Say)
	return c
}

// giveUpUnbuildable ends a respondent who is missing a value used in the text.
func (st *stepper) giveUpUnbuildable(was surveys.Respondent, why error) change {
	p, e := st.plan.GiveUp(was.Progress)
	c := change{move: surveys.Move{Was: was}}
	reason := why.Error()
	if e, ok := errors.AsType[*weir.Error](why); ok {
		reason = e.Message // without its code, for people
	}
	st.log(&c, surveys.LogEntry{Event: logSkipped, Reason: reason})
	if e.Cancel != 0 {
		c.cancel = was.Contact
	}
	st.setNewState(&c, p, e)
	return c
}

// buildContact builds the content of a contact. It may fail or panic on one
// respondent's data, so it runs under try.
func (st *stepper) buildContact(r *surveys.Respondent, p surveys.Progress, o surveys.Outreach) (spec weir.Spec, err error) {
	_, _, err = st.try(p, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		var err error
		spec, err = st.plan.Contact(st.survey.Name, person(r, st.tokens), p, o)
		return p, surveys.Effects{}, err
	})
	spec.Owner = weir.Owner{Group: r.Survey, ID: int64(r.ID), Serial: o.Serial}
	return spec, err
}

// person returns the data of a respondent for templates.
func person(r *surveys.Respondent, tokens surveys.Tokens) surveys.Person {
	return surveys.Person{ID: r.ID.String(), Token: tokens.Of(r.ID), Phone: r.Phone, Attributes: r.Attributes}
}

// setNewState sets the respondent's state after the move.
func (st *stepper) setNewState(c *change, p surveys.Progress, e surveys.Effects) {
	was := &c.move.Was
	p = st.closeTalk(c, p)
	is := *was
	is.Rev++
	is.Answers, is.Unsaid = nil, false
	is.Progress, is.Updated = p, st.now
	if p.Talk.Since != was.Talk.Since { // another question; the store says which contact says it
		is.Said = weir.Ref{}
	}
	if was.Status == surveys.Pending && p.Status == surveys.Active {
		is.Started = st.now
	}
	if was.Disposition != p.Disposition && p.Disposition != surveys.Queued {
		st.log(c, surveys.LogEntry{Event: logDisposition, From: was.Disposition, To: p.Disposition})
	}
	if e.Finished && !was.Status.Final() {
		is.Finished = st.now
		finished := surveys.LogEntry{Event: logFinished, From: was.Disposition, To: p.Disposition}
		if p.OptedOut {
			finished.Reason = reasonOptedOut
		}
		st.log(c, finished)
		c.move.Events = append(c.move.Events, newEvent(RespondentEvent, sourceSurveys, respondentSubject(st.survey.Name, was.ID), st.now,
			respondentData{st.survey.Name, was.ID.String(), p.Status, p.Disposition, st.plan.AttemptsMade(p)}))
	}
	c.move.Is, c.move.Mode = is, st.mode(p)
}

// deferFailed delays a respondent.
func (st *stepper) deferFailed(was surveys.Respondent) change {
	c := change{move: surveys.Move{Was: was}}
	p, e, err := st.try(was.Progress, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) {
		return st.plan.DeferFailed(p, st.now, st.random())
	}))
	if err != nil { // the rules fail even at this
		p, e = was.Progress, surveys.Effects{}
		if p.DueAt = st.now.Add(time.Hour); p.Status == surveys.Pending {
			p.DueAt, p.DelayedUntil = time.Time{}, st.now.Add(time.Hour)
		}
	}
	if e.Cancel != 0 {
		c.cancel = was.Contact
	}
	st.log(&c, surveys.LogEntry{Event: logDeferred})
	st.setNewState(&c, p, e)
	return c
}

// mode returns the mode of a progress, or "" if the progress belongs to another
// plan.
func (st *stepper) mode(p surveys.Progress) surveys.Mode {
	if st.plan.Covers(p) {
		return st.plan.Mode(p)
	}
	return ""
}

func (st *stepper) log(c *change, e surveys.LogEntry) {
	e.At, e.Respondent = st.now, c.move.Was.ID
	c.move.Log = append(c.move.Log, e)
}

// step takes one step of a respondent. ok is false if there is nothing to do.
func (st *stepper) step(was surveys.Respondent, step rule) (_ change, ok bool) {
	p, e, err := st.try(was.Progress, step)
	switch {
	case errors.Is(err, errStepFailed):
		return st.deferFailed(was), true
	case err != nil || p == was.Progress && e == (surveys.Effects{}):
		return change{}, false
	}
	return st.buildChange(was, p, e), true
}

// applyEntries applies the outbox entries of one respondent, in order. It stops after
// an entry whose effects must be executed before the next one; left are the
// remaining entries.
func (st *stepper) applyEntries(was surveys.Respondent, entries []surveys.OutboxEntry) (_ change, left []surveys.OutboxEntry) {
	p, e := was.Progress, surveys.Effects{}
	var c change
	c.move.Was = was
	spoken := surveys.Spoken{Bucket: was.Bucket}
	for len(entries) > 0 && e.Enqueue == nil && e.Cancel == 0 && len(spoken.Say) == 0 {
		n := entries[0]
		who := was
		who.Bucket, who.Answers = spoken.Bucket, surveys.Merged(was.Answers, spoken.Answers)
		var more surveys.Spoken
		q, f, err := st.try(p, st.ruleFor(&n, &who, &more))
		if errors.Is(err, errStepFailed) {
			if len(c.move.Taken) > 0 {
				break // the respondent is delayed when this entry is processed next
			}
			c = st.deferFailed(was)
			c.move.Taken = append(c.move.Taken, n.ID)
			return c, entries[1:]
		}
		totals := st.plan.AddTotals(p, &n)
		st.recordEntry(&c, p, &n)
		c.move.Taken = append(c.move.Taken, n.ID)
		entries = entries[1:]
		if err == nil {
			f.Finished = f.Finished || e.Finished
			p, e = q, f
			if st.conversed(&n) {
				spoken = surveys.Spoken{Answers: append(spoken.Answers, more.Answers...), Say: more.Say, Bucket: more.Bucket}
			}
		}
		p.Totals = totals
	}
	out := st.buildSpoken(was, p, e, spoken)
	st.countBucket(&out.move)
	out.move.Log = append(c.move.Log, out.move.Log...)
	out.move.Events = append(c.move.Events, out.move.Events...)
	out.move.Taken, out.move.Attempt = c.move.Taken, c.move.Attempt
	if out.move.Is.Reached = was.Reached; !c.move.Is.Reached.IsZero() {
		out.move.Is.Reached = c.move.Is.Reached
	}
	return out, entries
}

// applyAsEntry applies an event of the respondent's latest contact as if an outbox
// entry had reported it.
func (st *stepper) applyAsEntry(who surveys.Respondent, n surveys.OutboxEntry) change {
	n.Channel, n.Contact = who.Contact.Channel, who.Contact
	n.Owner = weir.Owner{Group: who.Survey, ID: int64(who.ID), Serial: who.Serial}
	out, _ := st.applyEntries(who, []surveys.OutboxEntry{n})
	out.move.Taken = nil
	return out
}

// ruleFor returns the rule that applies an outbox entry. In a conversation of questions it says in
// spoken what else follows.
func (st *stepper) ruleFor(n *surveys.OutboxEntry, who *surveys.Respondent, spoken *surveys.Spoken) rule {
	return func(p surveys.Progress) (q surveys.Progress, e surveys.Effects, err error) {
		if n.Turn > 0 && !n.Claimed.IsZero() {
			p = st.plan.Claimed(p, n.Turn, n.Claimed)
		}
		switch q = p; {
		case n.Kind == surveys.ContactAccepted:
			q, e = st.plan.ContactAccepted(p, n.At, n.Owner.Serial)
		case n.Kind == surveys.CallAnswered:
			q, e = st.plan.CallAnswered(p, n.At, n.Owner.Serial)
		case n.Kind == surveys.ContactEnded:
			q, e = st.plan.ContactEnded(p, st.now, surveys.Ending{At: n.At, Serial: n.Owner.Serial, Outcome: n.Outcome, Rule: n.Rule, Result: n.Result})
		case st.conversed(n):
			who.Progress = p
			q, e, *spoken, err = st.plan.Converse(who, st.talker(who), &n.Message, st.now, func(bucket int) bool {
				return st.plan.Quotas.Full(st.buckets, bucket)
			})
		case n.Kind == surveys.MessageReceived && st.plan.IsOptOut(n.Message.Body):
			q, e = st.plan.OptOut(p)
		case n.Kind == surveys.MessageReceived && !people.IsReaction(n.Message.Body):
			q, e, err = st.plan.Replied(p, st.now, 0, "")
		}
		return q, e, err
	}
}

// recordEntry adds to c what an outbox entry reports in addition to its step: log,
// events, attempt and the instant of acceptance.
func (st *stepper) recordEntry(c *change, p surveys.Progress, n *surveys.OutboxEntry) {
	if n.Kind != surveys.MessageReceived && n.Owner.Serial == 0 {
		return // the log has a reply once, when it is queued
	}
	entry := surveys.LogEntry{At: n.At, Respondent: c.move.Was.ID, Event: string(n.Kind), Channel: st.channelName(n.Channel), Outcome: n.Outcome, Reason: n.Reason}
	if n.Kind == surveys.MessageReceived {
		entry.Event = logMessage
		c.move.Events = append(c.move.Events, st.messageEvent(&c.move.Was, p, n)...)
	} else if n.Owner.Serial == p.Serial {
		entry.Mode, entry.Attempt = st.mode(p), max(p.Tries, 1)
		if n.Kind == surveys.ContactEnded && p.Contact != surveys.Idle && n.Outcome != weir.Suppressed {
			c.move.Attempt = &surveys.Made{Mode: st.mode(p), Outcome: n.Outcome}
		}
		if n.Kind == surveys.ContactAccepted && p.Contact != surveys.Idle {
			c.move.Is.Reached = n.At
		}
	}
	if c.move.Was.Reached.IsZero() && c.move.Is.Reached.IsZero() && n.Accepted() { // late, or its end is the first report
		c.move.Is.Reached = n.At
	}
	c.move.Log = append(c.move.Log, entry)
}

// messageEvent returns the event that passes a message to what evaluates it: the application
// that holds the conversation, or [reports.ApplyMessage].
func (st *stepper) messageEvent(r *surveys.Respondent, p surveys.Progress, n *surveys.OutboxEntry) []events.Event {
	if st.survey.Application.URL == "" && st.survey.Definition.Answer == nil || st.survey.State == surveys.Done {
		return nil
	}
	return []events.Event{newEvent(MessageEvent, sourceSurveys, respondentSubject(st.survey.Name, r.ID), st.now, MessageData{
		Survey: st.survey.Name, Respondent: r.ID.String(), Channel: st.channelName(n.Channel), Text: n.Message.Body,
		ReceivedAt: n.Message.ReceivedAt.UTC(), Serial: p.Serial,
	})}
}
