package questions

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"weir/people"
)

// repeatedWithin is how long the same message counts as a repetition of one that was not understood,
// if its provider does not name messages.
const repeatedWithin = 10 * time.Second

// fieldLanguage is the attribute that names a person's language.
const fieldLanguage = "language"

// talk is a conversation during one step.
type talk struct {
	*Questionnaire
	state  State
	person *Person
	added  map[string]Answer // by this step
	order  []string          // of the added
	texts  []string          // to say
	ended  Ending
}

func (qs *Questionnaire) talk(s State, p *Person) *talk {
	return &talk{Questionnaire: qs, state: s, person: p, added: map[string]Answer{}}
}

func (t *talk) result(e Effect) Result {
	r := Result{State: t.state, Effect: e, Say: join("\n", t.texts...), Ended: t.ended}
	if t.ended != "" && len(r.Say) == 0 {
		r.State.Asked = 1 // there is no contact to wait for: what comes now is late
	}
	for _, name := range t.order {
		r.Answers = append(r.Answers, t.added[name])
	}
	return r
}

func (t *talk) record(a Answer) {
	if _, ok := t.added[a.Question]; !ok {
		t.order = append(t.order, a.Question)
	}
	a.Raw = clip(a.Raw, maxRaw)
	t.added[a.Question] = a
}

func (t *talk) say(text string) { t.texts = append(t.texts, text) }

// turn begins the next turn.
func (t *talk) turn() { t.state.Turn++ }

// present returns the present question; nil: there is none, or the questionnaire does not have it.
func (t *talk) present() *question {
	if i, ok := t.index[t.state.Question]; ok && Asked(t.questions[i].Kind) {
		return &t.questions[i]
	}
	return nil
}

// Start begins a conversation: with what stands before the first question, and the question. The seed
// is of the order of shuffled choices. It changes nothing in a conversation that has begun.
func (qs *Questionnaire) Start(s State, p Person, seed uint64) Result {
	if s.Turn > 0 {
		return qs.again(s, p)
	}
	t := qs.talk(State{Seed: seed, Language: qs.matchLanguage(p.Attributes[fieldLanguage])}, &p)
	if t.state.Language == "" {
		t.state.Language = qs.def
	}
	t.turn()
	t.goOn(0)
	return t.result(EffectAsked)
}

// StartAgain says again how the conversation begins, under a new turn, to a person who has not answered
// yet: nothing of it may have arrived.
func (qs *Questionnaire) StartAgain(s State, p Person) Result {
	r := qs.Start(State{}, p, s.Seed)
	r.State.Turn = s.Turn + 1 // what it says names no turn
	r.State.Since = r.State.Turn
	if r.State.Question == s.Question {
		r.State.Since, r.State.Asked = cmp.Or(s.Since, s.Turn), s.Asked
	}
	return r
}

// Remind asks the present question again, under a new turn, of a person who has stopped answering.
func (qs *Questionnaire) Remind(s State, p Person) Result {
	return qs.askAgain(s, p, EffectAsked, qs.message(s.Language, Reminder))
}

// Help asks the present question again, under a new turn, of a person who asked for help.
func (qs *Questionnaire) Help(s State, p Person) Result {
	return qs.askAgain(s, p, EffectAsked, qs.message(s.Language, Help))
}

func (qs *Questionnaire) askAgain(s State, p Person, e Effect, first string) Result {
	t := qs.talk(s, &p)
	q := t.present()
	if q == nil {
		return t.result(EffectLate)
	}
	t.turn()
	t.say(t.fill(first))
	t.say(t.text(q))
	return t.result(e)
}

// Render returns the present question as it is said under the present turn.
func (qs *Questionnaire) Render(s State, p Person) []string {
	return qs.again(s, p).Say
}

// again says the present question again and changes nothing.
func (qs *Questionnaire) again(s State, p Person) Result {
	t := qs.talk(s, &p)
	if q := t.present(); q != nil {
		t.say(t.text(q))
	}
	return t.result(EffectStale)
}

// Stop ends a conversation from outside, as when its quota is full or nobody waits for an answer any
// more. It changes nothing in one that has ended.
func (qs *Questionnaire) Stop(s State, p Person, e Ending) Result {
	t := qs.talk(s, &p)
	if s.Ended != "" {
		return t.result(EffectLate)
	}
	t.turn()
	t.end(e, t.next())
	return t.result(EffectAsked)
}

// next returns the place of the first question that has no answer yet: the present one, or 0.
func (t *talk) next() int {
	if q := t.present(); q != nil {
		return t.index[q.Name]
	}
	return 0
}

// Turn applies an input. See the package comment for what a caller does with the result.
func (qs *Questionnaire) Turn(s State, p Person, in Input) Result {
	in.Text = strings.ToValidUTF8(in.Text, "\ufffd")
	t := qs.talk(s, &p)
	q := t.present()
	switch {
	case s.Turn == 0:
		return t.result(EffectIgnored)
	case in.Turn != 0 && in.Turn != s.Turn:
		return qs.again(s, p)
	case visible(in.Text) == "" || people.IsReaction(in.Text):
		return t.result(EffectIgnored)
	case in.Turn == 0 && (s.Asked == 0 || in.ReceivedAt.UnixMicro() < s.Asked):
		if t.append(in.Text) {
			return t.result(EffectAppended)
		}
		return t.result(EffectEarly)
	case s.Ended != "":
		return t.late()
	case q == nil: // of a questionnaire that has changed
		t.turn()
		t.goOn(0)
		return t.result(EffectAsked)
	}
	form := fold(in.Text)
	if t.quotes(q, in.Text, form) {
		return t.result(EffectIgnored)
	}
	options := q.offered(t)
	if code := qs.switches[form]; code != "" && code != s.Language {
		if value, _ := q.read(in.Text, s.Language, options); value == "" || q.Kind == FreeText {
			s.Language = code
			return qs.askAgain(s, p, EffectLanguage, "")
		}
	}
	return t.judge(q, in, form, options)
}

// quotes reports whether a message is the question.
func (t *talk) quotes(q *question, text, form string) bool {
	alone := textIn(q.Text, t.state.Language, t.def)
	if 2*len(text) < len(alone) {
		return false // most answers are shorter
	}
	return form == fold(alone) || form == fold(t.text(q))
}

// late says that it is over, once.
func (t *talk) late() Result {
	if over := t.message(t.state.Language, Over); over != "" && !t.state.Told {
		t.state.Told, t.state.Before = true, ""
		t.turn()
		t.say(t.fill(over))
	}
	return t.result(EffectLate)
}

// append adds a message to the text that was the answer before, because long messages may arrive in
// parts. It reports whether the whole is still an answer.
func (t *talk) append(text string) bool {
	before, recorded := t.person.Answers[t.state.Before]
	i, known := t.index[t.state.Before]
	if !known || !recorded || before.Status != Answered || t.state.Tries > 0 {
		return false
	}
	q := &t.questions[i]
	value, problem := q.read(before.Value+" "+text, t.state.Language, nil)
	if problem != fits || !t.meets(q, value) {
		return false
	}
	t.record(Answer{Question: q.Name, Status: Answered, Value: value, Raw: before.Raw + " " + text})
	return true
}

// meets reports whether a value meets the constraint of a question.
func (t *talk) meets(q *question, value string) bool {
	if q.constraint == nil {
		return true
	}
	env := t.env(q)
	env.Self = q.typed(value)
	return q.constraint.Value(env).Bool()
}

// judge takes an input, and what it is folded, as the answer to the present question, or as none.
func (t *talk) judge(q *question, in Input, form string, options []option) Result {
	s := &t.state
	a := Answer{Question: q.Name, Status: Answered, Raw: in.Text}
	problem := fits
	chosen, _ := match(options, form, s.Language)
	if instead := t.notAnswered(form, s.Language); instead != "" && slices.Contains(q.Allow, instead) {
		a.Status = instead
	} else if instead == DontKnow && q.Kind != FreeText && chosen == nil {
		problem = notUnderstood // "no sé" is not "no"
	} else if a.Value, problem = q.read(in.Text, s.Language, options); problem == fits && !t.meets(q, a.Value) {
		problem = outOfBounds
	}
	if problem != fits {
		return t.misfit(q, in, problem)
	}
	t.record(a)
	s.Before = ""
	if q.Kind == FreeText && a.Status == Answered {
		s.Before = q.Name
	}
	s.Partial = s.Partial || q.Partial && a.Status == Answered
	if q.SetLanguage && a.Status == Answered {
		s.Language = a.Value
	}
	t.turn()
	t.passed(q, a)
	return t.result(EffectAnswered)
}

// passed goes on behind a question.
func (t *talk) passed(q *question, a Answer) {
	next := t.index[q.Name] + 1
	for _, o := range q.Choices {
		if o.Name == a.Value && o.End != "" {
			t.end(o.End, next)
			return
		}
	}
	t.goOn(next)
}

// misfit counts an answer that does not fit, and asks again unless the tries are used up.
func (t *talk) misfit(q *question, in Input, problem problem) Result {
	s := &t.state
	h := fnv.New32a()
	_, _ = h.Write([]byte(in.Text)) // a hash never fails
	received := in.ReceivedAt.UnixMicro()
	if in.Turn == 0 && !in.Identified && s.Tries > 0 && s.Last == h.Sum32() && received-s.LastAt < repeatedWithin.Microseconds() {
		return t.result(EffectRepeated)
	}
	s.Last, s.LastAt = h.Sum32(), received
	s.Tries++
	s.Missed++
	t.turn()
	if s.Tries < q.Tries {
		message := t.message(s.Language, NotUnderstood)
		if problem == outOfBounds && len(q.Message) > 0 {
			message = textIn(q.Message, s.Language, t.def)
		}
		r := t.result(EffectNotUnderstood)
		r.Say = join(" ", t.fill(message), t.text(q))
		return r
	}
	t.record(Answer{Question: q.Name, Status: Invalid, Raw: in.Text})
	switch next := t.index[q.Name] + 1; q.AfterTries {
	case AfterSkip:
		t.goOn(next)
	case AfterRefused:
		t.end(EndedRefused, next)
	default:
		t.end(EndedBreakoff, next)
	}
	return t.result(EffectNotUnderstood)
}

// goOn passes what is not asked, and asks the next question that is relevant.
func (t *talk) goOn(from int) {
	t.state.Question, t.state.Tries, t.state.Since, t.state.Asked, t.state.Last, t.state.LastAt = "", 0, t.state.Turn, 0, 0, 0
	for i := from; i < len(t.questions); i++ {
		q := &t.questions[i]
		if _, known := t.person.Answers[q.Name]; known && t.added[q.Name].Status == "" && Recorded(q.Kind) {
			continue // recorded under an earlier version
		}
		if q.relevant != nil && !q.relevant.Value(t.env(q)).Bool() || q.Choices != nil && len(q.offered(t)) == 0 {
			if Recorded(q.Kind) {
				t.record(Answer{Question: q.Name, Status: Skipped})
			}
			continue
		}
		switch q.Kind {
		case Statement:
			t.say(t.text(q))
		case Calculation:
			t.record(Answer{Question: q.Name, Status: Answered, Value: t.calculate(q)})
		case End:
			t.close(q.End, i+1)
			if said := t.text(q); said != "" {
				t.say(said)
			} else {
				t.goodbye()
			}
			return
		default:
			t.state.Question = q.Name
			t.say(t.text(q))
			return
		}
	}
	t.end(Completed, len(t.questions))
}

// calculate returns the value of a calculation; empty: it has none.
func (t *talk) calculate(q *question) string {
	value := q.calculation.Value(t.env(q))
	if value.IsNumber() && math.IsNaN(value.Number()) {
		return ""
	}
	return clip(value.Text(), maxText)
}

// end ends the conversation before a question, with the message for it.
func (t *talk) end(e Ending, before int) {
	t.close(e, before)
	t.goodbye()
}

// close ends the conversation before a question.
func (t *talk) close(e Ending, before int) {
	if e == "" {
		e = Completed
	}
	for i := before; i < len(t.questions); i++ {
		q := &t.questions[i]
		if _, known := t.person.Answers[q.Name]; !known && Recorded(q.Kind) {
			t.record(Answer{Question: q.Name, Status: NotReached})
		}
	}
	t.state.Question, t.state.Tries, t.state.Since, t.state.Asked, t.state.Ended, t.ended = "", 0, t.state.Turn, 0, e, e
}

// goodbye says the message for how the conversation ended.
func (t *talk) goodbye() {
	m := Message(t.ended)
	if t.ended == Completed {
		m = Thanks
	}
	t.say(t.fill(t.message(t.state.Language, m)))
}
