package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Outcomes of a message, for [Options.Outcomes].
const (
	Delivered = "delivered" // the SMSC takes it, the handset gets it: 8, 1. The default
	Sent      = "sent"      // 8, and no receipt ever
	Failed    = "failed"    // 8, 2
	Expired   = "expired"   // 8, 2 with stat:EXPIRED
	Buffered  = "buffered"  // 8, 4, 1
	Refused   = "refused"   // 16, with the SMPP status of a bad number
	Reversed  = "reversed"  // 1, 8
	Silent    = "silent"    // taken by the SMSC, and never a report
)

// The states of a link.
const (
	Online       = "online"
	Reconnecting = "re-connecting" // messages wait in Kannel's queue
	Dead         = "dead"          // stopped: messages are not routable
)

// Options configures the simulated Kannel. The zero value works: user "weir" with
// password "secret", one online link "SMSC" for all numbers.
type Options struct {
	Username, Password string
	StatusPassword     string // empty: status.xml is open, as it is with Kannel
	GlobalSender       string // for requests without a sender; default 100
	NoGlobalSender     bool
	Links              []Link

	Outcomes []string // rules: "failed:0.1", "silent:*7"; see simulation.Rule
	Faults   []string // rules; see simulation.Faults
	Seed     uint64

	SendTime    time.Duration // from the queue to the SMSC
	DeliverTime time.Duration // from the SMSC to the final receipt

	// Retries is http-request-retry: how often a report or a message from a person
	// is repeated that was not answered 200 or 202. RetryDelay is http-queue-delay,
	// by default 10 s.
	Retries    int
	RetryDelay time.Duration

	// IncomingURL is the get-url of the service for messages from people, with
	// Kannel's escapes.
	IncomingURL string

	Callbacks int          // max concurrent callbacks; 0: the sender's default
	Client    *http.Client // for callbacks; nil: its own
}

// Link is one connection to an SMSC.
type Link struct {
	ID       string
	Prefixes []string // of the numbers that it takes; none: all
	State    string   // empty: Online
	// NamedOnly is allowed-smsc-id: the link takes only messages that name it. Other
	// links take any message, even one that names another link.
	NamedOnly bool
}

func (o Options) withDefaults() (Options, error) {
	o.Username, o.Password = cmp.Or(o.Username, "weir"), cmp.Or(o.Password, "secret")
	o.RetryDelay = cmp.Or(o.RetryDelay, 10*time.Second)
	if !o.NoGlobalSender {
		o.GlobalSender = cmp.Or(o.GlobalSender, "100")
	}
	if len(o.Links) == 0 {
		o.Links = []Link{{ID: "SMSC"}}
	}
	o.Links = slices.Clone(o.Links)
	for i := range o.Links {
		o.Links[i].State = cmp.Or(o.Links[i].State, Online)
		if err := checkState(o.Links[i].State); err != nil {
			return o, err
		}
	}
	return o, nil
}

func checkState(state string) error {
	if states := []string{Online, Reconnecting, Dead}; !slices.Contains(states, state) {
		return fmt.Errorf("state of a link %q: want one of %s", state, strings.Join(states, ", "))
	}
	return nil
}
