package surveys

import (
	"time"

	"weir"
	"weir/ops"
)

// Report is an application's report about its conversation with a respondent.
type Report struct {
	// Serial is the serial of the contact in which it happened; 0 if not known.
	Serial int
	// Disposition is the application's result of the conversation. Empty: the
	// respondent has answered, nothing more is known.
	Disposition Disposition
	// Answers are merged into the respondent's attributes. They may assign the
	// respondent to a quota bucket; if that is full, the respondent is rejected.
	Answers map[string]string
	// Messages are sent to the respondent with priority reply, over the channel
	// of the latest contact by text. Key makes the report idempotent.
	Messages []string
	Key      string
	// Stop is set if the respondent asked not to be contacted any more.
	Stop bool
}

// Stats is the progress of a survey.
type Stats struct {
	Sums    Sums
	Tally   Tally
	Target  int // number of respondents wanted; 0: all
	Quotas  []BucketStats
	Rate    float64 // respondents finished per minute while the schedule is open; 0: not known
	EndsAt  time.Time
	Success float64 // share of successes among respondents with a known result
	Open    bool    // the schedule is open now
	Next    Span    // the window that is open or opens next; zero: none
	Using   []ChannelUse
	Why     ops.Why // why no respondent is being contacted; zero if some are
}

// BucketStats is the progress of one bucket.
type BucketStats struct {
	Bucket
	Counted int
}

// ChannelUse is the state of a channel that a survey uses.
type ChannelUse struct {
	Mode    Mode
	Channel string
	Health  weir.Health
	Reason  string
	Since   time.Time
}
