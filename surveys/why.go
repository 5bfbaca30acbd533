package surveys

import (
	"fmt"
	"time"

	"weir/ops"
)

// Why returns why a respondent without an open contact waits, as far as its own
// progress determines it. It is zero for a final respondent, and for one that is to
// be contacted now: then the survey or a channel delays it.
func (pl *Plan) Why(p Progress, now time.Time) ops.Why {
	switch {
	case p.Status == Pending && p.DelayedUntil.After(now):
		return ops.Why{Code: ops.WhyAside, Text: fmt.Sprintf("set aside until %s: its contact could not be made, or its channel had no room", ops.WhyAt(p.DelayedUntil))}
	case p.Status != Active || p.Due(now) || p.DueAt.IsZero():
		return ops.Why{}
	case p.FailedSteps > 0:
		return ops.Why{Code: ops.WhyAside, Text: fmt.Sprintf("set aside until %s: its contact could not be made", ops.WhyAt(p.DueAt))}
	}
	due := pl.Schedule.formatLocal(p.DueAt)
	next, _ := pl.Timeout(p, p.DueAt)
	switch {
	case next.Status.Final():
		return ops.Why{Code: ops.WhyAnswer, Text: "an answer is awaited until " + due + "; nothing is left to try after that"}
	case next.Contact == Idle: // the schedule was changed since
		return ops.Why{Code: ops.WhyWindow, Text: "its next step is due when the schedule opens " + pl.Schedule.formatLocal(next.DueAt)}
	case next.Step != p.Step:
		return ops.Why{Code: ops.WhyRetry, Text: fmt.Sprintf("the first attempt by %s is due %s", pl.Mode(next), due)}
	default:
		return ops.Why{Code: ops.WhyRetry, Text: fmt.Sprintf("attempt %d by %s is due %s", next.Tries, pl.Mode(next), due)}
	}
}
