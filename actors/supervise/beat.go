package supervise

import "time"

// Beat returns the time until the next multiple of every, which is the same
// instant for all callers with that interval: roles that are renewed together are
// renewed by one statement.
func Beat(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now.Round(0))
}
