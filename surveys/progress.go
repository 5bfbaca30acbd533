package surveys

import (
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/surveys/questions"
)

// Mode is a way to reach a respondent.
type Mode = api.Mode

// The modes. A survey over the mobile web is an SMS with a link; cati is an
// interview by a person, over a channel to people.
const (
	IVR       Mode = "ivr"
	SMS       Mode = "sms"
	MobileWeb Mode = "mobileweb"
	CATI      Mode = "cati"
)

// Modes returns every mode.
func Modes() []Mode { return []Mode{IVR, SMS, MobileWeb, CATI} }

// Voice reports whether the mode is a spoken conversation: an attempt counts only
// once something is known of it, and a conversation ends with its contact.
func Voice(m Mode) bool { return m == IVR || m == CATI }

// Counts holds a number for each mode.
type Counts api.Counts

// Total returns the sum over the modes.
func (c Counts) Total() int { return c.IVR + c.SMS + c.MobileWeb + c.CATI }

// of returns the number of a mode.
func (c Counts) of(m Mode) int { return *c.field(m) }

// Add returns the counts with n added for a mode.
func (c Counts) Add(m Mode, n int) Counts {
	*c.field(m) += n
	return c
}

// field returns the number of a mode, to read or change.
func (c *Counts) field(m Mode) *int {
	switch m {
	case IVR:
		return &c.IVR
	case SMS:
		return &c.SMS
	case MobileWeb:
		return &c.MobileWeb
	case CATI:
		return &c.CATI
	default:
		return new(int)
	}
}

// Stage is the stage of the latest contact of a respondent.
type Stage int8

// The stages.
const (
	Idle       Stage = iota // there is no contact, or it is done
	Waiting                 // queued by the channel's broker, not yet accepted by the provider
	Dispatched              // accepted by the provider
	Canceling               // canceled; the broker has yet to report whether in time
)

// Progress is the state of a respondent. It is a value: methods of [Plan] return
// the next one and the effects to execute. The caller stores the new Progress
// before, or together with, the effects. Contacts have idempotency keys, so that
// executing an effect twice is harmless.
type Progress struct {
	Status      Status
	Disposition Disposition
	Arm         int    // index into the plan's arms
	Step        int    // index into the arm's modes
	Tries       int    // attempts begun in this step, without expired and canceled ones
	Attempts    Counts // attempts begun in all
	// Furthest is the step of the funnel that it came to, if the disposition shows it no more.
	Furthest Disposition
	// Unconfirmed is set while the latest attempt may yet turn out not to have been
	// made. Attempts includes it, [Plan.AttemptsMade] does not.
	Unconfirmed   bool
	Contact       Stage
	Serial        int       // serial of the latest contact; part of its key
	WindowEnd     time.Time // when the latest contact expires
	DueAt         time.Time // when the next step is due; zero for pending and final respondents
	Counted       bool      // counts toward the cutoff and a quota
	OptedOut      bool      // ended by asking not to be contacted any more, by a stop word or through the application
	EarlyExpiries int       // times in a row that a contact expired before its window closed
	FailedSteps   int       // times in a row that a step failed
	DelayedUntil  time.Time // not to be started before: a step failed, its channel had no room, or the hours of the person are closed
	Totals        Totals
	Talk          questions.State // of the conversation of questions; zero: none has begun
}

// Totals are sums over all contacts of a respondent.
type Totals struct {
	Sent        int `json:"sent,omitempty"`         // messages to the respondent that a provider accepted, replies included
	Received    int `json:"received,omitempty"`     // messages of the respondent
	CallSeconds int `json:"call_seconds,omitempty"` // of calls that were answered, as far as providers report it
	Serial      int `json:"serial,omitempty"`       // of the latest contact whose messages are in Sent
}

// NewProgress returns the progress of a newly registered respondent.
func NewProgress() Progress { return Progress{Status: Pending, Disposition: Registered} }

// Outreach is a contact to enqueue.
type Outreach struct {
	Serial    int
	Mode      Mode
	Attempt   int // number of the attempt in this mode, from 1; selects the content
	Priority  weir.Priority
	NotBefore time.Time
	NotAfter  time.Time
}

// Effects are the actions to execute after a step. The zero Effects are none.
type Effects struct {
	Enqueue        *Outreach
	Cancel         int  // serial of the contact to cancel on the channel; 0: none
	CancelInFlight bool // with Cancel: cancel it also if the provider has it already
	Overdue        int  // serial of a contact whose result is overdue; 0: none
	Finished       bool // the status has become final
}

// ContactKey returns the key under which a contact is enqueued on its channel.
// Enqueuing the same contact again is a duplicate and does nothing.
func ContactKey(respondent string, serial int) string {
	return respondent + "-" + strconv.Itoa(serial)
}

// Priority returns the priority of the respondent's contacts: high for people who
// have been reached and for retries, normal for first attempts.
func (p Progress) Priority() weir.Priority {
	reached := p.Disposition != Registered && p.Disposition != Queued && p.Disposition != Unreached
	if reached || p.Attempts.Total() > 1 {
		return weir.High
	}
	return weir.Normal
}

// Due reports whether the respondent's next step is due.
func (p Progress) Due(now time.Time) bool {
	return p.Status == Active && !p.DueAt.IsZero() && !now.Before(p.DueAt)
}
