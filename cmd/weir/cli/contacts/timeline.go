package contacts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// timelineCommand makes "weir contact timeline".
func timelineCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	return app.ShowCommand(clock, r, "timeline ID", "Show the history of a contact", `Show the history of a contact, in order: acceptance, each dispatch to the provider,
reports of the provider, outcome, and API requests about it.`, "  weir contact timeline 1-1w9gn3k1c740\n  weir contact timeline 1-1w9gn3k1c740 --watch=5s",
		(*client.Client).GetTimeline, timelineText)
}

// timelineText formats a history for people, with the time since the previous event,
// in milliseconds where that is less than a second.
func timelineText(clock *app.Clock, x *client.TimelineView, colors bool) string {
	var b strings.Builder
	head := x.ID + " on " + x.Channel
	if x.For != nil {
		head += ", respondent " + x.For.Respondent + " of survey " + x.For.Survey
	}
	fmt.Fprintf(&b, "%s\n", terminal.Visible(head))
	var before time.Time
	for i := range x.Events {
		h := &x.Events[i]
		gap := ""
		switch d := h.At.Sub(before); {
		case before.IsZero() || d < time.Millisecond:
		case d < time.Second:
			gap = fmt.Sprintf("+%d ms", d.Milliseconds())
		default:
			gap = "+" + terminal.Duration(d)
		}
		before = h.At
		text := terminal.Visible(timelineEventText(h))
		if h.At.After(clock.Now()) {
			text = terminal.Faint.Paint(text+" (planned)", colors)
		}
		fmt.Fprintf(&b, "%s  %-12s  %s\n", clock.FormatSecond(h.At), gap, text)
	}
	for _, text := range x.NotRecorded {
		fmt.Fprintf(&b, "%s\n", terminal.Faint.Paint("not recorded: "+terminal.Visible(text), colors))
	}
	return b.String()
}

// timelineEventText describes an event for people.
func timelineEventText(h *client.TimelineEvent) string {
	text := cmp.Or(map[string]string{
		// The keys are words of the API, which stay for its clients; the texts are for people.
		"accepted": "accepted", "made_of": "requeued from dead letter " + h.Contact, "waits_until": "delayed until here", "claimed": "claimed",
		"handed_over": "accepted by the provider", "last_heard": "last report of the provider", "back_in_queue": "queued again", "ended": "done",
		"dead_letter": "became a dead letter", "requeued": "queued again as " + h.Contact, "request": fmt.Sprintf("request %s: %d", h.Action, h.Status),
	}[h.What], h.What)
	if h.Attempt > 0 {
		text = fmt.Sprintf("attempt %d: %s", h.Attempt, text)
	}
	for _, more := range []string{h.Outcome, h.Reason} {
		if more != "" {
			text += ", " + more
		}
	}
	if h.By != "" {
		text += ", by token " + h.By
	}
	return text
}
