package surveys

import (
	"slices"

	"weir"
	"weir/surveys/questions"
)

// conversed reports whether an entry is a message in a conversation of questions.
func (st *Stepper) conversed(n *OutboxEntry) bool {
	return n.Kind == MessageReceived && st.Plan.Converses(st.Survey.State)
}

// talker returns a respondent as its conversation needs it.
func (st *Stepper) talker(r *Respondent) questions.Person {
	return st.Plan.Talker(st.Survey.Name, r, st.Tokens.Person(r), st.Now.In(st.Zone(r)))
}

// talkerOf returns the respondent of a change, with the answers that the change records.
func (st *Stepper) talkerOf(c *Change) questions.Person {
	who := c.Move.Was
	var answers []questions.Answer
	for i := range c.Move.Answers {
		answers = append(answers, c.Move.Answers[i].Answer)
	}
	who.Answers = Merged(who.Answers, answers)
	return st.talker(&who)
}

// ask builds the contact of a step that says how the conversation goes on. ok is false if the rules
// panicked.
func (st *Stepper) ask(c *Change, p Progress, e Effects, ch weir.Channel) (_ Progress, _ Effects, ok bool) {
	was, o := &c.Move.Was, *e.Enqueue
	var spoken Spoken
	p, e, err := st.Try(p, Certain(func(p Progress) (Progress, Effects) {
		p, e, spoken = st.Plan.Ask(was, p, e, st.talkerOf(c))
		return p, e
	}))
	if err != nil {
		return p, e, false
	}
	st.record(c, spoken.Answers, p.Talk)
	if e.Enqueue != nil {
		spec := st.Plan.Asking(st.Survey.Name, st.Tokens.Person(was), p, o, spoken.Say)
		spec.Owner = weir.Owner{Group: was.Survey, ID: int64(was.ID), Serial: o.Serial}
		c.Move.Enqueue, c.Move.Channel = &spec, ch.ID
		st.Log(c, LogEntry{Event: LogEnqueued, Mode: o.Mode, Channel: ch.Name, Attempt: o.Attempt})
	}
	return p, e, true
}

// reply adds the contact that answers a message to a change. If no channel accepts it now, the next step
// of the respondent says it.
func (st *Stepper) reply(c *Change, say []string) {
	if len(say) == 0 || c.Move.Enqueue != nil {
		return
	}
	ch, ok := st.ChannelFor(SMS)
	if !ok {
		return
	}
	was := &c.Move.Was
	spec := st.Plan.Reply(st.Survey.Name, st.Tokens.Person(was), c.Move.Is.Progress, say)
	spec.Owner = weir.Owner{Group: was.Survey, ID: int64(was.ID)}
	c.Move.Reply, c.Move.Channel = &spec, ch.ID
	st.Log(c, LogEntry{Event: LogReply, Mode: SMS, Channel: ch.Name})
}

// record adds answers to a change, which a turn of the conversation came to.
func (st *Stepper) record(c *Change, answers []questions.Answer, talk questions.State) {
	for _, a := range answers {
		c.Move.Answers = slices.DeleteFunc(c.Move.Answers, func(r Recorded) bool { return r.Question == a.Question })
		c.Move.Answers = append(c.Move.Answers, Recorded{
			Answer: st.Plan.Dated(a, talk, st.Now), Kind: questions.KindOf(st.Survey.Definition.Questions, a.Question), Was: c.Move.Was.Answers[a.Question], Turn: talk.Turn, At: st.Now,
		})
	}
}

// closeTalk ends the conversation of a respondent who becomes final.
func (st *Stepper) closeTalk(c *Change, p Progress) Progress {
	if st.Plan.Questions == nil || !p.Status.Final() || c.Move.Was.Answers == nil {
		return p
	}
	var answers []questions.Answer
	q, _, err := st.Try(p, Certain(func(p Progress) (Progress, Effects) {
		p, answers = st.Plan.Close(p, st.talkerOf(c))
		return p, Effects{}
	}))
	if err != nil {
		return p
	}
	st.record(c, answers, q.Talk)
	return q
}

// countBucket counts a respondent that counts now, so that the same page does not overfill a bucket.
func (st *Stepper) countBucket(m *Move) {
	if b := m.Is.Bucket; m.Is.Counted && !m.Was.Counted && b >= 0 && b < len(st.Buckets) {
		st.Buckets[b]++
	}
}
