package calendar

import (
	"cmp"
	"fmt"
	"time"

	"weir/internal/validation"
)

// Date is a calendar day without a time zone. The zero Date is no day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate parses 2006-01-02. It accepts the years 1970 to 9998: whatever the
// zone and the delay, an instant derived from such a day can be displayed.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a date like 2026-01-31", validation.Clip(s))
	}
	if t.Year() < 1970 || t.Year() > 9998 {
		return Date{}, fmt.Errorf("%q is not between 1970-01-01 and 9998-12-31", validation.Clip(s))
	}
	return DateOf(t), nil
}

// DateOf returns the date of an instant in the instant's own zone.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// IsZero reports whether d is no day.
func (d Date) IsZero() bool { return d == Date{} }

// Compare orders days.
func (d Date) Compare(e Date) int {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day))
}

// Add returns the day n days later.
func (d Date) Add(n int) Date { return DateOf(d.utc(0).AddDate(0, 0, n)) }

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday { return d.utc(0).Weekday() }

// String returns the form that ParseDate parses.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

func (d Date) utc(c Clock) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, int(c), 0, 0, time.UTC)
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
// local time or a later one. This defines both clock changes: a skipped local
// time is the instant of the jump, the next valid one; a repeated one is the
// first of the two.
func instant(d Date, c Clock, zone *time.Location) time.Time {
	// No zone was ever further than 16 hours from UTC, but one jumped back by
	// 23 hours. Before this instant the clocks have not yet shown the time.
	const before = 26 * time.Hour
	wall := d.utc(c)
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
