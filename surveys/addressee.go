package surveys

import (
	"slices"
	"time"
)

// Candidate is a respondent from whose number a message came. The same number
// may be that of respondents of several surveys.
type Candidate struct {
	Status    Status
	Over      string    // channel of the latest contact; empty if there was none
	Contacted time.Time // when it was handed over
	Channels  []string  // those that the survey uses
}

// Addressee is the respondent to whom a message is routed that came in on a
// channel; -1 if no survey of the candidates uses it. One who is still being
// contacted goes before one who is not started and one whose status is final;
// then whom that channel contacted last; then the newest contact, and the first
// of equals.
func Addressee(channel string, candidates []Candidate) int {
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
	if a, b := c.Over == channel, d.Over == channel; a != b {
		return a
	}
	return c.Contacted.After(d.Contacted)
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
