package surveys

import (
	"slices"
	"time"

	"weir/surveys/calendar"
	"weir/surveys/pacing"
)

// Passed counts respondents by what they came to. Each is counted once in each number.
type Passed struct{ Started, Answered, Completed int }

// Add returns the sums of both.
func (p Passed) Add(o Passed) Passed {
	return Passed{p.Started + o.Started, p.Answered + o.Answered, p.Completed + o.Completed}
}

// PassedBy returns what a respondent came to by a move.
func PassedBy(was, is *Respondent) (p Passed) {
	one := func(before, after bool) int {
		if after && !before {
			return 1
		}
		return 0
	}
	p.Started = one(!was.Started.IsZero(), !is.Started.IsZero())
	p.Answered = one(was.CameTo(Started), is.CameTo(Started))
	p.Completed = one(was.CameTo(Complete), is.CameTo(Complete))
	return p
}

// ActivityStep is the width of the steps of an [Activity]: every offset of a time zone from
// UTC is a multiple of it, so that hours and days of each zone can be made of them.
const ActivityStep = 15 * time.Minute

// Activity is what respondents came to in a quarter of an hour, in one mode and arm.
type Activity struct {
	At   time.Time // the beginning
	Mode Mode      // empty: not known
	Arm  int
	Passed
}

// Course is how a survey goes, by day: what happened, and what is expected.
type Course struct {
	Zone   *time.Location // of the days and hours
	Days   []CourseDay
	Total  Passed
	Modes  map[Mode]Passed
	Arms   []Passed
	Weekly [7][24]int // answers by weekday, from Monday, and hour
	Launch Forecast   // as of the launch, with the respondents and capacities of now
	Rest   Forecast   // of the respondents that are left, from now
}

// CourseDay is one day of a [Course].
type CourseDay struct {
	Begin    time.Time // in the zone of the course
	Windows  []calendar.Span
	Passed   Passed
	Expected float64       // respondents to start, by the forecast of the launch
	Load     []ChannelLoad // of the respondents that are left
}

// ChannelLoad is the time for which slots of a channel are taken, added up over the slots.
type ChannelLoad struct {
	Channel string
	Time    time.Duration
}

// CourseQuery says of what a course is made.
type CourseQuery struct {
	Now         time.Time
	Launched    time.Time // zero: as if it were launched now
	Over        bool      // it starts nobody any more
	Respondents int
	Tally       Tally
	Capacity    map[string]int // slots of each channel that respondents can use
	Activity    []Activity
	Zone        *time.Location // of the days and hours; nil: the zone of the schedule
	Since       time.Time      // an instant of the first day; zero: the launch
	Until       time.Time      // an instant of the last day, at most ten years ahead; zero: now, or the end of the forecast if that is later
}

// MaxCourseDays is how many days a course has at most.
const MaxCourseDays = 92

// CourseOf returns how a survey of a plan goes. The forecasts are those of [Plan.Forecast], spread evenly
// over the time that the schedule is open.
func CourseOf(pl *Plan, q CourseQuery) Course {
	if q.Zone == nil {
		q.Zone = pl.Schedule.Zone()
	}
	begun := q.Launched
	if begun.IsZero() || begun.After(q.Now) { // not by this clock
		begun = q.Now
	}
	if latest := q.Now.Add(maxForecast); q.Until.After(latest) {
		q.Until = latest
	}
	c := Course{Zone: q.Zone, Modes: map[Mode]Passed{}, Arms: make([]Passed, len(pl.Arms)), Launch: pl.Forecast(begun, q.Respondents, q.Capacity), Rest: Forecast{Unknown: true}}
	if !q.Over {
		left, _ := pl.toStart(q.Tally)
		c.Rest = pl.forecastOf(q.Now, left, q.Capacity)
	}
	c.makeDays(&q, begun)
	for i := range c.Days {
		d, end := &c.Days[i], c.dayEnd(i)
		d.Windows = pl.Schedule.Between(d.Begin, end)
		d.Expected = float64(c.Launch.Contacts) * shareOf(&c.Launch, pl.Schedule, begun, d.Begin, end)
		d.Load = loadOf(pl, &c.Rest, shareOf(&c.Rest, pl.Schedule, q.Now, d.Begin, end))
	}
	for i := range q.Activity {
		c.add(&q.Activity[i], q.Zone)
	}
	return c
}

// makeDays lays out the days, the latest if they are too many.
func (c *Course) makeDays(q *CourseQuery, begun time.Time) {
	since, until := q.Since, q.Until
	if since.IsZero() {
		since = begun
	}
	if until.IsZero() {
		until = q.Now
		if !q.Over {
			until = calendar.LaterOf(until, calendar.LaterOf(c.Rest.EndsAt, c.Launch.EndsAt))
		}
		if latest := q.Now.AddDate(0, 0, MaxCourseDays/2); until.After(latest) {
			until = latest // a forecast may be of years
		}
	}
	year, month, day := until.In(q.Zone).Date()
	for i := range MaxCourseDays {
		begin := time.Date(year, month, day-i, 0, 0, 0, 0, q.Zone)
		c.Days = append(c.Days, CourseDay{Begin: begin})
		if !begin.After(since) {
			break
		}
	}
	slices.Reverse(c.Days)
}

// dayEnd returns the end of a day, which is the beginning of the next.
func (c *Course) dayEnd(i int) time.Time {
	if i+1 < len(c.Days) {
		return c.Days[i+1].Begin
	}
	year, month, day := c.Days[i].Begin.Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, c.Days[i].Begin.Location())
}

// shareOf returns which share of a forecast that begins at an instant falls between a and b.
func shareOf(f *Forecast, open *calendar.Schedule, begun, a, b time.Time) float64 {
	if a = calendar.LaterOf(a, begun); b.After(f.EndsAt) {
		b = f.EndsAt
	}
	if f.Unknown || f.Open <= 0 || !a.Before(b) {
		return 0
	}
	return float64(open.OpenBetween(a, b)) / float64(f.Open)
}

// loadOf returns the slot time that a share of the contacts of a forecast takes.
func loadOf(pl *Plan, f *Forecast, share float64) (list []ChannelLoad) {
	sums := map[string]time.Duration{}
	for _, use := range f.Modes {
		if use.First > 0 && share > 0 {
			sums[pl.Channels[use.Mode]] += time.Duration(share * float64(use.First*pl.Size(use.Mode)) * float64(pacing.TypicalHold))
		}
	}
	for _, name := range sortedKeys(sums) {
		list = append(list, ChannelLoad{name, sums[name]})
	}
	return list
}

func (c *Course) add(a *Activity, zone *time.Location) {
	c.Total = c.Total.Add(a.Passed)
	if a.Mode != "" {
		c.Modes[a.Mode] = c.Modes[a.Mode].Add(a.Passed)
	}
	if a.Arm >= 0 && a.Arm < len(c.Arms) {
		c.Arms[a.Arm] = c.Arms[a.Arm].Add(a.Passed)
	}
	local := a.At.In(zone)
	c.Weekly[(int(local.Weekday())+6)%7][local.Hour()] += a.Answered
	i, found := slices.BinarySearchFunc(c.Days, a.At, func(d CourseDay, at time.Time) int { return d.Begin.Compare(at) })
	if !found {
		i--
	}
	if i >= 0 && a.At.Before(c.dayEnd(i)) {
		c.Days[i].Passed = c.Days[i].Passed.Add(a.Passed)
	}
}
