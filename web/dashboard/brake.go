package dashboard

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/web/dashboard/locale"
)

// brakeView shows the brake of a channel or survey.
type brakeView struct {
	Rule   string // in words
	Counts []fact // what it counts; nil: not known
	Braked *weir.Braked
	Since  time.Time // when it has acted
}

// brakeOf returns the brake as pages show it; nil if there is none, and none has acted.
func brakeOf(l *locale.Locale, b *weir.Brake, count *weir.BrakeFigures, braked *weir.Braked) *brakeView {
	if b == nil && braked == nil {
		return nil
	}
	v := &brakeView{Braked: braked}
	if braked != nil {
		v.Since = braked.At
	}
	if b == nil {
		return v
	}
	v.Rule = b.Text()
	if count == nil {
		return v
	}
	share := func(n, bound int) string {
		text := l.Number(n) + " of " + l.Number(count.Of)
		if bound > 0 {
			text += "; more than " + strconv.Itoa(bound) + " % pause it"
		}
		return text
	}
	if b.OptedOut > 0 {
		v.Counts = append(v.Counts, fact{"Opted out", share(count.OptedOut, b.OptedOut)})
	}
	if b.Failed > 0 {
		v.Counts = append(v.Counts, fact{"Failed", share(count.Failed, b.Failed)})
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		v.Counts = append(v.Counts, fact{"Reason: " + reason, share(count.Reasons[reason], b.Reasons[reason])})
	}
	v.Counts = append(v.Counts, fact{"Ended since the count began", l.T("%d contacts", count.Touched)})
	return v
}
