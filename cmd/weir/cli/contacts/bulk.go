package contacts

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// maxCanceled is the number of contacts that one request cancels; the API's maximum.
const maxCanceled = 10_000

// cancelFlags holds the flags that select the contacts to cancel.
type cancelFlags struct{ client.CancelBody }

func (f *cancelFlags) add(a *app.App, c *cobra.Command, r *app.Connection) {
	flags := c.Flags()
	flags.StringVar(&f.Channel, "channel", "", "only contacts of this channel")
	flags.StringSliceVar(&f.States, "state", nil, "only contacts in these states: queued, sending, active, unknown (comma-separated)")
	flags.StringVar(&f.Survey, "survey", "", "only contacts of this survey")
	flags.StringVar(&f.Key, "key", "", "only contacts with this idempotency key")
	a.Clock.TimeFlag(c, &f.Since, "since", "only contacts accepted at or after")
	a.Clock.TimeFlag(c, &f.Until, "until", "only contacts accepted before")
	flags.BoolVar(&f.All, "all", false, "all contacts that are not done")
	flags.BoolVar(&f.DryRun, "dry-run", false, "only count")
	app.LimitFlag(c, &f.Limit, "maximum number of contacts; 0: all")
	r.CompleteFlag(c, "channel", app.ChannelNames)
	r.CompleteFlag(c, "survey", app.SurveyNames)
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"queued", "sending", "active", "unknown"}, cobra.ShellCompDirectiveNoFileComp))
}

// selects reports whether a flag selects contacts.
func (f *cancelFlags) selects() bool {
	return f.All || f.Channel != "" || f.States != nil || f.Survey != "" || f.Key != "" || !f.Since.IsZero() || !f.Until.IsZero()
}

// cancelCommand makes "weir contact cancel".
func cancelCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f cancelFlags
	c := r.APICommand("cancel", "Cancel a contact, or all that match", `Cancel a contact, or all that the flags select. A queued contact is done at once. For a
contact in flight the provider is asked to cancel it; it is done when its outcome is
known.

The matching contacts are counted first, and you are asked to confirm; --dry-run only
counts. It is safe to run the same command again: what is done, or being canceled, is
left out.`, `  weir contact cancel 1-1w9gn3k1c740 --yes
  weir contact cancel --channel sms --state queued --dry-run
  weir contact cancel --channel sms --survey flu --yes`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			switch {
			case len(args) == 1 && (f.selects() || f.DryRun || f.Limit > 0):
				return command.UsageError(c, "an ID cannot be combined with flags that select contacts")
			case len(args) == 1:
				return cancelOne(ctx, a.Console, r, c, to, args[0])
			case !f.selects():
				return command.UsageError(c, "ID is missing; or select contacts with --channel, --state, --survey, --key, --since or --until, or all of them with --all")
			}
			return cancelMatching(ctx, a.Console, r, c, to, &f)
		})
	c.Use, c.Args = "cancel [ID]", app.NamedArgs([]string{"[ID]"})
	f.add(a, c, r)
	return app.Confirmable(c)
}

func cancelOne(ctx context.Context, console *app.Console, r *app.Connection, c *cobra.Command, to *client.Client, id string) error {
	if err := console.Confirm(c, "this cancels contact "+id); err != nil {
		return err
	}
	x, err := to.CancelContact(ctx, id)
	if err != nil {
		return err
	}
	if x.State == "done" {
		return r.PrintResult("%s: %s", id, cmp.Or(x.Outcome, x.State))
	}
	return r.PrintResult("%s: %s, canceling", id, x.State)
}

// cancelMatching cancels the contacts that the flags select, with as many requests as needed, after
// they were counted.
func cancelMatching(ctx context.Context, console *app.Console, r *app.Connection, c *cobra.Command, to *client.Client, f *cancelFlags) error {
	body := f.CancelBody
	body.Limit, body.DryRun = 0, true
	count, err := to.CancelContacts(ctx, body)
	if err != nil {
		return err
	}
	matching := count.Matching
	if f.Limit > 0 {
		matching = min(matching, int64(f.Limit))
	}
	if f.DryRun || matching == 0 {
		return console.PrintValue(&r.Output, count, "%s; nothing was changed", terminal.Plural(matching, "contact matches", "contacts match"))
	}
	if err := console.Confirm(c, "this cancels "+terminal.Plural(matching, "contact", "contacts")); err != nil {
		return err
	}
	line := console.NewStatusLine()
	defer line.Clear()
	sum := &client.CancelDone{}
	for body.DryRun = false; sum.Matching < matching; {
		// Never more than were confirmed: the filter may match further ones by now.
		body.Limit = int(min(maxCanceled, matching-sum.Matching))
		got, err := to.CancelContacts(ctx, body)
		if err != nil {
			line.Clear()
			return fmt.Errorf("%w\n%s canceled before the error; it is safe to run the same command again", err, terminal.Number(sum.Canceled+sum.Asked))
		}
		sum.Matching, sum.Waiting, sum.Canceled, sum.Asked, sum.Ended = sum.Matching+got.Matching, sum.Waiting+got.Waiting, sum.Canceled+got.Canceled, sum.Asked+got.Asked, sum.Ended+got.Ended
		sum.More = got.More
		line.Show(fmt.Sprintf("%s %s of %s canceled", terminal.Meter(sum.Matching, matching), terminal.Number(sum.Matching), terminal.Number(matching)))
		if !got.More {
			break
		}
	}
	line.Clear()
	text := terminal.Plural(sum.Canceled, "contact", "contacts") + " canceled"
	if sum.Asked > 0 {
		text += fmt.Sprintf(", %s in flight: the provider is asked to cancel", terminal.Number(sum.Asked))
	}
	if sum.Ended > 0 {
		text += fmt.Sprintf(", %s had ended before", terminal.Number(sum.Ended))
	}
	return console.PrintValue(&r.Output, sum, "%s", text)
}

// exportCommand makes "weir contact export".
func exportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var q contactQuery
	var e app.Export
	c := r.APICommand("export", "Export contacts to a CSV file", `Write a row for each contact, in the order of "weir contact list" with the same flags.
Without pii:read phone numbers are masked. An incomplete export leaves no file.`, `  weir contact export --channel sms --finished-since 24h
  weir contact export --state queued --file - | head`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			q.readFilter(c)
			p := q.p
			body, err := to.ExportContacts(ctx, client.ExportContactsParams{
				Channel: p.Channel, State: p.State, Outcome: p.Outcome, Survey: p.Survey, Key: p.Key, Since: p.Since, Until: p.Until,
				FinishedSince: p.FinishedSince, FinishedUntil: p.FinishedUntil, FinishedAfter: p.FinishedAfter, Order: p.Order, Spreadsheet: e.Spreadsheet(),
			})
			if err != nil {
				return err
			}
			return e.Write(a, c, r, body, "contacts.csv")
		})
	q.filterFlags(a, c, r)
	e.AddTo(c, "contacts.csv")
	return c
}
