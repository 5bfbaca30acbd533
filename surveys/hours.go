package surveys

import (
	"time"

	"weir/people"
)

// LeastHours is how long a survey must be able to contact each of its respondents in a week.
const LeastHours = time.Hour

// HoursFor returns for how long a person who may live in the zones can be contacted in the week
// from the first window on: while the schedule is open and the purpose allows it. It counts
// minutes, and no more than [LeastHours].
func (pl *Plan) HoursFor(purpose *people.Purpose, zones []*time.Location, now time.Time) (open time.Duration) {
	at, ok := pl.Schedule.NextOpen(now.Truncate(time.Minute))
	for end := at.Add(7 * 24 * time.Hour); ok && at.Before(end) && open < LeastHours; at, ok = pl.Schedule.NextOpen(at) {
		if opens := purpose.Opens(at, zones); opens.After(at) {
			at = opens
			continue
		}
		at, open = at.Add(time.Minute), open+time.Minute
	}
	return open
}
