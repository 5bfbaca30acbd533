package surveys

import (
	"fmt"
	"strings"
	"time"

	"weir/internal/validation"
)

// MaxRetries bounds a retry schedule.
const MaxRetries = 50

// DefaultFallbackDelay is the delay from the last retry of a mode to the next
// mode, and the delay after the only attempt of a mode without retries.
const DefaultFallbackDelay = 120 * time.Minute

// RetrySchedule is a retry schedule: the delay before each retry of a mode. Delays count
// from the instant at which the provider accepted the contact.
type RetrySchedule []time.Duration

// ParseRetrySchedule parses delays like "10m 2h 1d". An empty text is a schedule without
// retries.
func ParseRetrySchedule(text string) (RetrySchedule, error) {
	fields := strings.Fields(text)
	if len(fields) > MaxRetries {
		return nil, fmt.Errorf("has %d retries; at most %d are allowed", len(fields), MaxRetries)
	}
	var out RetrySchedule
	for _, f := range fields {
		d, err := validation.ParseDelay(f)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// Attempts returns the number of attempts that the schedule allows.
func (l RetrySchedule) Attempts() int { return 1 + len(l) }

// Retry reports whether another attempt follows after so many attempts.
func (l RetrySchedule) Retry(attempts int) bool { return attempts < l.Attempts() }

// Delay returns the delay from the given attempt, counted from 1, to the next step:
// the delay of the next retry, if there is one; after the last retry the fallback
// delay if another mode follows, otherwise the last delay once more; the fallback
// delay if the schedule has no retries.
func (l RetrySchedule) Delay(attempt int, another bool, fallback time.Duration) time.Duration {
	attempt = max(attempt, 1)
	switch {
	case attempt <= len(l):
		return l[attempt-1]
	case another || len(l) == 0:
		return fallback
	default:
		return l[len(l)-1]
	}
}
