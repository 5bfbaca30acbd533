package questions

import (
	"cmp"
	"time"

	"weir/api"
)

// State is the place of a conversation. The zero value is a conversation that has not begun.
type State struct {
	Turn     int    `json:"turn,omitempty"` // of what was said last
	Question string `json:"q,omitempty"`    // the present one; empty: none, the conversation has ended
	Tries    int    `json:"tries,omitempty"`
	Language string `json:"lang,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`    // of the order of shuffled choices
	Since    int    `json:"since,omitempty"`   // the turn by which the present question was said first; 0: Turn
	Asked    int64  `json:"asked,omitempty"`   // when the first contact with the question was claimed, in µs; 0: not yet
	Before   string `json:"before,omitempty"`  // the question answered last, if it is one for a text
	Missed   int    `json:"missed,omitempty"`  // answers that did not fit, of all questions
	Last     uint32 `json:"last,omitempty"`    // hash of the last of them
	LastAt   int64  `json:"last_at,omitempty"` // when it was received, in µs
	Partial  bool   `json:"partial,omitempty"` // enough is answered to count as partial
	Ended    Ending `json:"end,omitempty"`
	Told     bool   `json:"told,omitempty"` // that it is over
}

// Claimed records when the contact that says a turn was claimed for dispatch. A message that was
// received before the present question was first sent cannot be an answer to it; one that was received
// before the question was repeated can.
//
// A question may be repeated before it is known when it was first sent; then it becomes known in any order.
func (s State) Claimed(turn int, at time.Time) State {
	if turn < cmp.Or(s.Since, s.Turn) || turn > s.Turn {
		return s
	}
	if first := at.UnixMicro(); s.Asked == 0 || first < s.Asked {
		s.Asked = first
	}
	return s
}

// Status is what became of a question.
type Status = api.AnswerStatus

// The statuses.
const (
	Answered   Status = "answered"
	Refused    Status = "refused"
	DontKnow   Status = "dont_know"
	Invalid    Status = "invalid"     // no answer fitted
	Skipped    Status = "skipped"     // not relevant
	NotReached Status = "not_reached" // the conversation ended before
)

// Statuses returns every status.
func Statuses() []Status {
	return []Status{Answered, Refused, DontKnow, Invalid, Skipped, NotReached}
}

// Answer is what became of a question in an interview.
type Answer struct {
	Question string
	Status   Status
	Value    string // as XLSForm stores it: names of choices with spaces between, ISO dates, numbers in digits
	Raw      string // what the person wrote, up to 500 characters

	// Under these an answer is counted. A conversation leaves them to whoever records its answers.
	Day      int    // on which it was recorded, since 1970; 0: not known
	Language string // of the conversation then; empty: not known
}

// Person is whom a conversation is with, as far as the conversation needs it.
type Person struct {
	Attributes map[string]string
	Answers    map[string]Answer // recorded so far
	Mode       string            // in which something is said: sms, mobileweb, ivr, cati
	Now        time.Time         // in the zone of the person
}

// Input is what a person wrote, pressed or chose.
type Input struct {
	Turn       int       // that it answers; 0: not known, as of a text message
	Text       string    //
	ReceivedAt time.Time // of one without a turn
	Identified bool      // the provider names its messages, so that repeated ones are dropped before
}

// Effect is what an input did.
type Effect string

// The effects. Those from EffectIgnored on change neither the question nor its tries.
const (
	EffectAnswered      Effect = "answered"       // with a value, as refused, or as not known
	EffectNotUnderstood Effect = "not_understood" // the question is asked again, or its tries are used up
	EffectLanguage      Effect = "language"       // the question is asked in another language
	EffectAsked         Effect = "asked"          // by Start, Remind, Help or Stop: no input
	EffectIgnored       Effect = "ignored"        // it says nothing: a reaction, a quote, nothing visible
	EffectAppended      Effect = "appended"       // to the text that was the answer before
	EffectEarly         Effect = "early"          // received before the question was sent
	EffectRepeated      Effect = "repeated"       // the same as the last, which was not understood
	EffectStale         Effect = "stale"          // names another turn
	EffectLate          Effect = "late"           // received after the end
)

// Result is what follows an input.
type Result struct {
	State   State
	Effect  Effect
	Answers []Answer // to record; one of the same question replaces the earlier one
	Say     []string // messages to send under State.Turn, in one contact
	Ended   Ending   // set if it ended now
}
