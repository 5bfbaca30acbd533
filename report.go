package weir

import "time"

// Report is what a provider says of an attempt, by callback or when asked.
type Report struct {
	Attempt     AttemptRef `json:"attempt"`
	Part        int        `json:"part"`              // index of the message it is about; WholeContact otherwise
	Outcome     Outcome    `json:"outcome,omitempty"` // empty: it goes on
	ProviderRef string     `json:"provider_ref,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	At          time.Time  `json:"at"`                 // when it reached us
	Answered    bool       `json:"answered,omitempty"` // the person picked the call up
	Result      Result     `json:"result,omitzero"`
}

// Result is what the person who held a conversation recorded about it. Only
// channels to people report one, with the end of the contact.
type Result struct {
	Disposition string    `json:"disposition,omitempty"` // of the respondent; empty: not known
	CallBack    time.Time `json:"call_back,omitzero"`    // the next contact was agreed for this instant
}

// WholeContact is the Part of a report that is not about one message.
const WholeContact = -1

// Verdict says what a report did, for metrics and logs.
type Verdict string

// The verdicts.
const (
	Applied   Verdict = "applied"
	Duplicate Verdict = "duplicate" // it says what was known
	Late      Verdict = "late"      // of an attempt that is over
	NotOurs   Verdict = "unknown"   // no such attempt
	Forwarded Verdict = "forwarded" // stored for the process that runs the channel
)
