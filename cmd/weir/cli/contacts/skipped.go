package contacts

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// skippedCommand makes "weir contact skipped".
func skippedCommand(a *app.App, r *app.Connection) *cobra.Command {
	var p client.ListSkippedParams
	c := r.APICommand("skipped", "Count what rules have kept from being contacted", `Count, by channel, survey and rule, the contacts that were suppressed, and how often one
was delayed, by a rule for the sake of the person or by a limit of money or new people.`,
		"  weir contact skipped --days 7\n  weir contact skipped --survey health-2026 --output json",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			all, err := to.ListSkipped(ctx, p)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, c.OutOrStdout(), app.Column("CHANNEL"), app.Column("SURVEY"), app.Column("RULE"), app.NumberColumn("SUPPRESSED"), app.NumberColumn("DELAYED"))
			for i := range all.Skipped {
				x := &all.Skipped[i]
				if err := l.Add(x, app.Cells(cmp.Or(x.Channel, "-"), cmp.Or(x.Survey, "-"), x.Rule, terminal.Number(x.Suppressed), terminal.Number(x.Delayed))...); err != nil {
					return err
				}
			}
			return l.Close()
		})
	f := c.Flags()
	f.StringVar(&p.Channel, "channel", "", "only of this channel")
	f.StringVar(&p.Survey, "survey", "", "only of this survey")
	f.IntVar(&p.Days, "days", 30, "how many days, today the last")
	r.CompleteFlag(c, "channel", app.ChannelNames)
	r.CompleteFlag(c, "survey", app.SurveyNames)
	return c
}
