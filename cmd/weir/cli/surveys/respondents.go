package surveys

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// respondentsCommand makes "weir survey respondents".
func respondentsCommand(a *app.App, r *app.Connection) *cobra.Command {
	var q client.ListRespondentsParams
	limit := 100
	c := r.WatchCommand("respondents NAME", "List the respondents of a survey", `List the respondents of a survey, by id. --phone finds one by number; it needs the scope
pii:read. With --output json, attributes and attempts are included.`, `  weir survey respondents flu
  weir survey respondents flu --disposition refused,ineligible --limit 0
  weir survey respondents flu --phone +525512345678 --output json`,
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("RESPONDENT"), app.Column("PHONE"), app.Column("STATUS"), app.Column("DISPOSITION"), app.Column("MODE"), app.NumberColumn("ATTEMPTS"), app.Column("NEXT STEP"), app.Column("FINISHED"))
			err := app.PrintList(l, to.Respondents(ctx, args[0], q), limit, func(x client.RespondentView) []terminal.Cell {
				n := x.Attempts.IVR + x.Attempts.SMS + x.Attempts.MobileWeb + x.Attempts.CATI
				return app.Cells(x.ID, x.Phone, app.StateCell(shownStatus(x.Status)), x.Disposition, x.Mode, n, a.Clock.FormatMinute(x.DueAt), a.Clock.FormatMinute(x.FinishedAt))
			})
			if l.More && err == nil && !r.JSON() {
				a.Console.Note("there are more respondents; --limit sets the maximum, 0 lists all")
			}
			return err
		})
	f := c.Flags()
	f.StringVar(&q.Status, "status", "", "only these statuses: pending, active, completed (ended with the conversation), failed, rejected, canceled (comma-separated)")
	f.StringVar(&q.Disposition, "disposition", "", "only these dispositions (comma-separated)")
	a.Clock.TimeFlag(c, &q.Since, "since", "only respondents last changed at or after")
	a.Clock.TimeFlag(c, &q.Until, "until", "only respondents last changed before")
	f.StringVar(&q.Phone, "phone", "", "only the respondent with this phone number")
	f.IntVar(&limit, "limit", limit, "maximum number of respondents; 0 lists all")
	return c
}

// setCommand makes "weir survey set".
func setCommand(r *app.Connection) *cobra.Command {
	var phone string
	var attributes, without []string
	c := r.APICommand("set NAME RESPONDENT", "Correct a respondent", `Correct the phone number or the attributes of a respondent who has not been contacted
yet. A respondent who was skipped because the texts use a value that was missing is
contacted after the correction.`, `  weir survey set flu r2s --phone +525512345678
  weir survey set flu r2s --attribute first_name=Ana --attribute region=north --without age`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			patch := client.RespondentPatch{Phone: phone, Attributes: map[string]any{}}
			for _, text := range attributes {
				name, value, ok := strings.Cut(text, "=")
				if !ok || name == "" {
					return command.UsageError(c, "--attribute must be NAME=VALUE")
				}
				patch.Attributes[name] = value
			}
			for _, name := range without {
				patch.Attributes[name] = nil
			}
			if phone == "" && len(patch.Attributes) == 0 {
				return command.UsageError(c, "nothing to change; add --phone, --attribute or --without")
			}
			x, err := to.PatchRespondent(ctx, args[0], args[1], patch)
			if err != nil {
				return err
			}
			return r.PrintResult("%s: saved, %s", x.ID, respondentState(x))
		})
	f := c.Flags()
	f.StringVar(&phone, "phone", "", "the new phone number")
	f.StringArrayVar(&attributes, "attribute", nil, "NAME=VALUE of an attribute to set (repeatable)")
	f.StringSliceVar(&without, "without", nil, "attribute to remove (repeatable)")
	return c
}

// removeCommand makes "weir survey remove".
func removeCommand(console *app.Console, r *app.Connection) *cobra.Command {
	return app.Confirmable(r.APICommand("remove NAME RESPONDENT", "Remove a respondent", `Remove a respondent with its phone number and attributes. Its attempts stay in the figures
and the log of the survey. While a contact is queued or in flight, stop the respondent
first: "weir survey stop NAME --respondent ID".`, "  weir survey remove flu r2s\n  weir survey remove flu r2s --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := console.Confirm(c, fmt.Sprintf("this removes respondent %s of survey %s", args[1], args[0])); err != nil {
				return err
			}
			if err := to.DeleteRespondent(ctx, args[0], args[1]); err != nil {
				return err
			}
			return console.PrintValue(&r.Output, map[string]any{"survey": args[0], "respondent": args[1], "removed": true}, "%s: removed", args[1])
		}))
}

// respondentState formats status and disposition of a respondent.
func respondentState(x *client.RespondentView) string {
	return strings.Join(slices.Compact([]string{shownStatus(x.Status), x.Disposition}), ", ")
}
