package weir

import (
	"maps"
	"slices"
	"time"
)

// Priority orders the contacts of a channel: reply before high, high before
// normal. Aging keeps the lower ones from starving.
type Priority int8

// The priorities, in the order in which they are served.
const (
	Reply Priority = iota
	High
	Normal
)

// State is the state of a contact.
type State int8

// The states of a contact. Queued and Delayed are both "queued" to clients:
// a delayed contact waits for its instant (Progress.DueAt), a queued one for
// its turn. Unknown is a dispatch whose result was lost.
const (
	Queued State = iota + 1
	Delayed
	Sending
	Active
	Unknown
	Done
)

// InFlight reports whether a contact in this state holds slots of its channel.
func (s State) InFlight() bool { return s == Sending || s == Active || s == Unknown }

// Waiting reports whether a contact in this state has yet to be claimed.
func (s State) Waiting() bool { return s == Queued || s == Delayed }

// String returns the state as clients see it.
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

// Outcome is the result of a contact that is done. It is empty until then.
type Outcome string

// The outcomes.
const (
	Completed  Outcome = "completed"   // the call took place, or the message was delivered
	Busy       Outcome = "busy"        // the line was busy
	NoAnswer   Outcome = "no_answer"   // the call was not answered
	Failed     Outcome = "failed"      // the provider rejected it or could not deliver it
	Expired    Outcome = "expired"     // its window closed before it was dispatched
	Canceled   Outcome = "canceled"    // a client canceled it
	Lost       Outcome = "lost"        // its result could not be determined
	DeadLetter Outcome = "dead_letter" // it failed repeatedly for a reason other than the provider's
)

// Outcomes returns every outcome, for metric labels and documentation.
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

// Spec is the immutable half of a contact: the client's request.
type Spec struct {
	Key       string // idempotency key of the client, unique on the channel; may be empty
	To        string // address as the provider dials it
	Priority  Priority
	Survey    string
	Labels    map[string]string
	Messages  []string // for text channels: one element per message
	Call      *Call    // for voice channels
	NotBefore time.Time
	NotAfter  time.Time
	For       Respondent
	// Trace is the trace context of the request that brought it, if its spans belong
	// there: see internal/tracing. It is no part of what the client asks for.
	Trace string
}

// Differences returns the names, as clients write them, of the fields in which
// two specs ask for different contacts. Keys, respondents and traces are not compared.
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

// Respondent identifies the respondent for which the survey broker enqueued a
// contact, and the contact's number in that respondent's sequence. It is zero
// for contacts of other clients.
type Respondent struct {
	Survey int64
	ID     int64
	Serial int
}

// Size is the number of slots that a contact needs: one per message, one for a
// call.
func (s *Spec) Size() int { return max(1, len(s.Messages)) }

// Contact is one outreach to one address over one channel, in any number of attempts.
type Contact struct {
	Ref
	Spec
	QueuedAt time.Time // when Weir accepted it
	Progress
}

// AttemptRef returns the reference of the attempt that is under way.
func (c *Contact) AttemptRef() AttemptRef { return AttemptRef{c.Ref, c.Attempt} }

// DeadOutcomes returns the outcomes that make a dead letter: an operator should
// inspect the contact, because neither the person nor the client ended it. A
// busy line, an unanswered call, a closed window and a cancellation make none.
func DeadOutcomes() []Outcome { return []Outcome{Failed, Lost, DeadLetter} }

// Dead reports whether a contact is a dead letter: it ended in one of
// [DeadOutcomes] and has no survey that retries it. A survey handles the
// failed contacts of its respondents itself.
func (c *Contact) Dead() bool {
	return c.State == Done && c.For.ID == 0 && (c.Outcome == Failed || c.Outcome == Lost || c.Outcome == DeadLetter)
}
