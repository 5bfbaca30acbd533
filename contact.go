package weir

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
)

// ChannelID is the store's number of a channel. Clients use the channel's
// name.
type ChannelID int64

// ContactID orders the contacts of a channel by acceptance. It is unique
// within its channel; [Ref] is unique everywhere.
type ContactID int64

// Ref identifies one contact. Its text form contains the channel's number, so
// that the row of a callback is found without an extra index.
type Ref struct {
	Channel ChannelID
	ID      ContactID
}

// String returns the form that clients and providers see: lower-case base 36,
// channel and contact joined by a hyphen, at most 24 characters.
func (r Ref) String() string {
	return strconv.FormatInt(int64(r.Channel), 36) + "-" + strconv.FormatInt(int64(r.ID), 36)
}

// ParseRef parses the output of [Ref.String]. It rejects everything else,
// including other spellings of the same number.
func ParseRef(s string) (Ref, error) {
	channel, id, ok := strings.Cut(s, "-")
	if !ok {
		return Ref{}, fmt.Errorf("contact id %q: want two parts joined by a hyphen", clip(s))
	}
	c, errC := strconv.ParseInt(channel, 36, 64)
	n, errN := strconv.ParseInt(id, 36, 64)
	r := Ref{ChannelID(c), ContactID(n)}
	if errC != nil || errN != nil || c <= 0 || n <= 0 || r.String() != s {
		return Ref{}, fmt.Errorf("contact id %q is not one of ours", clip(s))
	}
	return r, nil
}

// AttemptRef identifies one dispatch of a contact to its provider. Callbacks
// carry it. Number counts from 1; 0 stands for the current attempt, which is
// right for providers that deduplicate contacts themselves.
type AttemptRef struct {
	Ref
	Number int
}

// String returns the contact's id, a hyphen and the number.
func (a AttemptRef) String() string {
	return a.Ref.String() + "-" + strconv.Itoa(a.Number)
}

// ParseAttemptRef parses the output of [AttemptRef.String].
func ParseAttemptRef(s string) (AttemptRef, error) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return AttemptRef{}, fmt.Errorf("attempt id %q: want three parts joined by hyphens", clip(s))
	}
	r, err := ParseRef(s[:i])
	if err != nil {
		return AttemptRef{}, err
	}
	n, err := strconv.Atoi(s[i+1:])
	a := AttemptRef{r, n}
	if err != nil || n < 1 || a.String() != s {
		return AttemptRef{}, fmt.Errorf("attempt id %q is not one of ours", clip(s))
	}
	return a, nil
}

// clip bounds the length of foreign text in an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

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
	Suppressed Outcome = "suppressed"  // it was not dispatched, for the sake of the person; the reason says why
)

// Outcomes returns every outcome, for metric labels and documentation.
func Outcomes() []Outcome {
	return []Outcome{Completed, Busy, NoAnswer, Failed, Expired, Canceled, Lost, DeadLetter, Suppressed}
}

// Call is the content of a voice contact, as the API has it.
type Call = api.Call

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
	Purpose   string // what it is for, which decides which rules hold; empty: the default
	TimeZone  string // IANA zone of the person; empty: that of the number
	Owner     Owner
	// Trace is the trace context of the request that brought it, if its spans belong
	// there: see internal/tracing. It is no part of what the client asks for.
	Trace string
}

// Differences returns the names, as clients write them, of the fields in which
// two specs ask for different contacts. Keys, owners and traces are not compared.
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
		{"purpose", s.Purpose == o.Purpose},
		{"time_zone", s.TimeZone == o.TimeZone},
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

// Owner identifies the part of Weir that sent a contact and receives its outcome. The queue
// stores it without interpreting it. It is zero for contacts of clients.
//
// The survey broker's contacts have the survey as Group, the respondent as ID, and the
// contact's number in that respondent's sequence, from 1, as Serial; a reply in a
// conversation has the number 0. See also [Confirming].
type Owner struct {
	Group  int64
	ID     int64
	Serial int
}

// confirming is the serial of contacts that confirm a refusal. It is none of a respondent's,
// so that such a contact is no dead letter either, which could be queued again.
const confirming = -1

// Confirming returns the owner of the contact that confirms a refusal to the person who has
// refused. Weir alone makes it: requests of clients have no owner.
func Confirming(consent int64) Owner { return Owner{Group: consent, Serial: confirming} }

// Confirms returns the id of the consent that a contact confirms; 0: it confirms none.
func (o Owner) Confirms() int64 {
	if o.ID == 0 && o.Serial == confirming {
		return o.Group
	}
	return 0
}

// Size is the number of slots that a contact needs: one per message, one for a
// call.
func (s *Spec) Size() int { return max(1, len(s.Messages)) }

// Lane is the share of a channel's queue that one survey has at one priority.
// Lanes of one priority are served in turn.
type Lane int64

const laneBits = 56

// LaneOf returns the lane of a priority and survey. Two surveys may share a
// lane (probability 2^-56); then they share one turn.
func LaneOf(p Priority, survey string) Lane {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(survey) {
		h = (h ^ uint64(survey[i])) * prime
	}
	h ^= h >> laneBits
	return Lane(int64(p)<<laneBits | int64(h&(1<<laneBits-1)))
}

// Priority returns the priority of the lane's contacts.
func (l Lane) Priority() Priority { return Priority(l >> laneBits) }

// Lane returns the lane in which a contact waits.
func (s *Spec) Lane() Lane { return LaneOf(s.Priority, s.Survey) }

// Contact is one outreach to one address over one channel, in any number of attempts.
type Contact struct {
	Ref
	Spec
	QueuedAt time.Time // when Weir accepted it
	Progress
}

// AcceptedMessages returns how many messages of the contact a provider has accepted.
func (c *Contact) AcceptedMessages() int {
	if c.SentAt.IsZero() && c.Outcome != Completed {
		return 0
	}
	return len(c.Messages)
}

// AttemptRef returns the reference of the attempt that is under way.
func (c *Contact) AttemptRef() AttemptRef { return AttemptRef{c.Ref, c.Attempt} }

// DeadOutcomes returns the outcomes that make a dead letter: an operator should
// inspect the contact, because neither the person nor the client ended it. A
// busy line, an unanswered call, a closed window and a cancellation make none.
func DeadOutcomes() []Outcome { return []Outcome{Failed, Lost, DeadLetter} }

// Dead reports whether a contact is a dead letter: it ended in one of
// [DeadOutcomes] and has no survey that retries it. A survey handles the
// failed contacts of its respondents itself, but not replies.
func (c *Contact) Dead() bool {
	return c.State == Done && c.Owner.Serial == 0 && (c.Outcome == Failed || c.Outcome == Lost || c.Outcome == DeadLetter)
}
