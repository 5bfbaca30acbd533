package surveys

import (
	"time"

	"weir"
	"weir/limits"
	"weir/operators"
	"weir/surveys/calendar"
)

// Stats is the progress of a survey.
type Stats struct {
	Sums    Sums
	Tally   Tally
	Target  int // number of respondents wanted; 0: all
	Quotas  []BucketStats
	Rate    float64            // respondents finished per minute while the schedule is open; 0: not known
	EndsAt  time.Time          // estimated as by [Plan.EndsAt]; zero: not known
	Needed  *int               // see [Plan.NumbersNeeded]; nil: not known
	Success float64            // share of successes among respondents with a known result
	Open    bool               // the schedule is open now
	Next    calendar.Span      // the window that is open or opens next; zero: none
	Brake   *weir.BrakeFigures // what its brake counts; nil: it has none
	Budget  *limits.BudgetUse  // nil: it has none, or was not launched
	// Zoneless is a respondent whose time_zone is no zone, so that the phone number decides; 0: none is known.
	Zoneless RespondentID
	Using    []ChannelUse
	Why      operators.Why // why no respondent is being contacted; zero if some are
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
