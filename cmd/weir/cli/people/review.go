package people

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

// reviewPage is the number of messages of one request.
const reviewPage = 1000

// reviewCommand makes "weir consent review".
func reviewCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.WatchCommand("review", "List messages that may be refusals", `List the messages that contain a stop word or a usual phrase, and other words, and wait for
a decision. Until then the person may be contacted. Without pii:read addresses are masked,
and what was said is left out.`, "  weir consent review",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("ID"), app.Column("AT"), app.Column("ADDRESS"), app.Column("CHANNEL"), app.Column("FOUND"), app.Column("WORDS", 20))
			for cursor := ""; ; {
				page, err := to.ListUndecided(ctx, client.ListUndecidedParams{Limit: reviewPage, Cursor: cursor})
				if err != nil {
					return err
				}
				for i := range page.Messages {
					m := &page.Messages[i]
					if err := l.Add(m, app.Cells(m.ID, a.Clock.FormatMinute(m.At), m.To, m.Channel, m.Found, m.Words)...); err != nil {
						return err
					}
				}
				if cursor = page.NextCursor; cursor == "" {
					return l.Close()
				}
			}
		})
}

// decideCommand makes "weir consent decide".
func decideCommand(a *app.App, r *app.Connection) *cobra.Command {
	return app.Confirmable(r.APICommand("decide ID refused|dismissed", "Decide whether a message is a refusal", `refused records that the person does not want to be contacted, with the message as the
words; only the person takes it back. Other messages of the person that wait are decided,
too. dismissed: the message is about something else.`, "  weir consent decide 252199433679151104 refused --yes\n  weir consent decide 252199433679151105 dismissed --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := a.Console.Confirm(c, "a decision cannot be changed"); err != nil {
				return err
			}
			done, err := to.DecideUndecided(ctx, client.DecisionBody{ID: args[0], Decision: args[1]})
			if err != nil {
				return err
			}
			if is := done.State; done.Decision == "refused" && is.Status != "refused" {
				return command.Exit(app.Rejected, fmt.Sprintf("recorded, and the person is %s: %s, %s, after the message", is.Status, is.Source, a.Clock.FormatMinute(is.At)))
			}
			return a.Console.PrintValue(&r.Output, done, "%s", done.Decision)
		}))
}
