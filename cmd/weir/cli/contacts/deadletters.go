package contacts

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const deadLettersAbout = `List, requeue and discard dead letters of a running Weir: contacts that ended as
failed, lost or dead_letter and are not retried. Contacts of surveys are not included:
the survey retries them.`

const deadLettersExample = `  weir dlq groups
  weir dlq list --channel sms --outcome lost
  weir dlq requeue --channel sms --reason "the provider refused it: 503" --since 24h
  weir dlq discard --all --until 2026-01-01T00:00:00Z --yes`

// deadLetterFilter holds the flags that select dead letters.
type deadLetterFilter struct{ client.DeadBody }

func (d *deadLetterFilter) add(clock *app.Clock, c *cobra.Command, r *app.Connection) {
	f := c.Flags()
	f.StringVar(&d.Channel, "channel", "", "only dead letters of this channel")
	f.StringVar(&d.Outcome, "outcome", "", "only dead letters with this outcome: failed, lost or dead_letter")
	f.Func("reason", "only dead letters with this reason, as \"weir dlq groups\" shows it; empty: without a reason", func(text string) error {
		d.Reason = &text
		return nil
	})
	clock.TimeFlag(c, &d.Since, "since", "only contacts that became dead letters at or after")
	clock.TimeFlag(c, &d.Until, "until", "only contacts that became dead letters before")
	r.CompleteFlag(c, "channel", app.ChannelNames)
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"failed", "lost", "dead_letter"}, cobra.ShellCompDirectiveNoFileComp))
}

// given reports whether a flag selects dead letters by what they are.
func (d *deadLetterFilter) given() bool {
	return d.Channel != "" || d.Outcome != "" || d.Reason != nil || !d.Since.IsZero() || !d.Until.IsZero()
}

// DeadLettersCommand makes "weir dlq".
func DeadLettersCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("dlq", "List, requeue and discard dead letters", deadLettersAbout, deadLettersExample,
		deadLetterGroupsCommand(a, r), deadLetterListCommand(a, r), deadLetterExportCommand(a, r),
		deadLetterActionCommand(a, r, "requeue", "Queue dead letters again", `Queue dead letters again, each as a new contact with the same content. Running the
command twice does not contact a person twice. Dead letters whose window is closed, or
whose channel was deleted, are skipped.`, "queues %s again", "queued again"),
		deadLetterActionCommand(a, r, "discard", "Discard dead letters", "Discard dead letters. Their contacts stay readable until their retention ends.", "discards %s", "discarded"))
}

// deadLetterGroupsCommand makes "weir dlq groups".
func deadLetterGroupsCommand(a *app.App, r *app.Connection) *cobra.Command {
	var d deadLetterFilter
	c := r.WatchCommand("groups", "Count dead letters by channel, outcome and reason", "Count dead letters by channel, outcome and reason, largest group first.", "  weir dlq groups\n  weir dlq groups --since 24h --watch=10s",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			page, err := to.GroupDeadLetters(ctx, client.GroupDeadLettersParams{Channel: d.Channel, Outcome: d.Outcome, Reason: d.Reason, Since: d.Since, Until: d.Until})
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, out, app.NumberColumn("COUNT"), app.Column("CHANNEL", 8), app.Column("OUTCOME"), app.Column("OLDEST"), app.Column("NEWEST"), app.Column("REASON", 12))
			for _, g := range page.Groups {
				if err := l.Add(g, app.Cells(terminal.Number(g.Count), g.Channel, app.StateCell(g.Outcome), a.Clock.FormatMinute(g.Oldest), a.Clock.FormatMinute(g.Newest), g.Reason)...); err != nil {
					return err
				}
			}
			return l.Close()
		})
	d.add(a.Clock, c, r)
	return c
}

// deadLetterListCommand makes "weir dlq list".
func deadLetterListCommand(a *app.App, r *app.Connection) *cobra.Command {
	var d deadLetterFilter
	limit := 100
	c := r.WatchCommand("list", "List dead letters", "List dead letters by channel, newest first.", "  weir dlq list --channel sms --outcome lost\n  weir dlq list --limit 0 --output jsonl > dead.jsonl",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			p := client.ListDeadLettersParams{Channel: d.Channel, Outcome: d.Outcome, Reason: d.Reason, Since: d.Since, Until: d.Until, Limit: app.PageSize(limit)}
			l := a.Console.NewList(&r.Output, out, app.Column("CONTACT"), app.Column("CHANNEL", 8), app.Column("TO"), app.Column("OUTCOME"), app.Column("AT"), app.Column("REASON", 12))
			return app.PrintList(l, to.DeadLetters(ctx, p), limit, func(d client.DeadView) []terminal.Cell {
				return app.Cells(d.Contact.ID, d.Contact.Channel, d.Contact.To, app.StateCell(d.Outcome), a.Clock.FormatMinute(d.At), d.Reason)
			})
		})
	d.add(a.Clock, c, r)
	app.LimitFlag(c, &limit, "maximum number of dead letters; 0: all")
	return c
}

// deadLetterExportCommand makes "weir dlq export".
func deadLetterExportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var d deadLetterFilter
	var e app.Export
	c := r.APICommand("export", "Export dead letters to a CSV file", `Write a row for each dead letter, by channel, newest first. Without pii:read phone numbers
are masked. An incomplete export leaves no file.`, "  weir dlq export --channel sms --outcome lost",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			body, err := to.ExportDeadLetters(ctx, client.ExportDeadLettersParams{Channel: d.Channel, Outcome: d.Outcome, Reason: d.Reason, Since: d.Since, Until: d.Until, Spreadsheet: e.Spreadsheet()})
			if err != nil {
				return err
			}
			return e.Write(a, c, r, body, "dead-letters.csv")
		})
	d.add(a.Clock, c, r)
	e.AddTo(c, "dead-letters.csv")
	return c
}

// deadLetterActionCommand makes a command that changes dead letters.
func deadLetterActionCommand(a *app.App, r *app.Connection, step, short, long, asks, done string) *cobra.Command {
	var d deadLetterFilter
	c := r.APICommand(step, short, long+"\n\nThe matching dead letters are counted first, and you are asked to confirm; --dry-run\nonly counts.", "  weir dlq "+step+" --channel sms --outcome lost --dry-run\n  weir dlq "+step+" --channel sms --outcome lost --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			f := d.DeadBody
			if !d.given() && len(f.Contacts) == 0 && !f.All {
				return command.UsageError(c, "select dead letters with --channel, --outcome, --reason, --since, --until or --contact, or all of them with --all")
			}
			if len(f.Contacts) > 0 && (d.given() || f.All) {
				return command.UsageError(c, "--contact cannot be combined with other filters")
			}
			count, err := actOnDeadLetters(ctx, to, step, f, 1, true)
			if err != nil {
				return err
			}
			matching := count.Matching
			if f.Limit > 0 {
				matching = min(matching, int64(f.Limit))
			}
			if f.DryRun || matching == 0 {
				return a.Console.PrintValue(&r.Output, count, "%s; nothing was changed", terminal.Plural(matching, "dead letter matches", "dead letters match"))
			}
			if err := a.Console.Confirm(c, "this "+fmt.Sprintf(asks, terminal.Plural(matching, "dead letter", "dead letters"))); err != nil {
				return err
			}
			return actOnAllDeadLetters(ctx, a.Console, r, to, step, done, f, matching)
		})
	d.add(a.Clock, c, r)
	c.Flags().StringSliceVar(&d.Contacts, "contact", nil, "ids of contacts, comma-separated, up to 200")
	c.Flags().BoolVar(&d.All, "all", false, "all dead letters")
	app.LimitFlag(c, &d.Limit, "maximum number of dead letters; 0: all")
	c.Flags().BoolVar(&d.DryRun, "dry-run", false, "only count")
	return app.Confirmable(c)
}

const maxDeadLetters = 10_000 // in one request; the API's maximum

// actOnDeadLetters makes one request. It is safe to repeat after a lost response.
func actOnDeadLetters(ctx context.Context, to *client.Client, step string, f client.DeadBody, limit int, dry bool) (*client.DeadDone, error) {
	f.Limit, f.DryRun = limit, dry
	if step == "discard" {
		return to.DiscardDeadLetters(ctx, f)
	}
	return to.RequeueDeadLetters(ctx, f)
}

// actOnAllDeadLetters processes all matching dead letters, with as many requests as needed.
func actOnAllDeadLetters(ctx context.Context, console *app.Console, r *app.Connection, to *client.Client, step, done string, f client.DeadBody, matching int64) error {
	line := console.NewStatusLine()
	defer line.Clear()
	sum := &client.DeadDone{Matching: matching}
	for sum.Done < matching {
		// Never more than were confirmed: the filter may match further ones by now.
		got, err := actOnDeadLetters(ctx, to, step, f, int(min(maxDeadLetters, matching-sum.Done)), false)
		if err != nil {
			line.Clear()
			return fmt.Errorf("%w\n%s %s before the error; it is safe to run the same command again", err, terminal.Number(sum.Done), done)
		}
		sum.Done += got.Done
		sum.WindowClosed, sum.ChannelGone, sum.Remaining = got.WindowClosed, got.ChannelGone, got.Remaining
		line.Show(fmt.Sprintf("%s %s of %s %s", terminal.Meter(sum.Done, matching), terminal.Number(sum.Done), terminal.Number(matching), done))
		// What is left is skipped each time: its window is closed, or its channel is gone.
		if got.Done == 0 {
			break
		}
	}
	line.Clear()
	text := terminal.Plural(sum.Done, "dead letter", "dead letters") + " " + done
	if sum.WindowClosed > 0 {
		text += fmt.Sprintf(", %s skipped because their window is closed", terminal.Number(sum.WindowClosed))
	}
	if sum.ChannelGone > 0 {
		text += fmt.Sprintf(", %s skipped because their channel was deleted", terminal.Number(sum.ChannelGone))
	}
	if sum.Remaining > 0 {
		text += fmt.Sprintf("; %s matching remain", terminal.Number(sum.Remaining))
	}
	return console.PrintValue(&r.Output, sum, "%s", text)
}
