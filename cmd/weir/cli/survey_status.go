package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

func (a *app) surveyStatus(r *remote) *cobra.Command {
	var w watching
	interval := 2 * time.Second
	c := a.speaking(r, "status NAME", "Show how far a survey has come", `Shows the state of a survey, its respondents by status and disposition, quotas,
attempts, rate, estimated end, window and channels.

With --watch it goes on until the survey is done, also while Weir is being
restarted. With --output json it shows what the API says, one line each time.`, `  weir survey status flu
  weir survey status flu --watch=10s
  weir survey status flu --output json | jq .by_status`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if c.Flags().Changed("interval") && w.every > 0 {
				if interval < leastInterval {
					return command.UsageError(c, "--interval must be 100ms or more")
				}
				w.every = interval
			}
			return a.watch(ctx, &r.printing, w.every, func(out io.Writer) (bool, error) { return a.showSurvey(ctx, r, to, args[0], out) })
		})
	w.flag(c)
	c.Flags().DurationVar(&interval, "interval", interval, "the same as a value of --watch")
	c.ValidArgsFunction = a.names(r, surveyNames)
	return c
}

// showSurvey shows a survey once and reports whether it is done.
func (a *app) showSurvey(ctx context.Context, r *remote, to *client.Client, survey string, out io.Writer) (done bool, err error) {
	var raw []byte
	st, err := to.CaptureBody(&raw).GetSurveyStats(ctx, survey)
	if err != nil {
		return false, err
	}
	done = st.State == "done"
	if r.json() {
		return done, rawLine(out, raw)
	}
	s, err := to.GetSurvey(ctx, survey)
	if err != nil {
		return false, err
	}
	v := statusView{now: a.now(), zone: a.zone()}
	_, err = io.WriteString(out, terminal.VisibleLines(v.text(s, st)))
	return done, err
}
