package questionnaire

import (
	"strings"
	"time"

	"weir/people"
	"weir/surveys/questions"
	"weir/web/dashboard/locale"
)

// Bounds of a conversation on the telephone.
const (
	MaxSaid     = 300 // messages
	maxSaidText = 1600
)

// Phone is a telephone on the page. Nothing is sent: the conversation is made anew from what was said.
type Phone struct {
	Bubbles  []Bubble
	Said     []string
	Language string
	Ended    bool
	Ready    bool // it has a questionnaire
}

// Bubble is a message.
type Bubble struct {
	Text string
	Mine bool           // the person wrote it
	Note locale.Message // what became of it; empty: it counts
}

// Try repeats a conversation with somebody, and marks the way that it takes among the questions.
func (e *Editor) Try(qs *questions.Questionnaire, said []string, person questions.Person) *Phone {
	p := &Phone{Ready: true, Language: person.Attributes["language"]}
	person.Answers, person.Mode = map[string]questions.Answer{}, "sms"
	at := person.Now
	step := func(r questions.Result) questions.State {
		for _, a := range r.Answers {
			person.Answers[a.Question] = a
		}
		if r.Effect != questions.EffectStale {
			for _, text := range r.Say {
				p.Bubbles = append(p.Bubbles, Bubble{Text: text})
			}
		}
		p.Ended = p.Ended || r.Ended != ""
		at = at.Add(time.Minute)
		return r.State.Claimed(r.State.Turn, at)
	}
	state := step(qs.Start(questions.State{}, person, 1))
	for _, text := range said[:min(len(said), MaxSaid)] {
		text = clip(strings.TrimSpace(text))
		if text == "" {
			continue
		}
		p.Said = append(p.Said, text)
		words := people.DefaultWords().For(nil, nil, qs.AnswerWords(state))
		if says, _ := words.Find(text); says == people.SaidStop {
			p.Bubbles = append(p.Bubbles, Bubble{text, true, "It refuses: this person is not contacted again."})
			step(qs.Stop(state, person, questions.EndedRefused))
			p.Ended = true
			break
		} else if says == people.SaidHelp {
			p.Bubbles = append(p.Bubbles, Bubble{text, true, "It asks for help."})
			state = step(qs.Help(state, person))
			continue
		}
		at = at.Add(time.Minute)
		person.Now = at
		before := len(p.Bubbles)
		p.Bubbles = append(p.Bubbles, Bubble{text, true, ""})
		r := qs.Turn(state, person, questions.Input{Text: text, ReceivedAt: at, Identified: true})
		p.Bubbles[before].Note = noteOf(r.Effect)
		state = step(r)
	}
	for _, c := range e.Cards {
		a, passed := person.Answers[c.Name]
		c.Here = state.Question == c.Name && !p.Ended
		if c.Way = c.Here || passed && a.Status != questions.Skipped && a.Status != questions.NotReached; c.Way && a.Status == questions.Answered {
			c.Answer = a.Value
		}
	}
	return p
}

func noteOf(e questions.Effect) locale.Message {
	switch e {
	case questions.EffectNotUnderstood:
		return "It does not fit."
	case questions.EffectLanguage:
		return "It switches the language."
	case questions.EffectIgnored:
		return "It counts as nothing."
	case questions.EffectAppended:
		return "It belongs to the answer before."
	case questions.EffectRepeated:
		return "It repeats the message before."
	case questions.EffectLate:
		return "The conversation is over."
	default:
		return ""
	}
}

func clip(text string) string {
	if r := []rune(text); len(r) > maxSaidText {
		return string(r[:maxSaidText])
	}
	return text
}
