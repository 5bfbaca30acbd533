package why

import (
	"maps"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// BrakeView shows the brake of a channel or survey.
type BrakeView struct {
	Rule   string      // in a sentence
	Acted  string      // what it has counted, if it has acted
	Counts []page.Fact // what it counts; nil: not known
	Braked *weir.Braked
	Since  time.Time // when it has acted
}

// BrakeOf returns the brake as pages show it; nil if there is none, and none has acted.
func BrakeOf(l *locale.Locale, b *api.Brake, count *weir.BrakeFigures, braked *weir.Braked) *BrakeView {
	if b == nil && braked == nil {
		return nil
	}
	v := &BrakeView{Braked: braked}
	if braked != nil {
		v.Since, v.Acted = braked.At, BrakedText(l, braked)
	}
	if b == nil {
		return v
	}
	v.Rule = brakeText(l, b)
	if count == nil {
		return v
	}
	share := func(n, bound int) string {
		return l.T("%[1]s of %[2]s; more than %[3]s %% pause it", l.Number(n), l.Number(count.Of), l.Number(bound))
	}
	if b.OptedOut > 0 {
		v.Counts = append(v.Counts, page.Fact{Name: l.T("Opted out"), Value: share(count.OptedOut, b.OptedOut)})
	}
	if b.Failed > 0 {
		v.Counts = append(v.Counts, page.Fact{Name: l.T("Failed"), Value: share(count.Failed, b.Failed)})
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		v.Counts = append(v.Counts, page.Fact{Name: l.T("Reason: %s", l.Reason(reason)), Value: share(count.Reasons[reason], b.Reasons[reason])})
	}
	v.Counts = append(v.Counts, page.Fact{Name: l.T("Ended since the count began"), Value: l.T("%d contacts", count.Touched)})
	return v
}

// brakeText describes a brake in a sentence.
func brakeText(l *locale.Locale, b *api.Brake) string {
	var bounds []string
	if b.OptedOut > 0 {
		bounds = append(bounds, l.T("%s %% opted out", l.Number(b.OptedOut)))
	}
	if b.Failed > 0 {
		bounds = append(bounds, l.T("%s %% failed", l.Number(b.Failed)))
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		bounds = append(bounds, l.T("%[1]s %% ended with the reason %[2]q", l.Number(b.Reasons[reason]), l.Reason(reason)))
	}
	over, minimum := (*weir.Brake)(b).Window()
	return l.T("It pauses itself if, of the last %[1]s contacts, from %[2]s on, more than %[3]s.", l.Number(over), l.Number(minimum), strings.Join(bounds, l.T(", or more than ")))
}

// BrakedText describes what a brake has acted on, in a clause.
func BrakedText(l *locale.Locale, b *weir.Braked) string {
	count, of, bound := l.Number(b.Count), l.Number(b.Of), l.Number(b.Percent)
	switch b.Cause {
	case weir.BrakeOptedOut:
		return l.T("paused itself: %[1]s of the last %[2]s contacts opted out, the bound is %[3]s %%", count, of, bound)
	case weir.BrakeFailed:
		return l.T("paused itself: %[1]s of the last %[2]s contacts failed, the bound is %[3]s %%", count, of, bound)
	case weir.BrakeReason:
		return l.T("paused itself: %[1]s of the last %[2]s contacts ended with the reason %[4]q, the bound is %[3]s %%", count, of, bound, l.Reason(b.Reason))
	}
	return b.Text
}
