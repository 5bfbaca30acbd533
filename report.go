package weir

import "time"

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

// Result is the record of a conversation by the person who held it. Only
// channels to people report one, at the end of the contact.
type Result struct {
	Disposition string    `json:"disposition,omitempty"` // of the respondent; empty: not known
	CallBack    time.Time `json:"call_back,omitzero"`    // the next contact was agreed for this instant
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
	Forwarded      Verdict = "forwarded" // stored for the process that runs the channel
)

// Verdicts returns every verdict, in the order of their counters.
func Verdicts() []Verdict { return []Verdict{Applied, Duplicate, Late, UnknownAttempt, Forwarded} }
