package weir

import (
	"maps"
	"slices"
	"time"
)

// Priority orders the contacts of a channel. Replies go before high, high
// before normal; ageing keeps the lower ones from starving.
type Priority int8

// The priorities, in the order in which they are served.
const (
	Reply Priority = iota
	High
	Normal
)

// State is where a contact stands.
type State int8

// The states of a contact. Queued and Delayed are both "queued" to clients:
// a delayed contact waits for its instant (Progress.DueAt), a queued one for
// its turn. Unknown is a sending whose result was lost.
const (
	Queued State = iota + 1
	Delayed
	Sending
	Active
	Unknown
	Done
)

// InFlight tells whether a contact in this state holds slots of its channel.
func (s State) InFlight() bool { return s == Sending || s == Active || s == Unknown }

// Waiting tells whether a contact in this state has yet to be claimed.
func (s State) Waiting() bool { return s == Queued || s == Delayed }

// String is the word that clients see.
func (s State) String() string {
	switch s {
	case Queued, Delayed:
		return "queued"
	case Sending:
		return "sending"
	case Active:
		return "active"
	case Unknown:
		return "unknown"
	case Done:
		return "done"
	default:
		return "invalid"
	}
}

// Outcome says why a contact is done. The empty outcome means it is not.
type Outcome string

// The outcomes.
const (
	Completed  Outcome = "completed"   // the call was held, the message delivered
	Busy       Outcome = "busy"        // the line was busy
	NoAnswer   Outcome = "no_answer"   // nobody picked up
	Failed     Outcome = "failed"      // the provider refused it or could not deliver it
	Expired    Outcome = "expired"     // its window closed before it went out
	Canceled   Outcome = "canceled"    // a client took it back
	Lost       Outcome = "lost"        // nobody can tell what became of it
	DeadLetter Outcome = "dead_letter" // it failed again and again in a way that is not the provider's
)

// Outcomes lists every outcome, for metric labels and documentation.
func Outcomes() []Outcome {
	return []Outcome{Completed, Busy, NoAnswer, Failed, Expired, Canceled, Lost, DeadLetter}
}

// Call is the content of a voice contact. Exactly one of CallbackURL,
// CallFlowID and TwiML is set.
type Call struct {
	CallbackURL string `json:"callback_url,omitempty"`
	CallFlowID  int64  `json:"call_flow_id,omitempty"`
	TwiML       string `json:"twiml,omitempty"`
}

// Spec is the half of a contact that never changes: what the client asked for.
type Spec struct {
	Key       string // the client's own name for it, unique on the channel; may be empty
	To        string // address as the provider dials it
	Priority  Priority
	Survey    string
	Labels    map[string]string
	Messages  []string // for text channels: one element for each message
	Call      *Call    // for voice channels
	NotBefore time.Time
	NotAfter  time.Time
	For       Respondent
}

// Differences names the fields, as clients write them, in which two specs ask
// for different contacts. Keys and respondents are not compared.
func (s *Spec) Differences(o *Spec) []string {
	var names []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"to", s.To == o.To},
		{"priority", s.Priority == o.Priority},
		{"not_before", s.NotBefore.Equal(o.NotBefore)},
		{"not_after", s.NotAfter.Equal(o.NotAfter)},
		{"survey", s.Survey == o.Survey},
		{"labels", maps.Equal(s.Labels, o.Labels)},
		{"messages", slices.Equal(s.Messages, o.Messages)},
		{"call", s.Call == o.Call || s.Call != nil && o.Call != nil && *s.Call == *o.Call},
	} {
		if !field.same {
			names = append(names, field.name)
		}
	}
	return names
}

// Respondent says for whom, and for which of its contacts in a row, the survey
// broker enqueued a contact. It is zero for contacts of other clients.
type Respondent struct {
	Survey int64
	ID     int64
	Serial int
}

// Size is the number of slots that a contact takes: one for each message, one
// for a call.
func (s *Spec) Size() int { return max(1, len(s.Messages)) }

// Contact is one attempt-able outreach to one address over one channel.
type Contact struct {
	Ref
	Spec
	QueuedAt time.Time // when it was accepted
	Progress
}

// Current is the attempt that is under way or was the last; its Number is 0
// when there was none.
func (c *Contact) Current() Attempt {
	return Attempt{
		Number: c.Attempt, ClaimedAt: c.ClaimedAt, SentAt: c.SentAt, HeardAt: c.HeardAt,
		FinishedAt: c.FinishedAt, ProviderRef: c.ProviderRef, Outcome: c.Outcome, Reason: c.Reason,
	}
}

// AttemptRef names the attempt that is under way.
func (c *Contact) AttemptRef() AttemptRef { return AttemptRef{c.Ref, c.Attempt} }

// Attempt is one hand-over of a contact to its provider. Instants that have
// not come are zero.
type Attempt struct {
	Number      int
	ClaimedAt   time.Time
	SentAt      time.Time
	HeardAt     time.Time
	FinishedAt  time.Time
	ProviderRef string
	Outcome     Outcome // of this attempt; empty when it ended by going back to the queue
	Reason      string
}
