package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
)

const (
	launchWait  = 15 * time.Minute
	launchPause = 2 * time.Second
)

// surveyLaunch makes the command that launches a survey. Checking the texts of a
// million respondents takes longer than a request may: the server then answers 503,
// and the command repeats the request.
func (a *app) surveyLaunch(r *remote) *cobra.Command {
	wait := launchWait
	c := a.speaking(r, "launch NAME", "Begin to contact the respondents", `Checks that the survey can be run (its channels, its schedule, what its texts
say of each respondent) and begins. A refusal names what is missing.

Of a very large survey the check takes longer than one request may; the launch is
then asked for again until it is done, for as long as --wait says.`, "  weir survey launch flu",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			s, raw, err := a.launch(ctx, to, args[0], wait)
			if err != nil {
				return err
			}
			for _, w := range s.Warnings {
				a.complain(terminal.Visible(w.Pointer + ": " + w.Detail))
			}
			return a.told(r, raw, "%s: %s", args[0], state(s.State, s.Cause))
		})
	c.Flags().DurationVar(&wait, "wait", wait, "how long a launch is asked for that takes long")
	c.ValidArgsFunction = a.names(r, surveyNames)
	return c
}

func (a *app) launch(ctx context.Context, to *client.Client, survey string, wait time.Duration) (s *client.SurveyView, raw []byte, err error) {
	began := a.now()
	ticks, stop := a.tick(launchPause)
	defer stop()
	for told := false; ; {
		s, err = to.CaptureBody(&raw).LaunchSurvey(ctx, survey)
		if client.StatusOf(err) != http.StatusServiceUnavailable || a.now().Sub(began) >= wait {
			return s, raw, err
		}
		if !told {
			told = true
			_, _ = fmt.Fprintf(a.Stderr, "not yet launched, asking again for up to %s: %s\n", span(wait), terminal.Visible(err.Error()))
		}
		select {
		case <-ctx.Done():
			return s, raw, ctx.Err()
		case <-ticks:
		}
	}
}
