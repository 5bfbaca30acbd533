package surveybroker

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/surveys"
)

// desk is the stepper: it turns the decisions of the rules about a survey's
// respondents into moves. It does no I/O.
type desk struct {
	survey *surveys.Survey
	plan   *surveys.Plan
	now    time.Time
	chance func() float64
	tokens surveys.Tokens
	// over returns the channel of a mode; ok is false if none accepts contacts.
	over func(surveys.Mode) (_ weir.Channel, ok bool)
	// name returns the name of a channel, for the log; empty if it is not
	// known.
	name func(weir.ChannelID) string
	// crashed is called with panics in the rules.
	crashed func(panicked any, stack []byte)
}

// change is a move that is to be written to the store.
type change struct {
	move   surveys.Move
	cancel weir.Ref // the contact to cancel; zero: none
	recall bool     // cancel it even if its provider has it
	late   bool     // cancel it after the commit, not before
	begun  bool     // the move begins a first attempt or a retry
}

// rule is a step of package surveys.
type rule func(surveys.Progress) (surveys.Progress, surveys.Effects, error)

// errUnmakeable reports that a step failed for a reason of the respondent's
// own: a rule panicked.
var errUnmakeable = errors.New("the step of a respondent failed")

// try takes a step. A panic in a rule fails the step of this respondent only.
func (d *desk) try(p surveys.Progress, step rule) (_ surveys.Progress, _ surveys.Effects, err error) {
	defer func() {
		if r := recover(); r != nil {
			d.crashed(r, debug.Stack())
			err = fmt.Errorf("%w: %s", errUnmakeable, supervise.PanicText(r))
		}
	}()
	return step(p)
}

// change builds the move of a step. If the contact cannot be built, the
// respondent is delayed instead.
func (d *desk) change(was surveys.Respondent, p surveys.Progress, e surveys.Effects) change {
	c := change{move: surveys.Move{Was: was}}
	if o := e.Enqueue; o != nil {
		ch, ok := d.over(o.Mode)
		if !ok || d.survey.State != surveys.Running {
			p = d.plan.Unsent(p, *o)
		} else if spec, err := d.contact(&was, p, *o); err != nil {
			return d.stumble(was)
		} else {
			c.move.Enqueue, c.move.Channel = &spec, ch.ID
			d.note(&c, surveys.Entry{Event: logEnqueued, Mode: o.Mode, Channel: ch.Name, Attempt: o.Attempt})
		}
	}
	if e.Withdraw != 0 && was.Contact != (weir.Ref{}) {
		c.cancel, c.recall = was.Contact, e.Recall
		d.note(&c, surveys.Entry{Event: logWithdrawn, Mode: d.mode(was.Progress), Channel: d.name(was.Contact.Channel), Attempt: was.Tries})
	}
	d.become(&c, p, e)
	return c
}

// contact builds the content of a contact. It may fail or panic on one
// respondent's data, so it runs under try.
func (d *desk) contact(r *surveys.Respondent, p surveys.Progress, o surveys.Outreach) (spec weir.Spec, err error) {
	_, _, err = d.try(p, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		var err error
		spec, err = d.plan.Contact(d.survey.Name, person(r, d.tokens), p, o)
		return p, surveys.Effects{}, err
	})
	spec.For = weir.Respondent{Survey: r.Survey, ID: int64(r.ID), Serial: o.Serial}
	return spec, err
}

// person returns the data of a respondent for templates.
func person(r *surveys.Respondent, tokens surveys.Tokens) surveys.Person {
	return surveys.Person{ID: r.ID.String(), Token: tokens.Of(r.ID), Phone: r.Phone, Attributes: r.Attributes}
}

// become sets the respondent's state after the move.
func (d *desk) become(c *change, p surveys.Progress, e surveys.Effects) {
	was := &c.move.Was
	is := *was
	is.Rev++
	is.Progress = p
	if was.Status == surveys.Pending && p.Status == surveys.Active {
		is.Started = d.now
	}
	if was.Disposition != p.Disposition && p.Disposition != surveys.Queued {
		d.note(c, surveys.Entry{Event: logDisposition, From: was.Disposition, To: p.Disposition})
	}
	if e.Finished && !was.Status.Final() {
		is.Finished = d.now
		d.note(c, surveys.Entry{Event: logFinished, From: was.Disposition, To: p.Disposition})
		c.move.Events = append(c.move.Events, event(RespondentEvent, fromSurveys, respondentSubject(d.survey.Name, was.ID), d.now,
			respondentData{d.survey.Name, was.ID.String(), p.Status, p.Disposition, d.made(p)}))
	}
	c.move.Is = is
}

// made counts the attempts of a respondent. The progress may belong to another
// plan.
func (d *desk) made(p surveys.Progress) (n surveys.Counts) {
	_, _, _ = d.try(p, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		n = d.plan.Made(p)
		return p, surveys.Effects{}, nil
	})
	return n
}

// stumble delays a respondent.
func (d *desk) stumble(was surveys.Respondent) change {
	c := change{move: surveys.Move{Was: was}}
	p, e, err := d.try(was.Progress, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		p, e := d.plan.Stumble(p, d.now, d.chance())
		return p, e, nil
	})
	if err != nil { // the rules fail even at this
		p, e = was.Progress, surveys.Effects{}
		if p.DueAt = d.now.Add(time.Hour); p.Status == surveys.Pending {
			p.DueAt, p.AsideTill = time.Time{}, d.now.Add(time.Hour)
		}
	}
	if e.Withdraw != 0 {
		c.cancel = was.Contact
	}
	d.note(&c, surveys.Entry{Event: logStumbled})
	d.become(&c, p, e)
	return c
}

// mode returns the mode of a progress, or "" if the progress belongs to another
// plan.
func (d *desk) mode(p surveys.Progress) surveys.Mode {
	if p.Arm < len(d.plan.Arms) && p.Step < len(d.plan.Arms[p.Arm].Modes) {
		return d.plan.Mode(p)
	}
	return ""
}

func (d *desk) note(c *change, e surveys.Entry) {
	e.At, e.Respondent = d.now, c.move.Was.ID
	c.move.Log = append(c.move.Log, e)
}

// step takes one step of a respondent. ok is false if there is nothing to do.
func (d *desk) step(was surveys.Respondent, step rule) (_ change, ok bool) {
	p, e, err := d.try(was.Progress, step)
	switch {
	case errors.Is(err, errUnmakeable):
		return d.stumble(was), true
	case err != nil || p == was.Progress && e == (surveys.Effects{}):
		return change{}, false
	}
	return d.change(was, p, e), true
}

// noted applies the outbox entries of one respondent, in order. It stops after
// an entry whose effects must be executed before the next one; left are the
// remaining entries.
func (d *desk) noted(was surveys.Respondent, notices []surveys.Notice) (_ change, left []surveys.Notice) {
	p, e := was.Progress, surveys.Effects{}
	var c change
	c.move.Was = was
	for len(notices) > 0 && e.Enqueue == nil && e.Withdraw == 0 {
		n := notices[0]
		q, f, err := d.try(p, d.ruleOf(&n))
		if errors.Is(err, errUnmakeable) {
			if len(c.move.Taken) > 0 {
				break // the respondent is delayed when this entry is processed next
			}
			c = d.stumble(was)
			c.move.Taken = append(c.move.Taken, n.ID)
			return c, notices[1:]
		}
		d.record(&c, p, &n)
		c.move.Taken = append(c.move.Taken, n.ID)
		notices = notices[1:]
		if err == nil {
			f.Finished, f.Count = f.Finished || e.Finished, f.Count || e.Count
			p, e = q, f
		}
	}
	out := d.change(was, p, e)
	out.move.Log = append(c.move.Log, out.move.Log...)
	out.move.Events = append(c.move.Events, out.move.Events...)
	out.move.Taken, out.move.Attempt = c.move.Taken, c.move.Attempt
	if out.move.Is.Reached = was.Reached; !c.move.Is.Reached.IsZero() {
		out.move.Is.Reached = c.move.Is.Reached
	}
	return out, notices
}

// ruleOf returns the rule that applies an outbox entry.
func (d *desk) ruleOf(n *surveys.Notice) rule {
	return func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		switch n.Kind {
		case surveys.HandedOver:
			q, e := d.plan.HandedOver(p, n.At, n.Respondent.Serial)
			return q, e, nil
		case surveys.Answered:
			q, e := d.plan.Answered(p, n.Respondent.Serial)
			return q, e, nil
		case surveys.Ended:
			q, e := d.plan.Concluded(p, d.now, surveys.Ending{At: n.At, Serial: n.Respondent.Serial, Outcome: n.Outcome, Result: n.Result})
			return q, e, nil
		case surveys.Incoming:
			if d.plan.IsStop(n.Message.Body) {
				q, e := d.plan.Stop(p)
				return q, e, nil
			}
			return d.plan.Heard(p, d.now, 0, "")
		default:
			return p, surveys.Effects{}, nil
		}
	}
}

// record adds to c what an outbox entry reports in addition to its step: log,
// events, attempt and the instant of acceptance.
func (d *desk) record(c *change, p surveys.Progress, n *surveys.Notice) {
	entry := surveys.Entry{At: n.At, Respondent: c.move.Was.ID, Event: string(n.Kind), Channel: d.name(n.Channel), Outcome: n.Outcome, Reason: n.Reason}
	if n.Kind == surveys.Incoming {
		entry.Event = logMessage
		c.move.Events = append(c.move.Events, d.offered(&c.move.Was, p, n)...)
	} else if n.Respondent.Serial == p.Serial {
		entry.Mode, entry.Attempt = d.mode(p), max(p.Tries, 1)
		if n.Kind == surveys.Ended && p.Contact != surveys.Idle {
			c.move.Attempt = &surveys.Made{Mode: d.mode(p), Outcome: n.Outcome}
		}
		if n.Kind == surveys.HandedOver && p.Contact != surveys.Idle {
			c.move.Is.Reached = n.At
		}
	}
	c.move.Log = append(c.move.Log, entry)
}

// offered returns the event that passes a message to the application that holds
// the conversation.
func (d *desk) offered(r *surveys.Respondent, p surveys.Progress, n *surveys.Notice) []events.Event {
	if d.survey.Application.URL == "" || d.survey.State == surveys.Done {
		return nil
	}
	return []events.Event{event(MessageEvent, fromSurveys, respondentSubject(d.survey.Name, r.ID), d.now, MessageData{
		Survey: d.survey.Name, Respondent: r.ID.String(), Channel: d.name(n.Channel), Text: n.Message.Body,
		ReceivedAt: n.Message.ReceivedAt.UTC(), Serial: p.Serial,
	})}
}
