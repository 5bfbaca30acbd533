// Package channels says what a channel type is: how contacts are handed to an
// external provider, asked about, taken back, and how the provider's callbacks
// are read. One folder holds each type; package all holds the table of types.
//
// A driver keeps no state about contacts. It may be called from many
// goroutines, and every call ends when its context does.
package channels

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"weir"
)

// Content is the kind of content that a channel type carries.
type Content int

// The kinds of content.
const (
	Text  Content = iota + 1 // Spec.Messages
	Voice                    // Spec.Call
	// Any: either of them, both or neither; for channels to people, who can
	// deal with a text as with a link.
	Any
)

// Carries says whether channels of this type carry a kind of content.
func (t *Type) Carries(c Content) bool { return t.Content == c || t.Content == Any }

// Type describes a channel type. The table of types is the only place that
// lists them.
type Type struct {
	Name    string // "verboice"
	Content Content
	Summary string // one line for people
	// Settings are the keys that a channel of this type takes beside the
	// common ones.
	Settings []Setting
	// Check finds mistakes that concern several settings at once. It may be
	// nil. Pointers are relative to the settings object ("/token").
	Check func(weir.Settings) []weir.FieldError
	// Account names the provider account of a channel, and Line the provider's
	// line that it uses, where all channels of one account share one callback
	// address at the provider: then what is said about one arrives at the
	// address of another. Both are nil where each channel has its own.
	Account func(weir.Settings) string
	Line    func(weir.Settings) string
	// New makes the driver of one channel. Settings were checked.
	New func(Config) (Driver, error)
}

// Kind is the JSON type of a setting.
type Kind string

// The kinds of settings.
const (
	String  Kind = "string"
	URL     Kind = "url" // http or https, with a host
	Integer Kind = "integer"
	Boolean Kind = "boolean"
)

// Setting is one key of a channel's settings.
type Setting struct {
	Key      string
	Kind     Kind
	Required bool
	Secret   bool // written, never read back
	// Place says that it tells where the provider has what it was given: asked
	// elsewhere about an attempt, it would know nothing, or a stranger's call.
	// Secrets go there, too: they are given anew when it changes.
	Place bool
	Help  string
}

// Config is what a driver is made from.
type Config struct {
	Settings weir.Settings
	// CallbackURL is the base of this channel's callbacks, without a slash at
	// the end: PUBLIC_URL/callbacks/{channel}/{secret}. A driver appends paths
	// of its own and finds them again in Callback.Path.
	CallbackURL string
	// HTTP is the client to use. It has no timeout of its own; contexts have.
	HTTP *http.Client
}

// Driver talks to one provider account.
type Driver interface {
	// Send hands an attempt over. It never returns an error: a result that is
	// not certain is a result.
	Send(ctx context.Context, a Attempt) Sent
	// Ask finds out what became of an attempt.
	Ask(ctx context.Context, a Attempt) Answer
	// Cancel takes an attempt back, as far as the provider can.
	Cancel(ctx context.Context, a Attempt) Cancellation
	// Read understands a callback. It does no I/O. An error means that the
	// request is not one that this provider makes; it is answered 400.
	Read(c Callback) (Reading, error)
	// Prepare sets the provider up (callback addresses and the like) before
	// the first contact. It may be repeated at any time.
	Prepare(ctx context.Context) error
	// Status asks whether the provider's side of the channel works.
	Status(ctx context.Context) Status
}

// Attempt is what a driver is told about a contact.
type Attempt struct {
	ID          weir.AttemptRef
	To          string
	Priority    weir.Priority
	Survey      string
	Labels      map[string]string // not to be changed
	Messages    []string
	Call        *weir.Call
	NotBefore   time.Time
	NotAfter    time.Time
	ProviderRef string // what Sent or a report gave, if anything did
}

// Fate is the certain part of a Send's result.
type Fate int

// The fates.
const (
	// Accepted: the provider has it.
	Accepted Fate = iota + 1
	// Refused: the provider does not want this contact, now or ever. Outcome
	// says how the contact ends.
	Refused
	// NotSent: the provider certainly does not have it; it may be tried again.
	NotSent
	// Unclear: the provider may or may not have it.
	Unclear
)

// Sent is the result of a Send.
type Sent struct {
	Fate        Fate
	ProviderRef string
	Outcome     weir.Outcome // of Refused: Failed or Expired
	Reason      string       // short, stable, without numbers, names or secrets
	// ChannelFault says that the cause is the provider or our account there,
	// not this contact. It opens the channel's breaker and is not counted
	// against the contact.
	ChannelFault bool
	RetryAfter   time.Duration // as the provider asked for; 0: it did not
	// Answered says of Unclear that the provider answered, so that nothing is
	// under way there any more.
	Answered bool
}

// Knowledge is the certain part of an Ask's result.
type Knowledge int

// What is known.
const (
	// Underway: the provider has it and it is not over.
	Underway Knowledge = iota + 1
	// Over: it has ended; Reports say how.
	Over
	// Absent: the provider certainly does not have it.
	Absent
	// CannotTell: this provider has no way to tell.
	CannotTell
	// AskFailed: the provider could not be asked. Asking later may help.
	AskFailed
)

// Answer is the result of an Ask.
type Answer struct {
	Knowledge   Knowledge
	ProviderRef string
	// Reports are what the provider said: of an attempt that is Over its end,
	// of one Underway the parts that have ended.
	Reports []weir.Report
	Reason  string
	// Partial says of Absent that the provider took some of the contact's
	// messages, that these have ended, and that handing the contact over again
	// brings only the missing ones. It may be queued again even if it was
	// active.
	Partial bool
	// Silent qualifies Underway: the provider has it but reports no progress, so
	// that it is given up as early as one of unknown outcome.
	Silent bool
	// Bounded qualifies Underway: the provider ends every attempt by itself, so
	// that no limit of Weir's applies.
	Bounded bool
}

// Cancellation is the result of a Cancel.
type Cancellation struct {
	// Gone: the provider will not carry it out and sends no word of it.
	// Otherwise the contact keeps its slots until its end is reported.
	Gone   bool
	Failed bool // the provider could not be asked; try again
	Reason string
}

// Callback is an inbound request of a provider whose secret was right.
type Callback struct {
	Method string
	Path   string     // below the secret, without a leading slash
	Query  url.Values // of the URL
	Form   url.Values // of a form body; nil otherwise
	Body   []byte     // of any other body
	At     time.Time
}

// Reading is what a callback means and how it is to be answered once that is
// durable.
type Reading struct {
	Reports     []weir.Report
	Incoming    []weir.Incoming
	ContentType string // of Body; empty: no body
	Body        []byte
}

// Status says whether the provider's side works.
type Status struct {
	Health weir.Health // Up, Down or Erring
	Reason string
}
