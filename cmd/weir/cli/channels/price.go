package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/limits"
	"weir/surveys/respondents"
)

const aboutPrices = `Set what contacts over a channel cost: each attempt, each segment of a text message, each
started minute of a call, with other prices for numbers of some prefixes. Each claim
reserves its cost, the end of the contact corrects it, and limits of money count it.`

const priceExample = `  weir price put texts --currency USD --per-segment 0.0075
  weir price put calls --currency USD --per-minute 0.014 --minutes 3 --prefixes rates.csv
  weir price spending --days 7`

// PriceCommand makes "weir price".
func PriceCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("price", "Set what contacts cost, and see what was spent", aboutPrices, priceExample,
		priceListCommand(a, r), priceShowCommand(a, r), pricePutCommand(a, r), priceDeleteCommand(r), spendingCommand(a, r))
}

func priceListCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.APICommand("list", "List prices", "List what contacts cost, by channel.", "  weir price list",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			all, err := to.ListPrices(ctx)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, c.OutOrStdout(), app.Column("CHANNEL"), app.Column("CURRENCY"), app.Column("AN ATTEMPT"), app.Column("A SEGMENT"), app.Column("A MINUTE"))
			for i := range all.Prices {
				x := &all.Prices[i]
				if err := l.Add(x, app.Cells(x.Channel, x.Currency, orDash(x.PerAttempt), orDash(x.PerSegment), orDash(x.PerMinute))...); err != nil {
					return err
				}
			}
			return l.Close()
		})
}

func orDash(amount string) string {
	if amount == "" {
		return "-"
	}
	return amount
}

func priceShowCommand(a *app.App, r *app.Connection) *cobra.Command {
	return app.ShowCommand(a.Clock, r, "show CHANNEL", "Show a price", "Show what contacts over a channel cost.", "  weir price show texts", (*client.Client).GetPrice,
		func(_ *app.Clock, x *client.PriceView, _ bool) string {
			var b strings.Builder
			fmt.Fprintf(&b, "%s, in %s\n  an attempt  %s\n  a segment   %s\n  a minute    %s\n", x.Channel, x.Currency, orDash(x.PerAttempt), orDash(x.PerSegment), orDash(x.PerMinute))
			for _, p := range x.Prefixes {
				fmt.Fprintf(&b, "  %-11s %s an attempt, %s a segment, %s a minute\n", p.Prefix, orDash(p.PerAttempt), orDash(p.PerSegment), orDash(p.PerMinute))
			}
			return b.String()
		})
}

func pricePutCommand(a *app.App, r *app.Connection) *cobra.Command {
	var body client.Price
	var params client.PutPriceParams
	var file string
	c := r.APICommand("put CHANNEL", "Set the price of a channel", aboutPrices+`

--prefixes names a CSV file with a header: prefix, per_attempt, per_segment, per_minute.
Commas, semicolons or tabs separate them. An empty amount is that of the channel. The longest prefix of a number counts.`, priceExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if body.Currency == "" {
				return command.UsageError(c, "give --currency")
			}
			if file != "" {
				var err error
				if body.Prefixes, err = readPrefixes(file); err != nil {
					return err
				}
			}
			x, err := to.PutPrice(ctx, args[0], body, params)
			if err != nil {
				return err
			}
			if params.DryRun {
				return a.Console.PrintChecked(&r.Output, args[0])
			}
			return a.Console.PrintValue(&r.Output, x, "%s: saved (prefixes: %d)", x.Channel, len(x.Prefixes))
		})
	g := c.Flags()
	g.StringVar(&body.Currency, "currency", "", "three letters, such as USD")
	g.StringVar(&body.PerAttempt, "per-attempt", "", "amount for each attempt")
	g.StringVar(&body.PerSegment, "per-segment", "", "amount for each segment of a text message")
	g.StringVar(&body.PerMinute, "per-minute", "", "amount for each started minute of a call")
	g.IntVar(&body.Minutes, "minutes", 0, "minutes of a call that its claim reserves (default 1)")
	g.StringVar(&file, "prefixes", "", "CSV file with prices for prefixes of numbers")
	app.DryRunFlag(c, &params.DryRun)
	return c
}

// readPrefixes reads a CSV file of prices. It reports all mistakes at once.
func readPrefixes(name string) ([]client.PrefixPrice, error) {
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rows, err := respondents.NewTable(f, "")
	if err != nil {
		return nil, fmt.Errorf("%s: the header cannot be read: %w", name, err)
	}
	header, _ := rows.Header()
	columns := []string{"prefix", "per_attempt", "per_segment", "per_minute"}
	for _, h := range header {
		if !slices.Contains(columns, strings.TrimSpace(h)) {
			return nil, fmt.Errorf("%s: column %q is not known; columns are %s", name, h, strings.Join(columns, ", "))
		}
	}
	var list []client.PrefixPrice
	var wrong []error
	for {
		row, line, err := rows.Fields()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := errors.AsType[*respondents.RowError](err); ok {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s", name, line, bad.Reason))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var p client.PrefixPrice
		for i, text := range row {
			text = strings.TrimSpace(text)
			switch strings.TrimSpace(header[i]) {
			case "prefix":
				p.Prefix = "+" + strings.TrimPrefix(text, "+")
			case "per_attempt":
				p.PerAttempt = text
			case "per_segment":
				p.PerSegment = text
			case "per_minute":
				p.PerMinute = text
			}
		}
		for _, amount := range []string{p.PerAttempt, p.PerSegment, p.PerMinute} {
			if _, err := limits.ParseMoney(amount); err != nil {
				wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, line, err))
			}
		}
		if list = append(list, p); len(list) > limits.MaxPrefixes {
			return nil, fmt.Errorf("%s: there are more than %d prefixes", name, limits.MaxPrefixes)
		}
	}
	return list, errors.Join(wrong...)
}

func priceDeleteCommand(r *app.Connection) *cobra.Command {
	return r.DeleteCommand("delete CHANNEL", "Delete a price", "Delete the price of a channel. What was spent so far stays counted.", "  weir price delete texts --yes",
		"this deletes the price of channel %s", "price", (*client.Client).DeletePrice)
}

func spendingCommand(a *app.App, r *app.Connection) *cobra.Command {
	var days int
	c := r.APICommand("spending", "List what was spent", "List what was spent, by day (in UTC), channel and survey: what contacts have cost that ended, and what those in flight reserve.", "  weir price spending --days 7",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			l := a.Console.NewList(&r.Output, c.OutOrStdout(), app.Column("DAY"), app.Column("CHANNEL"), app.Column("SURVEY"), app.Column("AMOUNT"), app.Column("CURRENCY"))
			for p := (client.ListSpendingParams{Days: days}); ; {
				page, err := to.ListSpending(ctx, p)
				if err != nil {
					return err
				}
				for i := range page.Spending {
					x := &page.Spending[i]
					if err := l.Add(x, app.Cells(x.Day, x.Channel, orDash(x.Survey), x.Amount, x.Currency)...); err != nil {
						return err
					}
				}
				if p.Cursor = page.NextCursor; p.Cursor == "" {
					return l.Close()
				}
			}
		})
	c.Flags().IntVar(&days, "days", 30, "how many days, today the last")
	return c
}
