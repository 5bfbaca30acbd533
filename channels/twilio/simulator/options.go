package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/channels/simulation"
)

// Outcomes of messages, for [Options.Outcomes]. An outcome error=21610 refuses the
// request with that code, failed=30003 and undelivered=30005 end the message with
// it.
const (
	Delivered   = "delivered" // queued, sent, delivered. The default
	Sent        = "sent"      // queued, sent
	Undelivered = "undelivered"
	FailedState = "failed" // of messages and of calls
	Read        = "read"
	Reversed    = "reversed" // delivered is reported before sent
	Silent      = "silent"   // never a callback
	Error       = "error"    // error=21211: refused
)

// Outcomes of calls.
const (
	Completed = "completed" // the default
	Busy      = "busy"
	NoAnswer  = "no-answer"
	Machine   = "machine" // completed, answered by a machine
)

// AccountSID is the account that a simulator has by default, AuthToken its token.
const (
	AccountSID = "AC00000000000000000000000000000000"
	AuthToken  = "secret"
)

// Options configures the simulated Twilio. The zero value works.
type Options struct {
	AccountSID, AuthToken string
	APIKey, APISecret     string // accepted beside the token; empty: none

	Outcomes []string // rules: "undelivered=30005:0.1", "busy:*7"; see simulation.Rule
	Faults   []string // rules; see simulation.Faults
	Seed     uint64

	QueueTime   time.Duration // in Twilio's queue
	DeliverTime time.Duration // of a message, from the carrier to the handset
	RingTime    time.Duration // of a call
	TalkTime    time.Duration // of a call that was answered
	ListDelay   time.Duration // before a list or query shows what was requested
	RetryDelay  time.Duration // before a callback is repeated; default 1 s

	IncomingURL string // webhook of the numbers, for messages from people

	Callbacks int          // max concurrent callbacks; 0: the sender's default
	Client    *http.Client // for callbacks; nil: its own
}

func (o Options) withDefaults() Options {
	o.AccountSID, o.AuthToken = cmp.Or(o.AccountSID, AccountSID), cmp.Or(o.AuthToken, AuthToken)
	o.RetryDelay = cmp.Or(o.RetryDelay, time.Second)
	return o
}

// checkOutcome checks a rule that chooses the outcomes of messages and calls.
func checkOutcome(r simulation.Rule) error {
	names := []string{Delivered, Sent, Undelivered, FailedState, Read, Reversed, Silent, Error, Completed, Busy, NoAnswer, Machine}
	coded := []string{Undelivered, FailedState, Error}
	_, err := strconv.Atoi(r.Value)
	if !slices.Contains(names, r.What) || r.Operation != "" || r.Value != "" && (err != nil || !slices.Contains(coded, r.What)) ||
		r.What == Error && r.Value == "" {
		return fmt.Errorf("outcome %q: want one of %s, error, undelivered and failed with =code, with :when if need be", r, strings.Join(names, ", "))
	}
	return nil
}
