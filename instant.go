package weir

import "time"

// The range of instants that Weir accepts and shows, in microseconds since
// 1970. JSON and RFC 3339 cannot represent instants outside it.
const (
	minInstant = 0                       // 1970-01-01T00:00:00Z
	maxInstant = 253_402_300_799_999_999 // 9999-12-31T23:59:59.999999Z
)

// ParseInstant parses an RFC 3339 instant into UTC, truncated to microseconds.
// It rejects an instant outside of 1970 to 9999 in UTC, whatever its offset:
// no view could show it. The code and the detail are those of a FieldError,
// empty for a valid instant.
func ParseInstant(text string) (at time.Time, code, detail string) {
	t, err := time.Parse(time.RFC3339, text)
	switch us := t.UnixMicro(); {
	case err != nil:
		return time.Time{}, "format", "must be an instant as in RFC 3339, like 2026-01-31T12:00:00Z"
	case us < minInstant || us > maxInstant:
		return time.Time{}, "range", "must be an instant from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59Z"
	}
	return t.UTC().Truncate(time.Microsecond), "", ""
}

// InstantOf returns the instant of a number of microseconds since 1970. A
// number outside the range of [ParseInstant] is clamped to it: a wrongly stored
// value must not break the lists that show it.
func InstantOf(us int64) time.Time {
	return time.UnixMicro(min(max(us, minInstant), maxInstant)).UTC()
}

const secondsPerDay = 24 * 60 * 60

// DayOf returns the day of an instant in UTC, as a number of days since 1970. What is counted for
// each day is counted by it.
func DayOf(at time.Time) int { return int(at.Unix() / secondsPerDay) }

// DayText returns a day of [DayOf] as 2026-03-05.
func DayText(n int) string {
	return time.Unix(int64(n)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}
