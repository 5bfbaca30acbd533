package surveys

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// showCommand makes "weir survey show".
func showCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	var definition bool
	c := r.WatchCommand("show NAME", "Show the definition of a survey", `Show the definition of a survey: schedule, modes and channels, arms, cutoff and quotas.
With --output json it is complete, including the texts; --definition prints only what
"weir survey put" reads. "weir survey status" shows the progress.`, `  weir survey show flu
  weir survey show flu --output json | jq .questionnaires
  weir survey show flu --definition > flu.json`,
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
			s, err := to.GetSurvey(ctx, args[0])
			switch {
			case err != nil:
				return err
			case definition:
				return writeDefinition(out, r.Body)
			case r.JSON():
				return app.WriteRaw(out, r.Body)
			}
			_, err = io.WriteString(out, surveyText(clock, s))
			return err
		})
	c.Flags().BoolVar(&definition, "definition", false, "print only the definition, as JSON")
	return c
}

// surveyText formats the definition of a survey for people.
func surveyText(clock *app.Clock, s *client.SurveyView) string {
	var b strings.Builder
	line := func(name, text string) { terminal.Field(&b, 14, name, text) }
	number := func(name string, n int) {
		if n > 0 {
			line(name, terminal.Number(n))
		}
	}
	b.WriteString(s.Survey)
	if s.Title != "" {
		fmt.Fprintf(&b, " (%s)", s.Title)
	}
	fmt.Fprintf(&b, ": %s\n", stateText(s.State, s.Cause, s.Locked))
	line("created", clock.FormatSecond(s.CreatedAt))
	line("changed", clock.FormatSecond(s.UpdatedAt))
	line("launched", clock.FormatSecond(s.LaunchedAt))
	line("ended", clock.FormatSecond(s.EndedAt))
	line("schedule", scheduleText(s.Schedule))
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		line("mode "+string(mode), joined(", ", "channel "+s.Modes[mode].Channel, prefixed("retries after ", s.Modes[mode].Retries)))
	}
	for i, arm := range s.Arms {
		share, modes := "", make([]string, len(arm.Modes))
		for j, mode := range arm.Modes {
			modes[j] = string(mode)
		}
		if arm.Ratio > 0 {
			share = fmt.Sprintf("%d %%", arm.Ratio)
		}
		line(fmt.Sprintf("arm %d", i+1), joined(", ", strings.Join(modes, " then "), prefixed("questionnaire ", arm.Questionnaire), share))
	}
	line("fallback", prefixed("after ", s.FallbackDelay))
	number("cutoff", s.Cutoff)
	for _, q := range s.Quotas {
		line("quota", bucket(q.Where)+": "+terminal.Number(q.Quota))
	}
	number("batch", s.BatchSize)
	number("per minute", s.LimitPerMinute)
	number("weight", s.Weight)
	line("labels", strings.Join(s.Labels, ", "))
	for _, b := range s.Breakdowns {
		line("breakdown", b.Attribute+": "+strings.Join(b.Values, ", "))
	}
	line("region", s.Region)
	if s.Application != nil {
		line("application", s.Application.URL)
	}
	if s.Answer != nil {
		line("answer", joined(", ", prefixed("the first message, as ", s.Answer.Attribute), prefixed("thanks: ", s.Answer.Thanks)))
	}
	return terminal.VisibleLines(b.String())
}

// scheduleText formats a schedule on one line.
func scheduleText(s client.ScheduleSpec) string {
	var windows []string
	for _, w := range s.Windows {
		windows = append(windows, w.From+" to "+w.To)
	}
	return joined("; ", joined(" ", strings.Join(s.Weekdays, " "), strings.Join(windows, ", "), s.TimeZone),
		prefixed("from ", s.StartDate), prefixed("until ", s.EndDate), prefixed("not on ", strings.Join(s.BlockedDays, ", ")))
}

// joined joins the texts that are not empty.
func joined(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), between)
}

// prefixed puts a prefix before a text that is not empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
