package surveys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/people"
	"weir/surveys/calendar"
	"weir/surveys/questions"
)

// Survey is the stored record of a survey.
type Survey struct {
	ID          int64  // assigned by the store
	Name        string // unique name for clients; [a-z0-9][a-z0-9._-]{0,62}
	Title       string // display name
	State       State
	Cause       Cause        // why it is stopping or done
	Braked      *weir.Braked // it is paused because it paused itself; nil: it did not
	Definition  Definition
	Application Application
	Locked      bool  // users can change nothing but this until it is unlocked; it ends by itself all the same
	Version     int64 // incremented by every change
	Deleting    bool  // its respondents are being removed
	Created     time.Time
	Updated     time.Time
	Launched    time.Time // zero: never
	Ended       time.Time // when it became done
	// Warnings are those of the launch that returned this survey; not stored.
	Warnings []weir.FieldError
}

// Cause is the reason why a survey ended.
type Cause = api.SurveyCause

// The causes.
const (
	Exhausted  Cause = "exhausted"   // no respondent is left to contact
	Reached    Cause = "reached"     // cutoff or quotas
	WindowOver Cause = "window_over" // the last window of its schedule has closed
	ByUser     Cause = "stopped"
	// BudgetSpent: what is left of its budget pays for no further contact.
	BudgetSpent Cause = "budget_spent"
)

// Application is the program that holds the conversation with respondents who
// answer by text. Without a URL no messages are posted.
type Application struct {
	URL    string `json:"url,omitempty" doc:"where messages of respondents are POSTed"`
	Secret string `json:"secret,omitempty" doc:"key of the HMAC-SHA256 in each request; never shown"`
}

// RespondentID is the store's number of a respondent, unique over all surveys.
type RespondentID int64

// respondentPrefix begins the text form of an id.
const respondentPrefix = "r"

// String returns the form in the API, in keys of contacts and in callback URLs.
func (id RespondentID) String() string { return respondentPrefix + strconv.FormatInt(int64(id), 36) }

var errNoRespondent = errors.New("not the id of a respondent")

// ParseRespondentID parses the output of String.
func ParseRespondentID(s string) (RespondentID, error) {
	digits, ok := strings.CutPrefix(s, respondentPrefix)
	n, err := strconv.ParseInt(digits, 36, 64)
	if !ok || err != nil || n <= 0 || RespondentID(n).String() != s {
		return 0, errNoRespondent
	}
	return RespondentID(n), nil
}

// Respondent is the stored record of one person in a survey.
type Respondent struct {
	Survey     int64
	ID         RespondentID
	Rev        int64  // incremented by every change
	Phone      string // E.164, unique in the survey
	Attributes map[string]string
	Bucket     int // index into the quotas, or NoBucket
	Progress
	Contact  weir.Ref  // the latest contact; zero: none
	Said     weir.Ref  // the first contact that says the present question of a conversation; zero: none, or it ended before it was sent
	Reached  time.Time // when the provider accepted the latest contact; zero: none so far
	Added    time.Time
	Started  time.Time // when the status became active
	Finished time.Time // when the status became final
	Updated  time.Time // when anything changed; zero: not since it was added, or by an older version
	// Answers are those to questions, by name; nil: they were not read. A [Move] stores them beside it.
	Answers map[string]questions.Answer
	// Unsaid is set if the present question is known to wait until it is sent. It is not stored.
	Unsaid bool
}

// LastChange returns the instant of the last change of a respondent. Those changed by a
// version that did not record it are taken to have changed at the last known instant.
func (r *Respondent) LastChange() time.Time {
	last := r.Updated
	for _, at := range []time.Time{r.Added, r.Started, r.Reached, r.Finished} {
		last = calendar.LaterOf(last, at)
	}
	return last
}

// FurthestStep returns the last step of the [Funnel] that a respondent has come to. Whoever was
// contacted, or has answered, stays so, whatever comes after.
func (r *Respondent) FurthestStep() Disposition {
	step := r.Disposition.step()
	if r.Furthest != "" && !step.atLeast(r.Furthest) {
		step = r.Furthest
	}
	switch {
	case !r.Reached.IsZero() && !step.atLeast(Contacted):
		return Contacted
	case !r.Started.IsZero() && !step.atLeast(Queued):
		return Queued
	default:
		return step
	}
}

// CameTo reports whether a respondent has come to a step of the [Funnel].
func (r *Respondent) CameTo(step Disposition) bool { return r.FurthestStep().atLeast(step) }

// OutboxKind is the kind of a [OutboxEntry].
type OutboxKind string

// The kinds of outbox entries.
const (
	ContactAccepted OutboxKind = "handed_over" // the provider accepted a contact
	CallAnswered    OutboxKind = "answered"    // the person answered a call
	ContactEnded    OutboxKind = "ended"       // a contact is done
	MessageReceived OutboxKind = "incoming"    // a person sent a message to a channel
)

// OutboxEntry is an outbox entry: an event of a respondent's contact, or an incoming
// message. The store writes it in the transaction of the event and keeps it until
// a [Work] lists it in Taken.
type OutboxEntry struct {
	ID       int64
	Kind     OutboxKind
	At       time.Time
	Channel  weir.ChannelID
	Owner    weir.Owner // of a contact's event: its respondent
	Contact  weir.Ref
	Outcome  weir.Outcome  // of ContactEnded
	Reason   string        // of ContactEnded: the provider's
	Message  weir.Incoming // of MessageReceived
	Result   weir.Result   // of ContactEnded
	Messages int           // of ContactAccepted and ContactEnded: how many the provider has accepted
	Rule     people.Rule   // of ContactEnded: by which it was suppressed
	Turn     int           // of ContactAccepted and ContactEnded: the turn that the contact says; 0: none
	Claimed  time.Time     // with a turn: when the contact was first claimed, if the report is about that attempt
}

// Accepted reports whether an entry proves that the provider accepted its contact.
func (n *OutboxEntry) Accepted() bool {
	switch n.Kind {
	case ContactAccepted, CallAnswered:
		return true
	case ContactEnded:
		return n.Messages > 0 || slices.Contains([]weir.Outcome{weir.Completed, weir.Busy, weir.NoAnswer}, n.Outcome)
	default:
		return false
	}
}

// Heard is what a message means to the survey of the respondent who sent it.
type Heard struct {
	// Decides reports whether the survey decides what the message says: the respondent is in a
	// conversation, or it is a stop word of the survey.
	Decides bool
	Says    people.Said // then; empty: it is an answer
	Found   string      // of [people.SaidMaybe]: by which word or phrase
	Purpose string      // of the survey; empty: the default, or the sender is no respondent
}

// Events of the log that have a meaning for its readers.
const (
	LogEnqueued    = "enqueued"
	LogDisposition = "disposition"
	LogMessage     = "message"
	LogReply       = "reply"
	LogStopped     = "stopped"
)

// The other events of the log, beside the kinds of outbox entries. The words are in stored logs
// and in exports: they stay, whatever the code calls these events.
const (
	logCanceled = "withdrawn"
	logFinished = "finished"
	logDeferred = "stumbled"
	logSkipped  = "skipped"

	reasonOptedOut = "opted out" // as contacts' reasons say it
)

// LogEntry is an entry of a survey's log.
type LogEntry struct {
	ID         int64 // assigned by the store, in order
	At         time.Time
	Respondent RespondentID
	Event      string // [LogEnqueued], "handed_over", "ended", [LogDisposition], [LogMessage], "finished", …
	Mode       Mode
	Channel    string
	Attempt    int
	Outcome    weir.Outcome
	Reason     string      // of "ended": the provider's; of "finished": whether the respondent opted out
	From, To   Disposition // of "disposition" and "finished"
}

// Tokens makes a token for each respondent: the id and a code that only this
// installation can compute. Ids of an import are consecutive and can be guessed,
// tokens cannot.
type Tokens struct{ key []byte }

// NewTokens returns the Tokens of a secret key.
func NewTokens(key []byte) Tokens { return Tokens{key} }

// tokenBytes is the number of bytes of the HMAC in a token.
const tokenBytes = 16

// Of returns the token of a respondent; without a key it is only the id.
func (t Tokens) Of(id RespondentID) string {
	if len(t.key) == 0 {
		return id.String()
	}
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte("respondent " + id.String()))
	return id.String() + "-" + hex.EncodeToString(mac.Sum(nil)[:tokenBytes])
}

// Person returns the data of a respondent for templates.
func (t Tokens) Person(r *Respondent) Person {
	return Person{ID: r.ID.String(), Token: t.Of(r.ID), Phone: r.Phone, Attributes: r.Attributes}
}

// Parse parses an id or a token. It rejects a token with another code.
func (t Tokens) Parse(s string) (RespondentID, error) {
	text, _, token := strings.Cut(s, "-")
	id, err := ParseRespondentID(text)
	if err == nil && token && !hmac.Equal([]byte(s), []byte(t.Of(id))) {
		return 0, errNoRespondent
	}
	return id, err
}
