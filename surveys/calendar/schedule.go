// Package calendar defines when a survey may contact respondents: weekdays, windows,
// blocked days, first and last date, in a time zone. Pure, except that
// [Compile] loads the zone with time.LoadLocation.
package calendar

import (
	"iter"
	"slices"
	"time"

	"weir/operators"
)

// Grace is the time from the end of a survey's last window until the survey is
// stopped.
const Grace = 5 * time.Minute

// mergeDays bounds the merging of adjacent windows: a schedule that never closes has
// windows of a week.
const mergeDays = 7

// Schedule defines when the respondents of a survey may be contacted. It is made
// by [Compile] and is immutable.
//
// A window includes its first instant and excludes its last. Its ends are local
// times; where clocks jump, a skipped local time is the next valid instant and a
// repeated one counts once, the first time. A window that lies within a skipped
// hour does not open on that day.
type Schedule struct {
	zone       *time.Location
	days       [7]bool
	windows    []window    // sorted, disjoint
	blocked    []time.Time // dates, sorted
	start, end time.Time   // dates, inclusive; zero: unbounded
	last       time.Time
}

type window struct{ from, to Clock }

// Span is a time during which a schedule is open; it excludes Close.
type Span struct{ Open, Close time.Time }

// Zone returns the time zone of the schedule.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Contains reports whether contacts may be made at t.
func (s *Schedule) Contains(t time.Time) bool {
	sp, ok := s.next(t)
	return ok && !t.Before(sp.Open)
}

// NextOpen returns t if the schedule is open then, otherwise the next instant at
// which it opens; ok is false if it never does.
func (s *Schedule) NextOpen(t time.Time) (_ time.Time, ok bool) {
	sp, ok := s.next(t)
	if !ok {
		return time.Time{}, false
	}
	return LaterOf(t, sp.Open), true
}

// next returns the first window that closes after t.
func (s *Schedule) next(t time.Time) (out Span, ok bool) {
	s.spans(t)(func(sp Span) bool {
		out, ok = sp, true
		return false
	})
	return out, ok
}

// Window returns the window that is open at t or opens next. Adjacent
// windows are merged, up to a week from t. Open is the opening on t's own day.
func (s *Schedule) Window(t time.Time) (_ Span, ok bool) {
	var out Span
	limit := time.Time{}
	for sp := range s.spans(t) {
		switch {
		case out.Close.IsZero():
			out = sp
			limit = LaterOf(t, sp.Open).AddDate(0, 0, mergeDays)
		case sp.Open.Equal(out.Close) && sp.Open.Before(limit):
			out.Close = sp.Close
		default:
			return out, true
		}
	}
	return out, !out.Close.IsZero()
}

// LastClose returns the end of the last window; ok is false if the schedule has no
// last date.
func (s *Schedule) LastClose() (_ time.Time, ok bool) { return s.last, !s.last.IsZero() }

// Over reports whether the last window has closed and [Grace] has passed.
func (s *Schedule) Over(now time.Time) bool {
	return !s.last.IsZero() && !now.Before(s.last.Add(Grace))
}

// Later returns the instant at which the schedule will have been open for the given
// time since t; ok is false if that does not happen within ten years.
func (s *Schedule) Later(t time.Time, open time.Duration) (_ time.Time, ok bool) {
	for sp := range s.spans(t) {
		from := LaterOf(t, sp.Open)
		if left := sp.Close.Sub(from); left < open {
			open -= left
			continue
		}
		return from.Add(open), true
	}
	return time.Time{}, false
}

// spans yields the windows that close after t, in order.
func (s *Schedule) spans(t time.Time) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		first := LaterOf(dateOf(t.In(s.zone)), s.start)
		for d, n := first, s.maxSearchDays(); n > 0 && (s.end.IsZero() || !d.After(s.end)); d, n = d.AddDate(0, 0, 1), n-1 {
			for sp := range s.day(d) {
				if sp.Close.After(t) && !yield(sp) {
					return
				}
			}
		}
	}
}

// maxSearchDays returns how many days are searched before a schedule counts as never opening
// again: ten years, and enough for each blocked day to block a week.
func (s *Schedule) maxSearchDays() int { return 3660 + 7*len(s.blocked) }

// day yields the windows of one day. They are in order, also across days, because
// [instant] is monotonic in the local time.
func (s *Schedule) day(d time.Time) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if _, blocked := slices.BinarySearchFunc(s.blocked, d, time.Time.Compare); blocked || !s.days[d.Weekday()] {
			return
		}
		for _, w := range s.windows {
			sp := Span{Open: instant(d, w.from, s.zone), Close: instant(d, w.to, s.zone)}
			if sp.Close.After(sp.Open) && !yield(sp) {
				return
			}
		}
	}
}

// lastClose returns the end of the last window up to the last date.
func (s *Schedule) lastClose() (last time.Time) {
	if s.end.IsZero() {
		return time.Time{}
	}
	for d, n := s.end, s.maxSearchDays(); n > 0 && !d.Before(s.start) && last.IsZero(); d, n = d.AddDate(0, 0, -1), n-1 {
		for sp := range s.day(d) {
			last = sp.Close
		}
	}
	return last
}

// OpenBetween returns how long the schedule is open between a and b, which must
// not be more than some years apart.
func (s *Schedule) OpenBetween(a, b time.Time) time.Duration {
	sum := time.Duration(0)
	for _, sp := range s.Between(a, b) {
		sum += sp.Close.Sub(sp.Open)
	}
	return sum
}

// Between returns the windows between a and b, cut at both.
func (s *Schedule) Between(a, b time.Time) (list []Span) {
	for sp := range s.spans(a) {
		if !sp.Open.Before(b) {
			break
		}
		if sp.Close.After(b) {
			sp.Close = b
		}
		list = append(list, Span{Open: LaterOf(a, sp.Open), Close: sp.Close})
	}
	return list
}

// Union returns how long at least one of some windows is open.
func Union(spans []Span) (sum time.Duration) {
	var until time.Time
	for _, sp := range slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return a.Open.Compare(b.Open) }) {
		if from := LaterOf(until, sp.Open); sp.Close.After(from) {
			sum, until = sum+sp.Close.Sub(from), sp.Close
		}
	}
	return sum
}

// WhyClosed explains when a closed schedule opens.
func (s *Schedule) WhyClosed(now time.Time) operators.Why {
	if open, ok := s.NextOpen(now); ok {
		return operators.NewWhy(operators.WhyWindow, operators.TextScheduleOpens, s.Fields(open)...)
	}
	return operators.NewWhy(operators.WhyWindow, operators.TextScheduleOver)
}

// FormatLocal formats an instant in the zone of the schedule.
func (s *Schedule) FormatLocal(t time.Time) string {
	return t.In(s.zone).Format("Mon 2006-01-02 15:04 ") + s.zone.String()
}

// Fields returns an instant for [operators.NewClause], with day and time in the zone of the schedule.
func (s *Schedule) Fields(t time.Time) []any {
	local := t.In(s.zone)
	return []any{"at", t, "day", local.Format("Mon"), "time", local.Format("15:04"), "zone", s.zone}
}

// LaterOf returns the later of two instants.
func LaterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
