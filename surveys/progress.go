package surveys

import (
	"strconv"
	"time"

	"weir"
)

// Mode is a way to reach a respondent.
type Mode string

// The modes. A survey over the mobile web is an SMS with a link; cati is an
// interview by a person, over a channel to people.
const (
	IVR       Mode = "ivr"
	SMS       Mode = "sms"
	MobileWeb Mode = "mobileweb"
	CATI      Mode = "cati"
)

// Modes lists every mode.
func Modes() []Mode { return []Mode{IVR, SMS, MobileWeb, CATI} }

// Voice tells whether the mode is a spoken conversation: an attempt counts only
// once something is known of it, and a conversation ends with its contact.
func (m Mode) Voice() bool { return m == IVR || m == CATI }

// Counts holds a number for each mode.
type Counts struct {
	IVR       int `json:"ivr,omitempty"`
	SMS       int `json:"sms,omitempty"`
	MobileWeb int `json:"mobileweb,omitempty"`
	CATI      int `json:"cati,omitempty"`
}

// Total is the sum over the modes.
func (c Counts) Total() int { return c.IVR + c.SMS + c.MobileWeb + c.CATI }

// of is the number of a mode.
func (c Counts) of(m Mode) int {
	return map[Mode]int{IVR: c.IVR, SMS: c.SMS, MobileWeb: c.MobileWeb, CATI: c.CATI}[m]
}

// Add gives the counts with n more for a mode.
func (c Counts) Add(m Mode, n int) Counts {
	switch m {
	case IVR:
		c.IVR += n
	case SMS:
		c.SMS += n
	case MobileWeb:
		c.MobileWeb += n
	case CATI:
		c.CATI += n
	}
	return c
}

// Stage is where the latest contact of a respondent stands.
type Stage int8

// The stages.
const (
	Idle    Stage = iota // there is none, or it is over
	Waiting              // handed to the channel's broker, not to the provider
	Out                  // handed to the provider
	Leaving              // withdrawn; the broker has yet to say whether in time
)

// Progress is how far Weir has come with a respondent. It is a value: methods
// of [Plan] give the next one and what is to be done. The caller stores the new
// Progress before, or together with, doing it; contacts have keys, so that doing
// it twice does no harm.
type Progress struct {
	Status      Status
	Disposition Disposition
	Arm         int    // index into the plan's arms
	Step        int    // index into the arm's modes
	Tries       int    // attempts begun in this step, those that expire or are withdrawn not counted
	Attempts    Counts // attempts begun over the whole life
	// Unproven says that the latest attempt may yet turn out not to have been
	// one. It is part of Attempts, not of [Plan.Made].
	Unproven  bool
	Contact   Stage
	Serial    int       // of the latest contact; part of its key
	Closes    time.Time // when the latest contact expires
	DueAt     time.Time // when to look again; zero for pending and final ones
	Counted   bool      // towards the cut-off and a quota
	Early     int       // times in a row that a contact expired before its window closed
	Stumbles  int       // times in a row that it could not be processed
	AsideTill time.Time // not to be started before, having stumbled
}

// Fresh is the progress of a respondent who was just registered.
func Fresh() Progress { return Progress{Status: Pending, Disposition: Registered} }

// Outreach is a contact that is to be enqueued.
type Outreach struct {
	Serial    int
	Mode      Mode
	Attempt   int // of this mode, from 1; chooses the words
	Priority  weir.Priority
	NotBefore time.Time
	NotAfter  time.Time
}

// Effects are what is to be done after a step. The zero Effects are nothing.
type Effects struct {
	Enqueue  *Outreach
	Withdraw int  // serial of the contact to take back from the channel; 0: none
	Recall   bool // of Withdraw: also if the provider has it already
	Inquire  int  // serial of a contact that nothing was heard of in time; 0: none
	Count    bool // the respondent counts from now on towards the cut-off and its bucket
	Finished bool // the status has become final
}

// ContactKey is the key under which a contact is enqueued on its channel.
// Enqueuing the same contact once more is a duplicate and does nothing.
func ContactKey(respondent string, serial int) string {
	return respondent + "-" + strconv.Itoa(serial)
}

// Priority is that of the respondent's contacts: high for people who have been
// reached and for retries, normal for first attempts.
func (p Progress) Priority() weir.Priority {
	reached := p.Disposition != Registered && p.Disposition != Queued && p.Disposition != Unreached
	if reached || p.Attempts.Total() > 1 {
		return weir.High
	}
	return weir.Normal
}

// ReplyPriority is that of what an application sends in answer to a respondent.
func ReplyPriority() weir.Priority { return weir.Reply }

// Due tells whether the respondent's timeout has come.
func (p Progress) Due(now time.Time) bool {
	return p.Status == Active && !p.DueAt.IsZero() && !now.Before(p.DueAt)
}
