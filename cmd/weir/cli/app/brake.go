package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/client"
	"weir/cmd/internal/terminal"
)

// BrakeText formats the brake of a channel or survey with what it counts, such as "opted out
// 3 of 80, at most 5 %"; empty without a brake.
func BrakeText(b *client.Brake, count *client.BrakeFigures) string {
	if b == nil {
		return ""
	}
	if count == nil {
		count = &client.BrakeFigures{} // nothing was counted yet
	}
	var parts []string
	add := func(what string, n, percent int) {
		if percent > 0 {
			parts = append(parts, fmt.Sprintf("%s %s of %s, at most %d %%", what, terminal.Number(n), terminal.Number(count.Of), percent))
		}
	}
	add("opted out", count.OptedOut, b.OptedOut)
	add("failed", count.Failed, b.Failed)
	for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
		add(strconv.Quote(reason), count.Reasons[reason], b.Reasons[reason])
	}
	return terminal.Visible(strings.Join(parts, "; "))
}
