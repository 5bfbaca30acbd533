package people

import (
	"context"

	"weir"
)

// Skipped is how often a rule has kept contacts of a channel, for a survey, from being
// dispatched on a day.
type Skipped struct {
	Channel    weir.ChannelID
	Survey     string // empty: direct contacts
	Rule       Rule
	Day        int // see [weir.DayOf]
	Suppressed int64
	Delayed    int64 // times that a contact began to wait for the rule
}

// SkippedFilter selects what was skipped.
type SkippedFilter struct {
	From, To int            // days, both included
	Channel  weir.ChannelID // 0: of all
	Survey   string         // empty: of all, and direct contacts
}

// SkipCounter reads how often rules have kept contacts from being dispatched.
type SkipCounter interface {
	// Skipped returns the sums over the days of the filter, in the order of channel, survey and
	// rule, at most limit of them.
	Skipped(ctx context.Context, f SkippedFilter, limit int) ([]Skipped, error)
}
