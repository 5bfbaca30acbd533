package surveys

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/api"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// statusCommand makes "weir survey status".
func statusCommand(a *app.App, r *app.Connection) *cobra.Command {
	var w app.WatchFlag
	interval := 2 * time.Second
	c := r.APICommand("status NAME", "Show the progress of a survey", `Show the state of a survey, respondents by status and disposition, quotas, attempts,
rate, estimated end, window and channels.

With --watch it repeats until the survey is done, also while Weir restarts. With
--output json it prints the response of the API, one line each time.`, `  weir survey status flu
  weir survey status flu --watch=10s
  weir survey status flu --output json | jq .by_status`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if c.Flags().Changed("interval") && w.Every > 0 {
				if interval < app.MinInterval {
					return command.UsageError(c, "--interval must be 100ms or more")
				}
				w.Every = interval
			}
			return a.Watcher.RepeatUntil(ctx, &r.Output, w.Every, func(out io.Writer) (bool, error) { return printStatus(ctx, a.Clock, r, to, args[0], out) })
		})
	w.AddTo(c)
	c.Flags().DurationVar(&interval, "interval", interval, "the interval of --watch")
	return c
}

// printStatus shows a survey once and reports whether it is done.
func printStatus(ctx context.Context, clock *app.Clock, r *app.Connection, to *client.Client, survey string, out io.Writer) (done bool, err error) {
	st, err := to.GetSurveyStats(ctx, survey)
	if err != nil {
		return false, err
	}
	done = st.State == "done"
	if r.JSON() {
		return done, app.WriteRaw(out, r.Body)
	}
	s, err := to.GetSurvey(ctx, survey)
	if err != nil {
		return false, err
	}
	st.Why = clock.FormatWhy(st.Why)
	v := statusView{now: clock.Now(), zone: clock.Zone()}
	_, err = io.WriteString(out, terminal.VisibleLines(v.text(s, st)))
	return done, err
}

// statusView formats the status of a survey for people.
type statusView struct {
	now  time.Time
	zone *time.Location
	b    strings.Builder
}

// text returns the complete status.
func (v *statusView) text(s *client.SurveyView, st *client.StatsView) string {
	v.head(s, st)
	shown := map[string]int{}
	for status, n := range st.Statuses {
		shown[shownStatus(status)] += n
	}
	v.counts("Respondents", []string{"pending", "active"}, shown, st.Respondents)
	v.steps(st)
	v.counts("Dispositions", dispositions(), st.Dispositions, st.Respondents)
	v.quotas(st)
	v.attempts(st.Attempts)
	v.channels(st.Channels)
	return v.b.String()
}

// shownStatus returns the status of a respondent as people see it. The status completed
// includes respondents who refused: of one that is done, the disposition is the result.
func shownStatus(status string) string {
	switch status {
	case "completed", "failed", "rejected":
		return "ended"
	default:
		return status
	}
}

// dispositions returns the display order; the API may return values that are not
// listed here.
func dispositions() []string {
	return []string{
		"registered", "queued", "contacted", "started", "interim partial", "completed", "partial",
		"breakoff", "unresponsive", "ineligible", "rejected", "refused", "failed",
	}
}

// head writes state, window, rate and progress.
func (v *statusView) head(s *client.SurveyView, st *client.StatsView) {
	v.b.WriteString(s.Survey)
	if s.Title != "" {
		fmt.Fprintf(&v.b, " (%s)", s.Title)
	}
	fmt.Fprintf(&v.b, ": %s\n", stateText(st.State, s.Cause, s.Locked))
	v.line("why", st.Why)
	v.line("brake", app.BrakeText(s.Brake, st.Brake))
	if s.Braked != nil {
		v.line("braked", fmt.Sprintf("%s, after %s; weir survey resume %s goes on", v.at(s.Braked.At), terminal.Plural(s.Braked.Touched, "contact", "contacts"), terminal.Visible(s.Survey)))
	}
	if b := st.Budget; b != nil {
		v.line("budget", fmt.Sprintf("%s of %s %s spent, %s left", b.Spent, b.Money, b.Currency, b.Left))
	}
	v.line("launched", v.at(s.LaunchedAt))
	v.line("ended", v.at(s.EndedAt))
	v.line("window", v.window(st))
	if st.State != "done" {
		if st.RatePerMinute > 0 {
			v.line("rate", fmt.Sprintf("%.1f respondents a minute", st.RatePerMinute))
		}
		switch {
		case !st.EndsAt.IsZero():
			v.line("estimated end", v.at(st.EndsAt)+v.relative(st.EndsAt))
		case st.State == "running":
			v.line("estimated end", "not yet known")
		}
	}
	if st.Target > 0 {
		v.line("target", fmt.Sprintf("%s of %s %s", terminal.Number(st.Counted), terminal.Number(st.Target), terminal.Meter(st.Counted, st.Target)))
	}
	if st.State != "done" && st.NumbersNeeded != nil && *st.NumbersNeeded > 0 {
		v.line("needed", terminal.Plural(int64(*st.NumbersNeeded), "more number", "more numbers")+" at the present success rate")
	}
	if finished := st.Respondents - st.Statuses["pending"] - st.Statuses["active"]; finished > 0 {
		v.line("success", fmt.Sprintf("%.1f %% of finished respondents", 100*st.SuccessRate))
	}
}

func (v *statusView) line(name, text string) { terminal.Field(&v.b, 14, name, text) }

func (v *statusView) at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(v.zone).Format("Mon 2006-01-02 15:04 MST")
}

// relative formats how far an instant is in the future.
func (v *statusView) relative(t time.Time) string {
	if d := t.Sub(v.now); d > 0 {
		return ", in " + terminal.Duration(d)
	}
	return ""
}

// window describes the current window, or the next one.
func (v *statusView) window(st *client.StatsView) string {
	switch w := st.Window; {
	case w == nil:
		return "closed permanently"
	case st.Open:
		return "open until " + v.at(w.ClosesAt)
	default:
		return "closed; opens " + v.at(w.OpensAt) + v.relative(w.OpensAt)
	}
}

// steps writes how many respondents have come to each step.
func (v *statusView) steps(st *client.StatsView) {
	if st.Respondents == 0 || len(st.Funnel) == 0 {
		return
	}
	v.b.WriteString("\nSteps\n")
	for _, s := range st.Funnel {
		v.count(s.Step, s.Respondents, st.Respondents)
	}
}

// counts writes a group of numbers that add up to all; numbers that are zero are
// left out.
func (v *statusView) counts(title string, order []string, n map[string]int, all int) {
	fmt.Fprintf(&v.b, "\n%s: %s\n", title, terminal.Number(all))
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		if n[name] != 0 {
			v.count(name, n[name], all)
		}
	}
}

func (v *statusView) count(name string, n, all int) {
	fmt.Fprintf(&v.b, "  %-15s  %9s  %5.1f %%  %s\n", name, terminal.Number(int64(n)), 100*float64(n)/float64(max(1, all)), terminal.Meter(n, all))
}

// quotas writes the counts of each quota. A count may exceed its quota: respondents in
// conversation at that time may finish.
func (v *statusView) quotas(st *client.StatsView) {
	if len(st.Quotas) == 0 {
		return
	}
	v.b.WriteString("\nQuotas\n")
	var names []string
	width := 0
	for _, q := range st.Quotas {
		names = append(names, bucket(q.Where))
		width = max(width, len([]rune(names[len(names)-1])))
	}
	exceeded := false
	for i, q := range st.Quotas {
		exceeded = exceeded || q.Counted > q.Quota
		fmt.Fprintf(&v.b, "  %-*s  %7s of %-7s  %s\n", width, names[i], terminal.Number(q.Counted), terminal.Number(q.Quota), terminal.Meter(q.Counted, q.Quota))
	}
	if exceeded {
		v.b.WriteString("  above quota: some respondents were in conversation when the quota was reached\n")
	}
}

// bucket describes the respondents that a quota covers.
func bucket(where map[string]client.Match) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(where)) {
		m := where[name]
		number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
		switch {
		case len(m.In) > 0:
			parts = append(parts, name+" "+strings.Join(m.In, " or "))
		case m.From != nil && m.To == nil:
			parts = append(parts, name+" from "+number(m.From))
		case m.From == nil && m.To != nil:
			parts = append(parts, name+" up to "+number(m.To))
		case m.From != nil:
			parts = append(parts, fmt.Sprintf("%s %s to %s", name, number(m.From), number(m.To)))
		}
	}
	return strings.Join(parts, ", ")
}

// attempts writes one line for each mode.
func (v *statusView) attempts(all []client.AttemptsView) {
	if len(all) == 0 {
		return
	}
	v.b.WriteString("\nAttempts\n")
	var modes []api.Mode
	sums, ends := map[api.Mode]int{}, map[api.Mode][]string{}
	for _, a := range all {
		if !slices.Contains(modes, a.Mode) {
			modes = append(modes, a.Mode)
		}
		sums[a.Mode] += a.Count
		ends[a.Mode] = append(ends[a.Mode], fmt.Sprintf("%s %s", terminal.Number(a.Count), strings.ReplaceAll(a.Outcome, "_", " ")))
	}
	for _, mode := range modes {
		fmt.Fprintf(&v.b, "  %-9s  %9s  %s\n", mode, terminal.Number(int64(sums[mode])), strings.Join(ends[mode], ", "))
	}
}

// channels writes the state of each channel that the survey uses.
func (v *statusView) channels(all []client.ChannelUseView) {
	if len(all) == 0 {
		return
	}
	v.b.WriteString("\nChannels\n")
	for _, u := range all {
		text := cmp.Or(u.State, "unknown")
		if u.Reason != "" && u.State != "up" {
			text += ": " + u.Reason
		}
		if !u.Since.IsZero() {
			text += ", since " + v.at(u.Since)
		}
		fmt.Fprintf(&v.b, "  %-9s  %-15s  %s\n", u.Mode, u.Channel, text)
	}
}

// stateText formats the state of a survey with its cause, and whether it is locked.
func stateText(state api.SurveyState, cause api.SurveyCause, locked bool) string {
	text := string(state)
	if locked {
		text += ", locked"
	}
	why := map[api.SurveyCause]string{
		"exhausted": "finished: everyone was contacted", "reached": "finished: the target is reached",
		"window_over": "finished: the last window has closed", "stopped": "stopped by a user",
		"budget_spent": "finished: its budget is spent",
	}[cause]
	if why == "" {
		return text
	}
	return text + " (" + why + ")"
}
