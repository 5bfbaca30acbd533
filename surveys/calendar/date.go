package calendar

import (
	"fmt"
	"time"

	"weir/internal/validation"
)

// dateOf returns the date of an instant in the instant's own zone, as the midnight that
// begins it in UTC. A date has no zone of its own; the zero time is no date.
func dateOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// Clock is a local time of day, in minutes after midnight. 24:00 is the end of
// the day.
type Clock int

const endOfDay Clock = 24 * 60

// ParseClock parses a time like 09:00, from 00:00 to 24:00.
func ParseClock(s string) (Clock, error) {
	if s == "24:00" {
		return endOfDay, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, fmt.Errorf("%q is not a time of day from 00:00 to 24:00", validation.Clip(s))
	}
	return Clock(t.Hour()*60 + t.Minute()), nil
}

// String returns the form that ParseClock parses.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// instant returns the first instant at which the clocks of a zone show the given
// local time of a date or a later one. This defines both clock changes: a skipped local
// time is the instant of the jump, the next valid one; a repeated one is the
// first of the two.
func instant(date time.Time, c Clock, zone *time.Location) time.Time {
	// No zone was ever further than 16 hours from UTC, but one jumped back by
	// 23 hours. Before this instant the clocks have not yet shown the time.
	const before = 26 * time.Hour
	wall := date.Add(time.Duration(c) * time.Minute)
	for t := wall.Add(-before).In(zone); ; {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if at.Before(t) {
			return t.UTC()
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end
	}
}
