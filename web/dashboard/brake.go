package dashboard

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/web/dashboard/display"
)

// brakeView shows the brake of a channel or survey.
type brakeView struct {
	Rule   string // in words
	Counts []fact // what it counts; nil: not known
	Braked *weir.Braked
	Since  time.Time // when it has acted
}

// brakeOf returns the brake as pages show it; nil if there is none, and none has acted.
func brakeOf(b *weir.Brake, count *weir.BrakeFigures, braked *weir.Braked) *brakeView {
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
		text := display.Number(n) + " of " + display.Number(count.Of)
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
	v.Counts = append(v.Counts, fact{"Ended since the count began", display.Plural(int64(count.Touched), "contact", "contacts")})
	return v
}
