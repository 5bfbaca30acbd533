package people

import (
	"context"
	"time"

	"weir"
)

// Message is a message of a person that says something about being contacted.
type Message struct {
	Key     string // identifies it; empty: its provider gives it no id
	From    string // canonical
	Text    string
	At      time.Time      // when it was received first
	Again   bool           // it was received before
	Erased  bool           // it was erased since it was received
	Known   bool           // a survey is contacting the person
	Channel weir.ChannelID // over which it came
	Name    string         // of the channel
	Said    Said
	Found   string // of [SaidMaybe]: by which word or phrase
	Purpose string // of the survey that is contacting the person; empty: the default
	ReplyTo string // the address in the form of the channel; empty: it cannot be answered
}

// Answer is a kind of answer to a message.
type Answer string

// The answers. Each is given to one person at most once in [AnswerEvery].
const (
	AnswerHelp         Answer = "help"
	AnswerConfirmation Answer = "confirmation"
)

// AnswerEvery is the time in which a person gets one answer of a kind.
const AnswerEvery = 24 * time.Hour

// MaxStrangers is how many answers a channel gives in an hour to strangers: senders whom no survey is contacting, and
// whom nothing has contacted within [ContactedWithin]. Whoever forges senders can cause no more of them; what the
// messages say is recorded all the same.
const MaxStrangers = 200

// ContactedWithin is how long somebody who was contacted is no stranger. The history is kept longer.
const ContactedWithin = 30 * 24 * time.Hour

// Strangers counts the answers of a channel to them. The zero value has given none.
type Strangers struct {
	since time.Time
	n     int
}

// Admit reports whether the channel answers one more, and counts it.
func (s *Strangers) Admit(now time.Time) bool {
	if now.Sub(s.since) >= time.Hour || now.Before(s.since) {
		s.since, s.n = now, 0
	}
	if s.n == MaxStrangers {
		return false
	}
	s.n++
	return true
}

// AnswerTo returns the answer to a message of a purpose, and the purpose whose text it is: if
// the message's own has none, it is that of the default purpose. The text is empty if there
// is no answer.
func AnswerTo(m *Message, known map[string]*Purpose) (kind Answer, purpose, text string) {
	if m.ReplyTo == "" {
		return "", "", ""
	}
	var read func(*Purpose) string
	switch m.Said {
	case SaidStop:
		kind, read = AnswerConfirmation, func(p *Purpose) string { return p.Confirmation }
	case SaidHelp:
		kind, read = AnswerHelp, func(p *Purpose) string { return p.Help }
	default:
		return "", "", ""
	}
	for _, name := range []string{m.Purpose, DefaultPurpose} {
		if p := known[name]; p != nil && read(p) != "" {
			if name == DefaultPurpose {
				name = "" // as contacts have it
			}
			return kind, name, read(p)
		}
	}
	return "", "", ""
}

// Consent returns the consent that a message is; false: it is none.
func (m *Message) Consent() (Consent, bool) {
	c := Consent{Key: m.Key, Address: m.From, Purpose: AllPurposes, Source: FromWord, At: m.At, Words: m.Text, By: m.Name, Late: m.Again, Erased: m.Erased}
	switch m.Said {
	case SaidStop:
		c.Status = Refused
	case SaidStart:
		c.Status = Given
	default:
		return Consent{}, false
	}
	return c, true
}

// Undecided is a message that may be a refusal.
type Undecided struct {
	ID      int64  // assigned by the store, in order
	Address string // canonical
	Channel string // its name
	Text    string
	Found   string // the word or phrase by which it may refuse
	At      time.Time
}

// Decision is what a person decides about an undecided message.
type Decision string

// The decisions.
const (
	DecidedRefused   Decision = "refused"   // the person refuses
	DecidedDismissed Decision = "dismissed" // the message is about something else
)

// Decisions returns every decision.
func Decisions() []Decision { return []Decision{DecidedRefused, DecidedDismissed} }

// Messages keeps what messages of people say about being contacted.
type Messages interface {
	// Hear records a message, in one transaction with its answer, which it returns for the broker
	// of the channel. A message whose key is known is not recorded again.
	Hear(ctx context.Context, m *Message) ([]weir.Contact, error)
	// Undecided returns messages that wait for a decision, in order, behind an id.
	Undecided(ctx context.Context, after int64, limit int) ([]Undecided, error)
	// CountUndecided counts them, up to a limit.
	CountUndecided(ctx context.Context, limit int) (int, error)
	// Decide decides about a message. A refusal is recorded with the words, and decides about
	// every other message of the person that waits. Deciding again in the same way changes
	// nothing; otherwise it is a conflict. It returns the message, and after a refusal what
	// counts of the address for all purposes.
	Decide(ctx context.Context, id int64, d Decision, by string) (Undecided, State, error)
	// PurgeUndecided deletes messages from before an instant, decided or not, at most limit, and
	// returns how many.
	PurgeUndecided(ctx context.Context, before time.Time, limit int) (int, error)
}
