package surveys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/people"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/surveys/respondents"
)

// converses reports whether messages of the respondents of a survey are read as answers to questions. A
// survey that ends asks nothing any more.
func converses(survey *surveys.Survey, plan *surveys.Plan) bool {
	return plan.Questions != nil && (survey.State == surveys.Running || survey.State == surveys.Paused)
}

func (sv *surveyState) converses() bool { return converses(&sv.survey, sv.plan) }

// conversed reports whether an entry is a message in a conversation of questions.
func (st *stepper) conversed(n *surveys.OutboxEntry) bool {
	return n.Kind == surveys.MessageReceived && converses(st.survey, st.plan)
}

// talker returns a respondent as its conversation needs it.
func (st *stepper) talker(r *surveys.Respondent) questions.Person {
	return st.plan.Talker(st.survey.Name, r, person(r, st.tokens), st.now.In(st.zone(r)))
}

// talkerOf returns the respondent of a change, with the answers that the change records.
func (st *stepper) talkerOf(c *change) questions.Person {
	who := c.move.Was
	var answers []questions.Answer
	for i := range c.move.Answers {
		answers = append(answers, c.move.Answers[i].Answer)
	}
	who.Answers = surveys.Merged(who.Answers, answers)
	return st.talker(&who)
}

// ask builds the contact of a step that says how the conversation goes on. ok is false if the rules
// panicked.
func (st *stepper) ask(c *change, p surveys.Progress, e surveys.Effects, ch weir.Channel) (_ surveys.Progress, _ surveys.Effects, ok bool) {
	was, o := &c.move.Was, *e.Enqueue
	var spoken surveys.Spoken
	p, e, err := st.try(p, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) {
		p, e, spoken = st.plan.Ask(was, p, e, st.talkerOf(c))
		return p, e
	}))
	if err != nil {
		return p, e, false
	}
	st.record(c, spoken.Answers, p.Talk)
	if e.Enqueue != nil {
		spec := st.plan.Asking(st.survey.Name, person(was, st.tokens), p, o, spoken.Say)
		spec.Owner = weir.Owner{Group: was.Survey, ID: int64(was.ID), Serial: o.Serial}
		c.move.Enqueue, c.move.Channel = &spec, ch.ID
		st.log(c, surveys.LogEntry{Event: logEnqueued, Mode: o.Mode, Channel: ch.Name, Attempt: o.Attempt})
	}
	return p, e, true
}

// reply adds the contact that answers a message to a change. If no channel accepts it now, the next step
// of the respondent says it.
func (st *stepper) reply(c *change, say []string) {
	if len(say) == 0 || c.move.Enqueue != nil {
		return
	}
	ch, ok := st.channelFor(surveys.SMS)
	if !ok {
		return
	}
	was := &c.move.Was
	spec := st.plan.Reply(st.survey.Name, person(was, st.tokens), c.move.Is.Progress, say)
	spec.Owner = weir.Owner{Group: was.Survey, ID: int64(was.ID)}
	c.move.Reply, c.move.Channel = &spec, ch.ID
	st.log(c, surveys.LogEntry{Event: logReply, Mode: surveys.SMS, Channel: ch.Name})
}

// record adds answers to a change, which a turn of the conversation came to.
func (st *stepper) record(c *change, answers []questions.Answer, talk questions.State) {
	for _, a := range answers {
		c.move.Answers = slices.DeleteFunc(c.move.Answers, func(r surveys.Recorded) bool { return r.Question == a.Question })
		c.move.Answers = append(c.move.Answers, surveys.Recorded{
			Answer: st.plan.Dated(a, talk, st.now), Kind: st.survey.Definition.Questions.KindOf(a.Question), Was: c.move.Was.Answers[a.Question], Turn: talk.Turn, At: st.now,
		})
	}
}

// closeTalk ends the conversation of a respondent who becomes final.
func (st *stepper) closeTalk(c *change, p surveys.Progress) surveys.Progress {
	if st.plan.Questions == nil || !p.Status.Final() || c.move.Was.Answers == nil {
		return p
	}
	var answers []questions.Answer
	q, _, err := st.try(p, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) {
		p, answers = st.plan.Close(p, st.talkerOf(c))
		return p, surveys.Effects{}
	}))
	if err != nil {
		return p
	}
	st.record(c, answers, q.Talk)
	return q
}

// countBucket counts a respondent that counts now, so that the same page does not overfill a bucket.
func (st *stepper) countBucket(m *surveys.Move) {
	if b := m.Is.Bucket; m.Is.Counted && !m.Was.Counted && b >= 0 && b < len(st.buckets) {
		st.buckets[b]++
	}
}

// readTalks reads what conversations of questions need to go on: the answers of the respondents, and,
// if they have written or may be asked again, when their present questions were claimed. Without questions it does nothing.
func (a *access) readTalks(ctx context.Context, sv *surveyState, claims bool, list []*surveys.Respondent) error {
	if sv.plan.Questions == nil {
		return nil
	}
	var ids []surveys.RespondentID
	for _, r := range list {
		if r.Talk.Turn > 0 {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	answers, err := call(ctx, func(ctx context.Context) (map[surveys.RespondentID]map[string]questions.Answer, error) {
		return a.Store.Answers(ctx, sv.survey.ID, ids)
	})
	if err != nil {
		return fmt.Errorf("read answers: %w", err)
	}
	for _, r := range list {
		if r.Answers = answers[r.ID]; r.Answers == nil {
			r.Answers = map[string]questions.Answer{} // they were read
		}
		if claims {
			if err := a.readClaim(ctx, sv.plan, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBuckets reads how many respondents count in the buckets of a survey that asks questions.
func (a *access) readBuckets(ctx context.Context, sv *surveyState, st *stepper) error {
	if sv.plan.Questions == nil || len(sv.plan.Quotas) == 0 {
		return nil
	}
	sums, err := lookup(ctx, a.Store.Counts, sv.survey.ID)
	if err != nil {
		return fmt.Errorf("read the counts of a survey: %w", err)
	}
	st.buckets = sums.Tally(len(sv.plan.Quotas)).Buckets
	return nil
}

// errClaimUnknown says that the round or the request has to be repeated.
var errClaimUnknown = errors.New("when a question was sent cannot be read now")

// readClaim learns when the contact was first claimed that says the present question of a respondent, if that
// is not known yet: the answer to a question may be received before the provider's receipt of it.
func (a *access) readClaim(ctx context.Context, plan *surveys.Plan, r *surveys.Respondent) error {
	if r.Talk.Turn == 0 || r.Talk.Asked != 0 || r.Said == (weir.Ref{}) {
		return nil
	}
	c, ended, err := call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return a.Store.Contact(ctx, r.Said) })
	first := firstClaim(&c, ended)
	switch {
	case weir.CodeOf(err) == weir.CodeNotFound: // long done, and deleted
		r.Progress = plan.Claimed(r.Progress, r.Talk.Turn, time.UnixMicro(1))
	case err != nil:
		return fmt.Errorf("read the contact of a question: %w", err)
	case !first.IsZero():
		r.Progress = plan.Claimed(r.Progress, surveys.TurnOf(&c), first)
	case c.State.InFlight(): // its claim is being committed, and can be read in a moment
		return errClaimUnknown
	case c.State == weir.Done: // it was never sent, and will not be; the next contact says the question first
		r.Said = weir.Ref{}
	default:
		r.Unsaid = true
	}
	return nil
}

// firstClaim returns when a contact was first claimed: from then on the person may have seen it, also if a
// process was killed before it learned that the provider took it, and the contact waits again.
func firstClaim(c *weir.Contact, ended []weir.Attempt) time.Time {
	first := c.ClaimedAt
	for i := range ended {
		if at := ended[i].ClaimedAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// zoneOf returns the time zone of a respondent: that of the person, or that of the survey.
func (a *access) zoneOf(plan *surveys.Plan, r *surveys.Respondent) *time.Location {
	return a.zones.Of(r.Attributes[respondents.FieldTimeZone], people.Canonical(r.Phone), plan.Schedule.Zone())[0]
}

// readConversations reads what the entries of a survey that asks questions need.
func (a *access) readConversations(ctx context.Context, group *surveyEntries, st *stepper) error {
	if group.survey.plan.Questions == nil {
		return nil
	}
	var wrote, others []*surveys.Respondent
	for _, e := range group.list {
		if slices.ContainsFunc(e.entries, func(n surveys.OutboxEntry) bool { return n.Kind == surveys.MessageReceived }) {
			wrote = append(wrote, &e.respondent)
		} else {
			others = append(others, &e.respondent)
		}
	}
	if err := a.readTalks(ctx, group.survey, true, wrote); err != nil {
		return err
	}
	if err := a.readTalks(ctx, group.survey, false, others); err != nil || len(wrote) == 0 {
		return err
	}
	return a.readBuckets(ctx, group.survey, st)
}

// pointers returns pointers to the elements of a list.
func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
