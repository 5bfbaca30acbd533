// Package channels defines what a channel type provides: how contacts are
// dispatched to an external provider, asked about and canceled, and how the
// provider's callbacks are read. One folder holds each type; package all holds
// the table of types.
//
// A driver keeps no state about contacts. It may be called from many
// goroutines, and every call ends when its context does.
//
// The core derives from a driver's results what happens to the contact and the
// channel:
//
//	Accepted                     in flight until a report, an answer or a time limit ends it
//	Refused                      done, with Outcome and Reason
//	NotSent, ChannelFault        keeps its place, but others are tried before; counts for the breaker; RetryAfter pauses the channel.
//	                             Reason RateLimited also lowers the channel's rate limit for a while
//	NotSent, Later               delayed for RetryAfter, as often as it takes; neither is at fault
//	NotSent                      delayed; after the fifth failure a dead letter
//	Unclear                      keeps its slots; Query decides, or a report
//
// A driver is not asked to pace itself: capacity and rate limit are in the core.
// Reasons that several types share are constants of this package. Callbacks that
// the provider signs are checked in ParseCallback, with Callback.URL, Header and
// Body; use only unreserved characters in the paths of callbacks, because proxies
// rewrite others.
package channels

import (
	"context"
	"errors"
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
	// handle a text as well as a link.
	Any
)

// Carries reports whether channels of this type carry a kind of content.
func (t *Type) Carries(c Content) bool { return t.Content == c || t.Content == Any }

// Type describes a channel type. The table of types is the only place that
// lists them.
type Type struct {
	Name    string // "verboice"
	Content Content
	Summary string // one line, shown to users
	// SetUp lists the steps at the provider that a channel needs, each a sentence or two for
	// people who fill in its settings.
	SetUp []string
	// Settings are the keys that a channel of this type takes in addition to the
	// common ones.
	Settings []Setting
	// Check finds mistakes that concern several settings at once. It may be
	// nil. Pointers are relative to the settings object ("/token").
	Check func(weir.Settings) []weir.FieldError
	// Callbacks are the paths below the channel's callback address at which providers call
	// back. Any other is answered 404; nil: the provider never calls back.
	Callbacks []CallbackPath
	// Address checks the address of a contact and returns its canonical form, which
	// is stored, searched for and given to the driver. The error states what is
	// allowed and does not repeat the address. Nil: PhoneNumber. The form of a phone
	// number has to stay that of PhoneNumber: surveys dispatch to numbers as in
	// E.164 on channels of every type.
	Address func(string) (string, error)
	// Account returns the provider account of a channel, and Line the provider's
	// line that it uses, for types whose channels of one account share one callback
	// address at the provider: a callback about one channel may then arrive at the
	// address of another. Both are nil if each channel has its own address.
	Account func(weir.Settings) string
	Line    func(weir.Settings) string
	// Guarded channels call whatever address their settings name, so that they need the
	// guard of outgoing calls, as webhooks do.
	Guarded bool
	// Shared: what a channel sends to is named by its settings and belongs to the installation,
	// such as a queue of the router, so that rights which are limited to names of channels are
	// not enough to choose it.
	Shared bool
	// New returns the driver of one channel. The settings were checked.
	New func(Config) (Driver, error)
	// Templates are settings that channels of this type can start from; nil: there is none.
	Templates []Template
}

// CallbackPath is a path of callbacks, below the callback address of a channel.
type CallbackPath struct {
	Path string // segments; one in braces, such as {attempt}, stands for any
	// ByHand says what arrives there, for people who have to give this address to the provider;
	// empty: Weir gives it.
	ByHand string
}

// Template is a setting's value that comes with the program, for one provider.
type Template struct {
	Name    string // "vonage"
	Summary string // one line, shown to users
	SetUp   []string
	Key     string // of the setting
	Value   []byte // JSON
	// Values and Secrets are the names that the channel must give texts for, in its settings
	// values and secrets.
	Values, Secrets []string
}

// Kind is the JSON type of a setting.
type Kind string

// The kinds of settings.
const (
	String  Kind = "string"
	URL     Kind = "url" // http or https, with a host
	Integer Kind = "integer"
	Boolean Kind = "boolean"
	Object  Kind = "object" // or a text that holds one, as JSON
)

// Setting is one key of a channel's settings.
type Setting struct {
	Key      string
	Kind     Kind
	Required bool
	Secret   bool // write-only: never read back
	// Place marks a setting that determines where the provider has what it was
	// given: asked elsewhere about an attempt, it would know nothing, or report
	// on a different call. Secrets are sent there too, so they must be given
	// again when it changes.
	Place bool
	Help  string
	// Default is the value that an absent setting has, as a text; empty: Help describes it, or
	// there is none.
	Default string
	// Values are the texts that a setting can have; nil: it is not one of a few.
	Values []string
}

// Config is the input for a new driver.
type Config struct {
	Settings weir.Settings
	// CallbackURL is the base of this channel's callbacks, without a trailing
	// slash: PUBLIC_URL/callbacks/{channel}/{secret}. A driver appends paths
	// of its own and finds them again in Callback.Path.
	CallbackURL string
	// HTTP is the client to use. It has no timeout of its own; contexts have.
	HTTP *http.Client
}

// Driver talks to one provider account.
type Driver interface {
	// Send dispatches an attempt. It never returns an error: an uncertain outcome
	// is a result, too.
	Send(ctx context.Context, a Attempt) SendResult
	// Query finds out the outcome of an attempt.
	Query(ctx context.Context, a Attempt) Answer
	// Cancel cancels an attempt, as far as the provider can.
	Cancel(ctx context.Context, a Attempt) Cancellation
	// ParseCallback interprets a callback. It does no I/O. An error means that the
	// request is not one that this provider makes; it is answered 400. A signature is checked
	// before anything else: it is called for unknown paths, too, whose result does not count.
	ParseCallback(c Callback) (CallbackResult, error)
	// Prepare sets the provider up (callback addresses and the like) before
	// the first contact. It may be repeated at any time.
	Prepare(ctx context.Context) error
	// Status reports whether the provider's side of the channel works.
	Status(ctx context.Context) Status
}

// Attempt holds everything that a driver receives about a contact.
type Attempt struct {
	ID          weir.AttemptRef
	To          string
	Priority    weir.Priority
	Survey      string
	Labels      map[string]string // read-only
	Messages    []string
	Call        *weir.Call
	NotBefore   time.Time
	NotAfter    time.Time
	ProviderRef string // from SendResult or a report, if either returned one
	// ClaimedAt is when the attempt began: no trace of it at the provider is older.
	ClaimedAt time.Time
	Trace     string // see weir.Spec; providers do not get it
}

// SendStatus is the certain part of a Send's result.
type SendStatus int

// The values of SendStatus.
const (
	// Accepted: the provider has it.
	Accepted SendStatus = iota + 1
	// Refused: the provider does not accept this contact, now or ever. Outcome
	// is the contact's outcome.
	Refused
	// NotSent: the provider certainly does not have it; it may be retried.
	NotSent
	// Unclear: the provider may or may not have it.
	Unclear
)

// SendResult is the result of a Send.
type SendResult struct {
	Status      SendStatus
	ProviderRef string
	Outcome     weir.Outcome // of Refused: Failed or Expired; of Accepted: Completed if nothing more is reported
	Reason      string       // OptedOut and the like where they fit; short, stable, without numbers, names or secrets
	// ChannelFault means that the cause is the provider or our account there,
	// not this contact. It counts for the channel's breaker and not against the
	// contact.
	ChannelFault bool
	// Later qualifies NotSent: the provider does not take this recipient now, for
	// a limit per recipient or the like, and neither the channel nor the contact is
	// at fault. It opens no breaker and is not counted towards a dead letter: the
	// contact is delayed for RetryAfter, and longer with each attempt.
	Later      bool
	RetryAfter time.Duration // as requested by the provider; 0: none
	// Answered qualifies Unclear: the provider answered, so that nothing is under
	// way there any more.
	Answered bool
}

// QueryStatus is the certain part of a Query's result.
type QueryStatus int

// The values of QueryStatus.
const (
	// Underway: the provider has it and it is not done.
	Underway QueryStatus = iota + 1
	// Finished: it is done; Reports hold its outcome.
	Finished
	// Absent: the provider certainly does not have it.
	Absent
	// CannotTell: this provider has no way to find out.
	CannotTell
	// QueryFailed: the provider could not be asked. A later retry may help.
	QueryFailed
)

// Answer is the result of a Query.
type Answer struct {
	Status      QueryStatus
	ProviderRef string
	// Reports hold the provider's information: the end of an attempt that is
	// Finished, the parts that are done of one Underway.
	Reports []weir.Report
	Reason  string
	// Partial qualifies Absent: the provider accepted some of the contact's
	// messages, these are done, and another dispatch of the contact sends only
	// the missing ones. It may be queued again even if it was active.
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
	// Canceled: the provider will not carry it out and sends no report of it.
	// Otherwise the contact keeps its slots until its end is reported.
	Canceled bool
	Failed   bool // the provider could not be asked; retry
	Reason   string
}

// Callback is an inbound request of a provider with a valid secret. Its fields are
// the request's own memory: read-only, and valid only during ParseCallback.
type Callback struct {
	Method string
	Path   string     // below the secret, spelled as the type declares it, without slashes around it
	Query  url.Values // of the URL
	Form   url.Values // of a form body, repeated and empty values included; nil otherwise
	Body   []byte     // as received, also of a form
	// Header holds the request's headers without cookies and a proxy's
	// credentials. Clients and proxies write them: only a checked signature makes
	// one trustworthy.
	Header http.Header
	// PublicURL is where providers reach this program, without a trailing slash,
	// and Target the path and query below it, byte for byte as received.
	PublicURL, Target string
	At                time.Time
}

// URL returns the address that the provider called, for signatures over it.
// Proxies may rewrite scheme, host and path prefix of a request, so these are
// the ones that Weir gives to providers. It holds the channel's secret.
func (c *Callback) URL() string { return c.PublicURL + c.Target }

// ErrForged is the error of ParseCallback for a callback whose signature is
// wrong or missing. It is answered 403, counted as forged, and nothing of it is
// applied.
var ErrForged = errors.New("the callback's signature is wrong")

// ErrPath is the error of ParseCallback for a path at which nothing arrives with the settings
// of the channel. It is answered 404, and counted as an unknown path.
var ErrPath = errors.New("there are no callbacks at this path")

// CallbackResult is the meaning of a callback, and the answer to send once that is
// durable. A check by GET (an echoed challenge) is one with a Body alone.
type CallbackResult struct {
	Reports     []weir.Report
	Incoming    []weir.Incoming
	Consents    []Consent
	ContentType string // of Body; empty: no body
	Body        []byte
}

// Consent is a report of a provider that a person has refused, or is back. It concerns the
// provider's own sender or service, so that it counts over the channel alone.
type Consent struct {
	Address string
	Refused bool
	ID      string // of the notice, so that a repeated one changes nothing; may be empty
	At      time.Time
}

// Status reports whether the provider's side works.
type Status struct {
	Health weir.Health // Up, Down or Erring
	Reason string
	// Unchecked qualifies Up: the provider was not asked, because these settings name no way to.
	Unchecked bool
}
