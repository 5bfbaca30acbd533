package surveys

import (
	"fmt"
	"time"

	"weir"
)

// Why returns why a respondent without an open contact waits, as far as its own
// progress determines it. It is zero for a final respondent, and for one that is to
// be contacted now: then the survey or a channel delays it.
func (pl *Plan) Why(p Progress, now time.Time) weir.Why {
	switch {
	case p.Status == Pending && p.DelayedUntil.After(now):
		return weir.Why{Code: weir.WhyAside, Text: fmt.Sprintf("set aside until %s: its contact could not be made, or its channel had no room", weir.WhyAt(p.DelayedUntil))}
	case p.Status != Active || p.Due(now) || p.DueAt.IsZero():
		return weir.Why{}
	case p.FailedSteps > 0:
		return weir.Why{Code: weir.WhyAside, Text: fmt.Sprintf("set aside until %s: its contact could not be made", weir.WhyAt(p.DueAt))}
	}
	due := pl.Schedule.formatLocal(p.DueAt)
	next, _ := pl.Timeout(p, p.DueAt)
	switch {
	case next.Status.Final():
		return weir.Why{Code: weir.WhyAnswer, Text: "an answer is awaited until " + due + "; nothing is left to try after that"}
	case next.Contact == Idle: // the schedule was changed since
		return weir.Why{Code: weir.WhyWindow, Text: "its next step is due when the schedule opens " + pl.Schedule.formatLocal(next.DueAt)}
	case next.Step != p.Step:
		return weir.Why{Code: weir.WhyRetry, Text: fmt.Sprintf("the first attempt by %s is due %s", pl.Mode(next), due)}
	default:
		return weir.Why{Code: weir.WhyRetry, Text: fmt.Sprintf("attempt %d by %s is due %s", next.Tries, pl.Mode(next), due)}
	}
}
