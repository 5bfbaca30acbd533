package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

const dlqAbout = `Speaks to a running Weir about dead letters: contacts that ended as failed, lost or
dead_letter, and that nobody will retry. Those of respondents are not among them:
their survey retries them.

` + aboutRemote + `

` + aboutExits

const dlqExample = `  weir dlq groups
  weir dlq list --channel sms --outcome lost
  weir dlq requeue --channel sms --reason "the provider refused it: 503" --since 24h
  weir dlq discard --all --until 2026-01-01T00:00:00Z --yes`

// deadFilter holds the flags that select dead letters.
type deadFilter struct{ client.DeadBody }

func (d *deadFilter) add(a *app, c *cobra.Command, r *remote) {
	f := c.Flags()
	f.StringVar(&d.Channel, "channel", "", "only those of this channel")
	f.StringVar(&d.Outcome, "outcome", "", "only dead letters that are failed, lost or dead_letter")
	f.Func("reason", "only those with this reason, as \"weir dlq groups\" shows it; empty: those without", func(text string) error {
		d.Reason = &text
		return nil
	})
	a.moment(c, &d.Since, "since", "only contacts that became dead letters then or later")
	a.moment(c, &d.Until, "until", "only contacts that became dead letters before")
	a.flagNames(c, r, "channel", channelNames)
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"failed", "lost", "dead_letter"}, cobra.ShellCompDirectiveNoFileComp))
}

// given reports whether a flag selects dead letters by what they are.
func (d *deadFilter) given() bool {
	return d.Channel != "" || d.Outcome != "" || d.Reason != nil || !d.Since.IsZero() || !d.Until.IsZero()
}

func (a *app) dlq() *cobra.Command {
	r := newRemote()
	c := command.Group("dlq", "See dead letters, queue them again, discard them", dlqAbout,
		a.dlqGroups(r), a.dlqList(r),
		a.dlqDo(r, "requeue", "Queue dead letters again", `Queues dead letters again, each as a new contact with the same content. Nobody is
contacted twice for one, also when the command is given again. Those whose time is
over, or whose channel is gone, stay.`, "queues %s again", "queued again"),
		a.dlqDo(r, "discard", "Discard dead letters", "Discards dead letters. Their contacts stay readable until their retention ends.", "discards %s", "discarded"))
	c.Example = dlqExample
	a.addressed(c, r)
	return c
}

func (a *app) dlqGroups(r *remote) *cobra.Command {
	var d deadFilter
	var w watching
	c := a.speaking(r, "groups", "Count dead letters by channel, outcome and reason", "Counts dead letters by channel, outcome and reason, the most first.", "  weir dlq groups\n  weir dlq groups --since 24h --watch=10s",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error {
				page, err := to.GroupDeadLetters(ctx, client.GroupDeadLettersParams{Channel: d.Channel, Outcome: d.Outcome, Reason: d.Reason, Since: d.Since, Until: d.Until})
				if err != nil {
					return err
				}
				l := a.list(&r.printing, out, right("COUNT"), left("CHANNEL", 8), left("OUTCOME"), left("OLDEST"), left("NEWEST"), left("REASON", 12))
				for _, g := range page.Groups {
					if err := l.add(g, cells(grouped(int64(g.Count)), g.Channel, stateCell(g.Outcome), a.minute(g.Oldest), a.minute(g.Newest), g.Reason)...); err != nil {
						return err
					}
				}
				return l.end()
			})
		})
	d.add(a, c, r)
	w.flag(c)
	return c
}

func (a *app) dlqList(r *remote) *cobra.Command {
	var d deadFilter
	var w watching
	limit := 100
	c := a.speaking(r, "list", "List dead letters", "Lists dead letters by channel, the latest first.", "  weir dlq list --channel sms --outcome lost\n  weir dlq list --limit 0 --output jsonl > dead.jsonl",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if limit < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			p := client.ListDeadLettersParams{Channel: d.Channel, Outcome: d.Outcome, Reason: d.Reason, Since: d.Since, Until: d.Until, Limit: pageSize(limit)}
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error {
				l := a.list(&r.printing, out, left("CONTACT"), left("CHANNEL", 8), left("TO"), left("OUTCOME"), left("AT"), left("REASON", 12))
				_, err := printList(l, to.DeadLetters(ctx, p), limit, func(d client.DeadView) []terminal.Cell {
					return cells(d.Contact.ID, d.Contact.Channel, d.Contact.To, stateCell(d.Outcome), a.minute(d.At), d.Reason)
				})
				return err
			})
		})
	d.add(a, c, r)
	c.Flags().IntVar(&limit, "limit", limit, "most that are listed; 0: all")
	w.flag(c)
	return c
}

// dlqDo makes a command that changes dead letters.
func (a *app) dlqDo(r *remote, step, short, long, asks, done string) *cobra.Command {
	var d deadFilter
	c := a.speaking(r, step, short, long+"\n\nHow many are meant is counted before, and asked about; --dry-run only counts.", "  weir dlq "+step+" --channel sms --outcome lost --dry-run\n  weir dlq "+step+" --channel sms --outcome lost --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			f := d.DeadBody
			if !d.given() && len(f.Contacts) == 0 && !f.All {
				return command.UsageError(c, "which? --channel, --outcome, --reason, --since, --until and --contact say it, --all takes every one")
			}
			if len(f.Contacts) > 0 && (d.given() || f.All) {
				return command.UsageError(c, "--contact says which, and nothing else beside it")
			}
			if f.Limit < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			count, err := dead(ctx, to, step, f, 1, true)
			if err != nil {
				return err
			}
			meant := count.Matching
			if f.Limit > 0 {
				meant = min(meant, f.Limit)
			}
			if f.DryRun || meant == 0 {
				return a.deadTold(r, count, plural(int64(meant), "dead letter is meant", "dead letters are meant")+"; nothing was done")
			}
			if err := a.confirm(c, "this "+fmt.Sprintf(asks, plural(int64(meant), "dead letter", "dead letters"))); err != nil {
				return err
			}
			return a.deadAll(ctx, r, to, step, done, f, meant)
		})
	d.add(a, c, r)
	c.Flags().StringSliceVar(&d.Contacts, "contact", nil, "ids of the contacts that are meant, up to 200")
	c.Flags().BoolVar(&d.All, "all", false, "all dead letters, if nothing else says which")
	c.Flags().IntVar(&d.Limit, "limit", 0, "most that are dealt with; 0: all")
	c.Flags().BoolVar(&d.DryRun, "dry-run", false, "only count")
	return askable(c)
}

const mostDead = 10_000 // in one request; the API's maximum

// dead makes one request. It is safe to repeat after a lost response.
func dead(ctx context.Context, to *client.Client, step string, f client.DeadBody, limit int, dry bool) (*client.DeadDone, error) {
	f.Limit, f.DryRun = limit, dry
	if step == "discard" {
		return to.DiscardDeadLetters(ctx, f)
	}
	return to.RequeueDeadLetters(ctx, f)
}

// deadAll processes all matching dead letters, with as many requests as needed.
func (a *app) deadAll(ctx context.Context, r *remote, to *client.Client, step, done string, f client.DeadBody, meant int) error {
	line := a.statusLine()
	defer line.clear()
	sum := &client.DeadDone{Matching: meant}
	for sum.Done < meant {
		got, err := dead(ctx, to, step, f, min(mostDead, meant-sum.Done), false)
		if err != nil {
			line.clear()
			return fmt.Errorf("%w\n%s %s before; the same command can be given again", err, grouped(int64(sum.Done)), done)
		}
		sum.Done += got.Done
		sum.WindowClosed, sum.ChannelGone, sum.Remaining = got.WindowClosed, got.ChannelGone, got.Remaining
		line.show(fmt.Sprintf("%s %s of %s %s", bar(sum.Done, meant), grouped(int64(sum.Done)), grouped(int64(meant)), done))
		if got.Done == 0 {
			break
		}
	}
	line.clear()
	text := plural(int64(sum.Done), "dead letter", "dead letters") + " " + done
	if sum.WindowClosed > 0 {
		text += fmt.Sprintf(", %s stay because their time is over", grouped(int64(sum.WindowClosed)))
	}
	if sum.ChannelGone > 0 {
		text += fmt.Sprintf(", %s stay because their channel is gone", grouped(int64(sum.ChannelGone)))
	}
	if sum.Remaining > 0 {
		text += fmt.Sprintf("; %s of the matching ones remain", grouped(int64(sum.Remaining)))
	}
	return a.deadTold(r, sum, text)
}

func (a *app) deadTold(r *remote, sum *client.DeadDone, text string) error {
	raw, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	return a.told(r, raw, "%s", text)
}
