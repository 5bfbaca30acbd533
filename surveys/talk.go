package surveys

import (
	"maps"
	"strconv"
	"time"

	"weir"
	"weir/people"
	"weir/surveys/questions"
	"weir/surveys/respondents"
)

// labelTurn is the label of a contact that says a turn of a conversation of questions.
const labelTurn = "turn"

// turnKey returns the key of a contact that says a turn. Of replies there is one for each turn.
func turnKey(contact string, turn int) string { return contact + "-q" + strconv.Itoa(turn) }

// Reply returns the contact that says the present turn in reply to a message. Like every reply it comes
// before all other waiting contacts, regardless of the schedule, because the respondent waits for it.
func (pl *Plan) Reply(survey string, person Person, p Progress, say []string) weir.Spec {
	return weir.Spec{
		Key: turnKey(person.ID, p.Talk.Turn), To: person.Phone, Priority: weir.Reply, Survey: survey, Messages: say,
		Labels: map[string]string{respondents.FieldRespondent: person.ID, respondents.FieldMode: string(SMS), labelTurn: strconv.Itoa(p.Talk.Turn)},
	}
}

// TurnOf returns the turn that a contact says; 0: none.
func TurnOf(c *weir.Contact) int {
	turn, _ := strconv.Atoi(c.Labels[labelTurn]) // 0 without it
	return turn
}

// Spoken is what a step of a conversation of questions comes to, beside the progress of the
// respondent. The caller commits all of it, with the progress, in one [Move].
type Spoken struct {
	Answers []questions.Answer
	Say     []string // in one contact, under the turn of the progress; none: nothing is said
	Bucket  int
}

// Converses reports whether messages of the respondents of a survey are read as answers to questions.
// A survey that ends asks nothing any more.
func (pl *Plan) Converses(s State) bool {
	return pl.Questions != nil && (s == Running || s == Paused)
}

// Says returns what a message says about being contacted; with the word or phrase by which it may
// refuse. While a question is asked, the words of its answers are answers.
func (pl *Plan) Says(p Progress, message string) (people.Said, string) {
	says, found := pl.Words().Find(message)
	if says == "" || pl.Questions == nil || p.Talk.Asked == 0 {
		return says, found
	}
	if answers := pl.Questions.AnswerWords(p.Talk); len(answers) > 0 {
		return pl.Words().For(nil, nil, answers).Find(message)
	}
	return says, found
}

// WasAnswer reports whether a message is among the answers that were recorded.
func WasAnswer(answers map[string]questions.Answer, message string) bool {
	for _, a := range answers {
		if a.Raw != "" && a.Raw == message {
			return true
		}
	}
	return false
}

// Converse applies a message of a respondent to the conversation of questions. now is in the zone of
// the respondent, whose answers have to be read; full reports whether a bucket is full without the
// respondent.
func (pl *Plan) Converse(r *Respondent, who questions.Person, m *weir.Incoming, now time.Time, full func(bucket int) bool) (p Progress, e Effects, s Spoken, err error) {
	p, s.Bucket = r.Progress, r.Bucket
	says, _ := pl.Says(p, m.Body)
	switch {
	case says == people.SaidStop:
		p, e = pl.OptOut(p)
		return p, e, s, nil
	case p.Talk.Turn == 0:
		if !people.IsReaction(m.Body) {
			p, e, err = pl.Replied(p, now, 0, "")
		}
		return p, e, s, err
	case says == people.SaidStart, p.Status.Final() && (p.Talk.Ended == "" || says == people.SaidHelp):
		return p, e, s, nil
	}
	var t questions.Result
	if says == people.SaidHelp {
		t = pl.Questions.Help(p.Talk, who)
	} else {
		t = pl.Questions.Turn(p.Talk, who, questions.Input{Text: m.Body, ReceivedAt: m.ReceivedAt, Identified: m.GUID != ""})
	}
	p.Talk, s.Answers, s.Say = t.State, t.Answers, t.Say
	switch t.Effect {
	case questions.EffectAnswered, questions.EffectNotUnderstood, questions.EffectLanguage, questions.EffectAsked:
	default:
		return p, e, s, nil
	}
	ended, reject := t.Ended, false
	if len(pl.Quotas) > 0 && len(t.Answers) > 0 {
		who.Answers = Merged(who.Answers, t.Answers)
		s.Bucket = pl.Assign(r, values(r.Attributes, who.Answers))
		if reject = ended == "" && !(r.Counted && s.Bucket == r.Bucket) && full(s.Bucket); reject {
			stop := pl.Questions.Stop(t.State, who, questions.QuotaFull)
			p.Talk, s.Answers, s.Say = stop.State, append(s.Answers, stop.Answers...), stop.Say
		}
	}
	q, e, err := pl.Replied(p, now, 0, dispositionOf(ended, t.State.Partial || p.Disposition == InterimPartial))
	if err == nil && reject {
		e2 := e
		q, e, err = pl.Reject(q)
		e.Cancel = max(e.Cancel, e2.Cancel)
	}
	return q, e, s, err
}

// dispositionOf returns the disposition after an input; ended is empty while the conversation goes on.
// Who has answered enough to count as partial stays so.
func dispositionOf(ended questions.Ending, partial bool) Disposition {
	switch {
	case ended == questions.Completed:
		return Complete
	case ended == "" && partial:
		return InterimPartial
	case ended == "":
		return Started
	case partial:
		return Partial
	case ended == questions.Ineligible:
		return Ineligible
	case ended == questions.EndedRefused:
		return Refused
	default:
		return Breakoff
	}
}

// Ask returns what the contact of a step says: how the conversation begins, or again the question of
// a person who has stopped answering. Nothing is said to whom no question concerns: that ends the
// respondent, as ineligible.
func (pl *Plan) Ask(r *Respondent, p Progress, e Effects, who questions.Person) (Progress, Effects, Spoken) {
	var t questions.Result
	switch {
	case p.Talk.Turn == 0:
		t = pl.Questions.Start(questions.State{}, who, uint64(r.ID))
	case pl.inConversation(p):
		t = pl.Questions.Remind(p.Talk, who)
	default:
		t = pl.Questions.StartAgain(p.Talk, who)
	}
	s := Spoken{Answers: t.Answers, Say: t.Say, Bucket: r.Bucket}
	if t.Ended != "" {
		p = pl.NotEnqueued(p, *e.Enqueue)
		p, e = pl.finish(p, Ineligible.status(), Ineligible)
		t.State.Asked, s.Say = 1, nil // nothing is sent; what comes now is late
	}
	p.Talk = t.State
	return p, e, s
}

// Close ends the conversation of a respondent who is final for another reason: what was not asked is
// recorded as not reached.
func (pl *Plan) Close(p Progress, who questions.Person) (Progress, []questions.Answer) {
	if pl.Questions == nil || !p.Status.Final() || p.Talk.Turn == 0 || p.Talk.Ended != "" {
		return p, nil
	}
	ending := questions.EndedBreakoff
	switch p.Disposition {
	case Refused:
		ending = questions.EndedRefused
	case RejectedQuota:
		ending = questions.QuotaFull
	default:
	}
	t := pl.Questions.Stop(p.Talk, who, ending)
	t.State.Asked = 1 // nothing is said; what comes now is late
	p.Talk = t.State
	return p, t.Answers
}

// Merged returns answers with others that replace those of the same questions.
func Merged(answers map[string]questions.Answer, more []questions.Answer) map[string]questions.Answer {
	if len(more) == 0 {
		return answers
	}
	out := make(map[string]questions.Answer, len(answers)+len(more))
	maps.Copy(out, answers)
	for _, a := range more {
		out[a.Question] = a
	}
	return out
}

// values returns what quotas look at: attributes and answers.
func values(attributes map[string]string, answers map[string]questions.Answer) map[string]string {
	out := make(map[string]string, len(attributes)+len(answers))
	maps.Copy(out, attributes)
	for name, a := range answers {
		if a.Status == questions.Answered {
			out[name] = a.Value
		}
	}
	return out
}

// Talker returns a respondent as its conversation needs it. now is in the zone of the respondent.
func (pl *Plan) Talker(survey string, r *Respondent, person Person, now time.Time) questions.Person {
	attributes := r.Attributes
	if len(pl.builtIn) > 0 {
		attributes = maps.Clone(attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		of := person.values(survey, SMS, r.Attempts.SMS)
		for _, name := range pl.builtIn {
			attributes[name] = of(name)
		}
	}
	return questions.Person{Attributes: attributes, Answers: r.Answers, Mode: string(SMS), Now: now}
}

// ofWeir reports whether a name in a text is no attribute.
func ofWeir(name string) bool { return respondents.BuiltIn(name) || name == respondents.FieldToken }
