package backoff

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter parses the header of that name: seconds or a date. It returns 0 for
// anything else and for a date in the past, and at most a day.
func RetryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(most/time.Second)))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), most))
}
