package care

import "time"

// Beat is how long it is until the next instant that all who ask every so often
// have in common: roles that are renewed together are renewed by one statement.
func Beat(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now.Round(0))
}
