package surveys

import (
	"time"

	"weir"
)

// Hearing is what an application that holds a conversation reports of a
// respondent.
type Hearing struct {
	// Serial is that of the contact in which it happened, 0 if that is not known.
	Serial int
	// Disposition is what the application makes of the conversation; empty: the
	// respondent has answered, nothing more is known.
	Disposition Disposition
	// Answers are merged into the respondent's attributes. They may put the
	// respondent into a bucket of the quotas; if that is full it is rejected.
	Answers map[string]string
	// Messages are sent to the respondent with priority reply, over the channel
	// of the latest contact by text. Key makes it safe to repeat.
	Messages []string
	Key      string
	// Stop says that the respondent asked not to be contacted any more.
	Stop bool
}

// Stats are how far a survey has come.
type Stats struct {
	Sums    Sums
	Tally   Tally
	Target  int // how many are wanted; 0: everybody
	Quotas  []BucketStats
	Rate    float64 // respondents who come to their end each minute while the schedule is open; 0: not known
	EndsAt  time.Time
	Success float64 // share of successes among those whose result is known
	Open    bool    // the schedule is open now
	Next    Span    // the window that is open or opens next; zero: none
	Using   []ChannelUse
	Why     weir.Why // why no respondent is being contacted; zero if some are
}

// BucketStats are those of one bucket.
type BucketStats struct {
	Bucket
	Counted int
}

// ChannelUse is what a survey has from a channel.
type ChannelUse struct {
	Mode    Mode
	Channel string
	Health  weir.Health
	Reason  string
	Since   time.Time
}
