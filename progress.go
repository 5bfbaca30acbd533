package weir

import (
	"errors"
	"strings"
	"time"
)

// ErrTransition is the error of a transition that the contact's state does not
// allow.
var ErrTransition = errors.New("no such transition")

// Part states, one letter for each message of a contact.
const (
	PartOpen      = '.' // the provider has not reported its outcome
	PartDelivered = 'd'
	PartFailed    = 'f'
)

// answeredParts is the value of Parts for an answered call: its only part is open.
const answeredParts = ".a"

// Progress is the mutable half of a contact. Every transition returns a whole
// new Progress with the next revision; the store replaces it as one.
//
//	Queued ──────────┐        ┌──────────────► Done
//	  ▲ ▲            ▼        │                  ▲
//	  │ └ Delayed  Sending ─► Active ────────────┤
//	  │     ▲        │  ▲      │                 │
//	  │     └────────┤  └──────┼── Unknown ──────┘
//	  └──────────────┴─────────┴──────┘ (proven absent)
type Progress struct {
	Rev      int64 // counts the transitions; the store's guard against a second writer
	State    State
	DueAt    time.Time // Delayed: not before this instant
	Attempt  int       // dispatches begun so far
	Failures int       // attempts that failed for a reason of the contact itself

	ClaimedAt       time.Time
	SentAt          time.Time // the provider accepted it
	HeardAt         time.Time // the provider's last report about it
	FinishedAt      time.Time
	ProviderRef     string
	Parts           string // a letter per message; empty until the first report
	Outcome         Outcome
	Reason          string
	CancelRequested bool // a client requested cancellation while it is in flight
	Receipt         Receipt
}

// Receipt is what the rules for the sake of the person found at the latest claim. It is zero
// if there was nothing to look at.
type Receipt struct {
	Rule  string    // that delays or ended the contact; empty: the claim was committed
	Until time.Time // the provider must not dispatch it later; zero: at any time
	Facts string    // which rules were looked at, and what they found; see people.ReadFacts
}

// Attempt is one dispatch of a contact to its provider. Instants that have not
// been reached are zero.
type Attempt struct {
	Number      int
	ClaimedAt   time.Time
	SentAt      time.Time
	HeardAt     time.Time
	FinishedAt  time.Time
	ProviderRef string
	Outcome     Outcome // of this attempt; empty if the contact was queued again and nothing went out
	Reason      string
	Receipt     Receipt
}

// Current returns the attempt that is under way, or the last one. Its Number is
// 0 if there was none.
func (p *Progress) Current() Attempt {
	return Attempt{
		Number: p.Attempt, ClaimedAt: p.ClaimedAt, SentAt: p.SentAt, HeardAt: p.HeardAt,
		FinishedAt: p.FinishedAt, ProviderRef: p.ProviderRef, Outcome: p.Outcome, Reason: p.Reason, Receipt: p.Receipt,
	}
}

// NewProgress returns the progress of a contact at the moment it is accepted.
func NewProgress(now, notBefore time.Time) Progress {
	if notBefore.After(now) {
		return Progress{State: Delayed, DueAt: notBefore}
	}
	return Progress{State: Queued}
}

// Slots returns how many slots a contact of the given size holds.
func (p Progress) Slots(size int) int {
	if !p.State.InFlight() {
		return 0
	}
	if p.Parts == "" {
		return size
	}
	return strings.Count(p.Parts, string(PartOpen))
}

// Ready moves a delayed contact into the queue.
func (p Progress) Ready() (Progress, error) {
	if p.State != Delayed {
		return p, ErrTransition
	}
	p.State, p.DueAt = Queued, time.Time{}
	if p.Receipt.Rule != "" { // it looks at the rules again
		p.Receipt, p.Reason = Receipt{}, ""
	}
	return p.next(), nil
}

// Claim starts the next attempt.
func (p Progress) Claim(now time.Time) (Progress, error) {
	if p.State != Queued {
		return p, ErrTransition
	}
	p.State = Sending
	p.Attempt++
	p.ClaimedAt, p.SentAt, p.HeardAt = now, time.Time{}, time.Time{}
	p.ProviderRef, p.Parts, p.Reason, p.Receipt = "", "", "", Receipt{}
	return p.next(), nil
}

// Unclaim reverts a claim whose provider was certainly never called. The claim
// does not count as an attempt.
func (p Progress) Unclaim() (Progress, error) {
	if p.State != Sending {
		return p, ErrTransition
	}
	p.State, p.ClaimedAt, p.Receipt = Queued, time.Time{}, Receipt{}
	p.Attempt--
	return p.next(), nil
}

// Accept records that the provider has accepted the contact. ref is the
// provider's own id for it; an empty ref keeps the known one.
func (p Progress) Accept(now time.Time, ref string) (Progress, error) {
	if p.State != Sending && p.State != Unknown && p.State != Active {
		return p, ErrTransition
	}
	p.State = Active
	if p.SentAt.IsZero() {
		p.SentAt = now
	}
	p.HeardAt = now
	if ref != "" {
		p.ProviderRef = ref
	}
	p.Reason = ""
	return p.next(), nil
}

// MarkUnknown marks the contact as unknown: the result of a dispatch was lost, and
// the provider may or may not have the contact. It keeps its slots.
func (p Progress) MarkUnknown(reason string) (Progress, error) {
	if p.State != Sending {
		return p, ErrTransition
	}
	p.State, p.Reason = Unknown, reason
	return p.next(), nil
}

// Requeue ends the attempt but not the contact: the provider does not have it.
// A due instant in the future delays the contact; it keeps its place in the
// order of acceptance. The ended attempt is returned for the record.
func (p Progress) Requeue(now, due time.Time, reason string) (Progress, Attempt, error) {
	if !p.State.InFlight() {
		return p, Attempt{}, ErrTransition
	}
	ended := p.Current()
	ended.FinishedAt, ended.Outcome, ended.Reason = now, "", reason
	p.State, p.DueAt = Queued, time.Time{}
	if due.After(now) {
		p.State, p.DueAt = Delayed, due
	}
	p.ProviderRef, p.Parts, p.Reason, p.Receipt = "", "", reason, Receipt{}
	return p.next(), ended, nil
}

// ReportPart records the outcome of one message of a contact. changed is false
// if it was already known. Delivered overrides failed, because a failover route
// may succeed later, but frees no slot a second time. The caller finishes the
// contact when no part is open.
func (p Progress) ReportPart(now time.Time, size, part int, state byte) (_ Progress, changed bool, err error) {
	if !p.State.InFlight() || part < 0 || part >= size {
		return p, false, ErrTransition
	}
	parts := []byte(p.Parts)
	if len(parts) == 0 {
		parts = []byte(strings.Repeat(string(PartOpen), size))
	}
	if parts[part] == state || parts[part] == PartDelivered {
		return p, false, nil
	}
	parts[part] = state
	p.Parts = string(parts)
	p.State, p.HeardAt, p.Reason = Active, now, ""
	if p.SentAt.IsZero() {
		p.SentAt = now
	}
	return p.next(), true, nil
}

// MarkAnswered records that the person answered the call. changed is false if that was
// already known.
func (p Progress) MarkAnswered() (_ Progress, changed bool) {
	if !p.State.InFlight() || p.Parts != "" {
		return p, false
	}
	p.Parts = answeredParts
	return p, true
}

// PartsOutcome returns the outcome of a contact whose parts have all been
// reported; ok is false while one is open. One failed message fails the contact.
func (p Progress) PartsOutcome() (_ Outcome, ok bool) {
	if p.Parts == "" || strings.ContainsRune(p.Parts, PartOpen) {
		return "", false
	}
	if strings.ContainsRune(p.Parts, PartFailed) {
		return Failed, true
	}
	return Completed, true
}

// RequestCancel records that a client requested the cancellation of a contact in flight.
func (p Progress) RequestCancel() (Progress, error) {
	if !p.State.InFlight() {
		return p, ErrTransition
	}
	p.CancelRequested = true
	return p.next(), nil
}

// Finish ends the contact.
func (p Progress) Finish(now time.Time, outcome Outcome, reason string) (Progress, error) {
	if p.State == Done || outcome == "" {
		return p, ErrTransition
	}
	p.State, p.Outcome, p.Reason = Done, outcome, reason
	p.FinishedAt, p.DueAt = now, time.Time{}
	return p.next(), nil
}

// Suppress ends a contact whose claim is not committed: it was not dispatched.
func (p Progress) Suppress(now time.Time, reason string, r Receipt) (Progress, error) {
	p, err := p.Unclaim()
	if err != nil {
		return p, err
	}
	p.Receipt = r
	return p.Finish(now, Suppressed, reason)
}

// Defer delays a contact whose claim is not committed: a rule lets it be dispatched later.
func (p Progress) Defer(due time.Time, reason string, r Receipt) (Progress, error) {
	p, err := p.Unclaim()
	if err != nil {
		return p, err
	}
	p.State, p.DueAt, p.Reason, p.Receipt = Delayed, due, reason, r
	return p, nil
}

// CorrectPart corrects a contact that is done as failed when the provider later
// reports that a message was delivered after all, as a failover route does.
// changed is false if the report changes nothing. It frees no slot: a done
// contact holds none.
func (p Progress) CorrectPart(part int) (_ Progress, changed bool) {
	if p.State != Done || p.Outcome != Failed || part < 0 || part >= len(p.Parts) || p.Parts[part] != PartFailed {
		return p, false
	}
	parts := []byte(p.Parts)
	parts[part] = PartDelivered
	p.Parts = string(parts)
	p.Outcome, _ = p.PartsOutcome()
	if p.Outcome == Completed {
		p.Reason = ""
	}
	return p.next(), true
}

func (p Progress) next() Progress {
	p.Rev++
	return p
}

// Report is a provider's statement about an attempt, by callback or when asked.
type Report struct {
	Attempt     AttemptRef `json:"attempt"`
	Part        int        `json:"part"`              // index of the message it is about; WholeContact otherwise
	Outcome     Outcome    `json:"outcome,omitempty"` // empty: the attempt continues
	ProviderRef string     `json:"provider_ref,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	At          time.Time  `json:"at"`                 // when it reached Weir
	Answered    bool       `json:"answered,omitempty"` // the person answered the call
	Result      Result     `json:"result,omitzero"`
}

// Result describes the conversation of a contact that has ended, for its owner. Only the
// person who held it reports a code and a call-back, only providers of calls report seconds.
type Result struct {
	Code        string    `json:"code,omitempty"`         // how it ended, in the owner's words; empty: not known
	CallBack    time.Time `json:"call_back,omitzero"`     // the next contact was agreed for this instant
	CallSeconds int       `json:"call_seconds,omitempty"` // from the answer to the end
	Cost        Cost      `json:"cost,omitzero"`          // as the provider reports it
}

// Cost is an amount of money.
type Cost struct {
	Millionths int64  `json:"millionths"` // of the currency's unit
	Currency   string `json:"currency"`   // ISO 4217; empty: it is not known
}

// WholeContact is the Part of a report that is not about one message.
const WholeContact = -1

// Verdict is the effect of a report, for metrics and logs.
type Verdict string

// The verdicts.
const (
	Applied        Verdict = "applied"
	Duplicate      Verdict = "duplicate" // it reports what was already known
	Late           Verdict = "late"      // its attempt has ended
	UnknownAttempt Verdict = "unknown"   // no such attempt
)

// Verdicts returns every verdict, in the order of their counters.
func Verdicts() []Verdict { return []Verdict{Applied, Duplicate, Late, UnknownAttempt} }
