// Package simulator is a simulated Verboice: an HTTP server that accepts calls,
// "dials" them within the limits of its channels and reports their outcomes,
// with every quirk and, on request, every fault of the real one.
//
// It counts calls in a [simulation.Tally]: a call is active from the moment it
// is accepted, even while it waits at Verboice, until just before its first
// terminal callback is sent, or until it ends silently. Canceling an active call
// does not end it, as with the real one.
package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"weir"
	"weir/channels/simulation"
)

// Options configures a simulated server. The zero value works: any credentials,
// one channel named "main" with the number 1.
type Options struct {
	// Accounts may use the server; if empty, any credentials are accepted.
	Accounts []Account
	Channels []Channel
	// CallFlows are the stored flows that exist; if empty, all exist.
	CallFlows []int64

	Ring time.Duration // from the start of ringing to its result; default 2 s
	Talk time.Duration // min duration of an answered call; default 5 s
	// SkipFlows holds answered calls for Talk without fetching or parsing any
	// TwiML.
	SkipFlows bool
	Digits    string // keyed in at each Gather; empty: none

	// Outcomes are rules as in [simulation.ParseRule] that choose how calls
	// end; the first rule that matches applies. See [OutcomeHelp].
	Outcomes []string
	Faults   []string // rules as in [simulation.NewFaults]
	Seed     uint64

	RetryDelay time.Duration // before a call is dialed again; default 1 min
	MaxActive  time.Duration // after this time a stuck call fails; default 2 h
	PurgeAfter time.Duration // after this time a finished call is deleted; 0: never

	// Workers is the max number of concurrent callbacks; default 64. The real
	// server has no bound.
	Workers int

	// Key returns the client's identity of an outreach; default [OutreachKey].
	Key    func(statusCallbackURL, address string) string
	Client *http.Client // for callbacks and TwiML; default: its own
}

// Account is one user of the server.
type Account struct {
	Username string
	Password string
	Tokens   []string // valid bearer tokens, until revoked; any other gets 401 without a body
}

// Channel is one line of the server.
type Channel struct {
	ID       int64
	Name     string
	Limit    int           // max concurrent calls; default 1, as with the real one
	Pause    time.Duration // how long a place stays empty after the end of its call
	Disabled bool
	Problems []string // if not empty, the broker reports the channel as down
}

// Outcomes of a call, for [Options.Outcomes].
const (
	outCompleted   = "completed"
	outFailed      = "failed"
	outHangup      = "hangup"
	outBusy        = "busy"
	outNoAnswer    = "no-answer"
	outDialFailed  = "dial-failed"
	outRefused     = "refused"
	outUnreachable = "unreachable"
	outSilent      = "silent"
	outDouble      = "double"
	outRetry       = "retry"
	outStuck       = "stuck"
)

// OutcomeHelp lists the outcomes and the callbacks that each sends.
const OutcomeHelp = `completed     ringing, in-progress, completed (the default)
failed=CODE   ringing, in-progress, failed with a reason and the code, if given
hangup        ringing, in-progress, failed with the reason Busy
busy          ringing, busy
no-answer     ringing, no-answer
dial-failed   ringing, failed with a reason and the code, if given
refused       none; the state becomes failed
unreachable   none; stays queued and is dialed again later
silent        ringing, then none; the state becomes failed
double        ringing, busy and then expired
retry         ringing, busy, back in the queue, then dialed again
stuck         ringing, in-progress, then none until it is active for too long`

func checkOutcome(r simulation.Rule) error {
	all := []string{outCompleted, outFailed, outHangup, outBusy, outNoAnswer, outDialFailed, outRefused,
		outUnreachable, outSilent, outDouble, outRetry, outStuck}
	if !slices.Contains(all, r.What) {
		return fmt.Errorf("rule %q: no such outcome; there are:\n%s", r, OutcomeHelp)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Ring = cmp.Or(o.Ring, 2*time.Second)
	o.Talk = cmp.Or(o.Talk, 5*time.Second)
	o.RetryDelay = cmp.Or(o.RetryDelay, time.Minute)
	o.MaxActive = cmp.Or(o.MaxActive, 2*time.Hour)
	if o.Key == nil {
		o.Key = OutreachKey
	}
	if len(o.Channels) == 0 {
		o.Channels = []Channel{{ID: 1, Name: "main"}}
	}
	return o
}

func checkChannels(all []Channel) error {
	ids, names := map[int64]bool{}, map[string]bool{}
	for _, c := range all {
		if c.ID < 1 || c.Name == "" || c.Limit < 0 {
			return fmt.Errorf("channel %q: want a number from 1 on, a name and a limit from 0 on", c.Name)
		}
		if ids[c.ID] || names[c.Name] {
			return fmt.Errorf("channel %q: its number or name is there twice", c.Name)
		}
		ids[c.ID], names[c.Name] = true, true
	}
	return nil
}

// OutreachKey returns the contact part of Weir's attempt id at the end of the
// path of the status callback URL. For any other URL it returns the address.
func OutreachKey(statusCallbackURL, address string) string {
	u, err := url.Parse(statusCallbackURL)
	if err != nil {
		return address
	}
	attempt, err := weir.ParseAttemptRef(path.Base(u.Path))
	if err != nil {
		return address
	}
	return attempt.Ref.String()
}
