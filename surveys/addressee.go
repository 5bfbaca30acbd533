package surveys

import (
	"slices"
	"time"
)

// Candidate is a respondent with the number that sent a message. Respondents of
// several surveys may have the same number.
type Candidate struct {
	Status       Status
	LastChannel  string    // channel of the latest contact; empty if there was none
	LastAccepted time.Time // when the provider accepted that contact
	Channels     []string  // channels that the survey uses
}

// FindSender returns the index of the respondent to which a message on a channel
// is routed, or -1 if no candidate's survey uses the channel. Active respondents
// precede pending ones, and those precede final ones; then the respondents whose
// latest contact used the channel precede the others; then the newest contact
// wins, and the first of equals.
func FindSender(channel string, candidates []Candidate) int {
	best := -1
	for i, c := range candidates {
		if slices.Contains(c.Channels, channel) && (best < 0 || c.before(candidates[best], channel)) {
			best = i
		}
	}
	return best
}

func (c Candidate) before(d Candidate, channel string) bool {
	if a, b := c.rank(), d.rank(); a != b {
		return a > b
	}
	if a, b := c.LastChannel == channel, d.LastChannel == channel; a != b {
		return a
	}
	return c.LastAccepted.After(d.LastAccepted)
}

func (c Candidate) rank() int {
	switch {
	case c.Status == Active:
		return 2
	case c.Status == Pending:
		return 1
	default:
		return 0
	}
}
