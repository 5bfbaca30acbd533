package simulator

import (
	"cmp"
	"net/http"
	"time"
)

// Outcomes of a message, for [Options.Outcomes].
const (
	Confirmed     = "confirmed"      // queued, delivered, confirmed; two acks. The default
	Delivered     = "delivered"      // queued, delivered; one ack
	ConfirmedOnly = "confirmed_only" // queued, confirmed; one ack
	Reversed      = "reversed"       // as Confirmed, the acks in the wrong order
	Twice         = "twice"          // as Delivered, the ack twice
	Failed        = "failed"         // queued, failed; one ack
	Failover      = "failover"       // failed, then delivered by another route; two acks
	DelayedFirst  = "delayed"        // queued, delayed, queued, delivered
	Canceled      = "canceled"       // by a rule; no ack
	Cancelled     = "cancelled"      // by a user; no ack
	NullState     = "null"           // a state that Nuntium does not know; no ack
	Stuck         = "stuck"          // queued forever
	Crash         = "crash"          // the request ends with 500 here; this message and the later ones of the batch are not stored
)

// Options configures the simulated Nuntium. The zero value works: account
// "demo", application "weir" with password "secret" and token "token", channel
// "sms".
type Options struct {
	Account      string
	Password     string // of the account; empty: the account cannot log in
	Applications []Application
	Channels     []Channel

	Outcomes []string // rules: "failed:0.1", "null:*7"; see simulation.Rule
	Faults   []string // rules; see simulation.Faults
	Seed     uint64

	QueueTime   time.Duration // pending to queued
	DeliverTime time.Duration // queued to its next state
	ConfirmTime time.Duration // delivered to confirmed
	// TimeScale scales the minutes between the repetitions of acks and incoming
	// messages: 0.001 makes a minute 60 ms. 0 means 1.
	TimeScale float64
	// PurgeAfter is how long a message is kept, and how long an incoming one is known; 0: forever.
	// It has to be longer than a client may ask for a message or repeat it. With it the records
	// list no incoming messages and do not count those that are alike.
	PurgeAfter time.Duration

	// Taken, if not nil, is called with each message that a channel takes, under the lock of the simulator.
	Taken func(guid, to, body string)

	Callbacks int          // max concurrent callbacks; 0: the sender's default
	Client    *http.Client // for callbacks; nil: its own
}

// Application is one application of the account.
type Application struct {
	Name      string    `json:"name"`
	Password  string    `json:"-"`
	Tokens    []string  `json:"-"` // OAuth2 bearer tokens of the client with the application's name
	Interface Interface `json:"interface"`
	Ack       Ack       `json:"delivery_ack"`
}

// Interface configures where incoming messages are delivered.
type Interface struct {
	Type     string `json:"type,omitempty"` // http_get_callback, http_post_callback, rss, qst_client
	URL      string `json:"url,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// Ack configures where delivery acks are sent.
type Ack struct {
	Method   string `json:"method,omitempty"` // none, get, post
	URL      string `json:"url,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// Channel is one outgoing route. As with Nuntium, its JSON omits blank and
// false fields.
type Channel struct {
	Name        string `json:"name"`
	Kind        string `json:"kind,omitempty"`
	Protocol    string `json:"protocol,omitempty"`
	Enabled     bool   `json:"enabled,omitempty"`
	Priority    int    `json:"priority,omitempty"`
	Address     string `json:"address,omitempty"`
	Direction   string `json:"direction,omitempty"`
	Application string `json:"application,omitempty"` // empty: shared by all applications
	Connected   bool   `json:"connected,omitempty"`   // shown only for kinds that keep a connection
	Account     string `json:"account,omitempty"`
	Queued      int    `json:"queued_ao_messages_count,omitempty"`
}

func (o Options) withDefaults() Options {
	o.Account = cmp.Or(o.Account, "demo")
	if len(o.Applications) == 0 {
		o.Applications = []Application{{Name: "weir", Password: "secret", Tokens: []string{"token"}}}
	}
	if len(o.Channels) == 0 {
		o.Channels = []Channel{{Name: "sms", Enabled: true}}
	}
	if o.TimeScale == 0 {
		o.TimeScale = 1
	}
	return o
}

func outcomeNames() []string {
	return []string{
		Confirmed, Delivered, ConfirmedOnly, Reversed, Twice, Failed, Failover,
		DelayedFirst, Canceled, Cancelled, NullState, Stuck, Crash,
	}
}
