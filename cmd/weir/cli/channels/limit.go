package channels

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/api"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const aboutLimits = `Bound what several channels do together, such as the numbers of one account at a provider:
contacts in flight, dispatches a second, new people a day, money; or what surveys may
cost. A limit is looked at when a contact is claimed, and never exceeded, also not after
a crash. Money needs the prices of the channels: see "weir price".`

const limitExample = `  weir limit put gateway --channel texts --channel reminders --in-flight 50 --per-second 20
  weir limit put portfolio --channel whatsapp-1 --channel whatsapp-2 --new-people-per-day 1000
  weir limit put health --survey health-2026 --money 2500 --money-per-day 200 --currency USD
  weir limit list --watch`

// LimitCommand makes "weir limit".
func LimitCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("limit", "Set limits that channels share", aboutLimits, limitExample,
		limitListCommand(a, r), limitShowCommand(a, r), limitPutCommand(a, r), limitDeleteCommand(r))
}

func limitListCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.WatchCommand("list", "List limits", "List all limits by name, with how much of them is used.", "  weir limit list --watch",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			all, err := to.ListLimits(ctx)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, out, limitColumns()...)
			for i := range all.Limits {
				x := &all.Limits[i]
				texts := []any{x.Name}
				for _, b := range x.Bounds() {
					texts = append(texts, ofMost(b))
				}
				texts = append(texts, cmp.Or(strings.Join(moneyOf(x), ", "), "-"), strings.Join(append(slices.Clone(x.Channels), x.Surveys...), " "), x.Title)
				if err := l.Add(x, app.Cells(texts...)...); err != nil {
					return err
				}
			}
			return l.Close()
		})
}

// moneyOf returns the limits of money, with how much of them is used.
func moneyOf(x *client.LimitView) (list []string) {
	for _, m := range []struct{ spent, most, when string }{{x.MoneyToday, x.MoneyPerDay, " today"}, {x.MoneyMonth, x.MoneyPerMonth, " this month"}, {x.MoneySpent, x.Money, ""}} {
		if m.most != "" {
			list = append(list, fmt.Sprintf("%s of %s %s%s", m.spent, m.most, x.Currency, m.when))
		}
	}
	return list
}

// ofMost says how much of a number is used.
func ofMost(b api.Bound) string {
	switch {
	case b.Most == 0:
		return "-"
	case !b.Counted:
		return fmt.Sprint(b.Most)
	}
	return fmt.Sprintf("%d of %d", b.Used, b.Most)
}

func limitColumns() []terminal.Column {
	list := []terminal.Column{app.Column("LIMIT")}
	for _, b := range new(api.Limit).Bounds() {
		list = append(list, app.Column(strings.ToUpper(b.Words)))
	}
	return append(list, app.Column("MONEY"), app.Column("CHANNELS, SURVEYS", 12), app.Column("TITLE", 8))
}

func limitShowCommand(a *app.App, r *app.Connection) *cobra.Command {
	return app.ShowCommand(a.Clock, r, "show NAME", "Show a limit", "Show a limit, and how much of it is used.", "  weir limit show portfolio", (*client.Client).GetLimit, limitText)
}

func limitText(_ *app.Clock, x *client.LimitView, _ bool) string {
	var b strings.Builder
	_, _ = fmt.Fprintln(&b, terminal.Visible(strings.TrimSpace(x.Name+"  "+x.Title)))
	line := func(name, text string) { terminal.Field(&b, 22, name, text) }
	for _, n := range x.Bounds() {
		line(n.Words, ofMost(n))
	}
	line("money", cmp.Or(strings.Join(moneyOf(x), ", "), "-"))
	line("channels", cmp.Or(strings.Join(x.Channels, " "), "all"))
	line("surveys", cmp.Or(strings.Join(x.Surveys, " "), "-"))
	return b.String()
}

func limitPutCommand(a *app.App, r *app.Connection) *cobra.Command {
	var body client.Limit
	var params client.PutLimitParams
	c := r.APICommand("put NAME", "Create or replace a limit", "Set all of a limit: what is not given is not limited.", limitExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if len(body.Channels) == 0 && len(body.Surveys) == 0 {
				return command.UsageError(c, "give --channel or --survey")
			}
			x, err := to.PutLimit(ctx, args[0], body, params)
			if err != nil {
				return err
			}
			if params.DryRun {
				return a.Console.PrintChecked(&r.Output, args[0])
			}
			return a.Console.PrintValue(&r.Output, x, "%s: saved", x.Name)
		})
	app.AddFields(c, &body)
	app.DryRunFlag(c, &params.DryRun)
	r.CompleteFlag(c, "channel", app.ChannelNames)
	return c
}

func limitDeleteCommand(r *app.Connection) *cobra.Command {
	return r.DeleteCommand("delete NAME", "Delete a limit", "Delete a limit. Its channels are bounded by their own settings alone.", "  weir limit delete portfolio --yes",
		"this deletes the limit %s", "limit", (*client.Client).DeleteLimit)
}
