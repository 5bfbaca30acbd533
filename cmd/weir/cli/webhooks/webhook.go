// Package webhooks holds the commands "weir webhook" and "weir listen".
package webhooks

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Create, change, show and delete the webhooks of a running Weir: addresses to which it
sends events, signed as Standard Webhooks 1.0.0 prescribes.

The token needs the scope webhooks:admin.`

const example = `  weir webhook create --url https://app.example/weir --type 'weir.contact.*'
  weir webhook test whk3v2x7c5q1z8ab
  weir webhook deliveries whk3v2x7c5q1z8ab
  weir webhook replay whk3v2x7c5q1z8ab --failed-since 6h`

// Command makes "weir webhook".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection().Completing("ID", names)
	return r.APIGroup("webhook", "Create, show, test and replay webhooks", about, example,
		listCommand(a, r), showCommand(a.Clock, r), createCommand(r), setCommand(r),
		enableCommand(r, "pause", false, "Pause a webhook", "Send no events to a webhook until it is resumed. They wait in the log, as long as that\nkeeps them."),
		enableCommand(r, "resume", true, "Resume a webhook", "Send events to a webhook that was paused, or that Weir disabled: it goes on where it\nstopped."),
		deleteCommand(r), rotateCommand(a.Clock, r), testCommand(a.Console, r), deliveriesCommand(a, r), replayCommand(a, r))
}

func listCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.WatchCommand("list", "List webhooks", "List all webhooks by id.", "  weir webhook list\n  weir webhook list --output jsonl | jq -r 'select(.state == \"failing\").id'",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("WEBHOOK"), app.Column("STATE"), app.Column("TYPES", 12), app.Column("CHANNEL"), app.Column("SURVEY"), app.Column("FAILING"), app.Column("URL", 12), app.Column("DESCRIPTION", 8))
			return app.PrintList(l, to.Webhooks(ctx, client.ListWebhooksParams{}), 0, func(h client.WebhookView) []terminal.Cell {
				return app.Cells(h.ID, app.StateCell(h.State), strings.Join(h.Types, " "), h.Channel, h.Survey, a.Clock.FormatAge(h.FailingSince), h.URL, h.Description)
			})
		})
}

func showCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	return app.ShowCommand(clock, r, "show ID", "Show a webhook", "Show the state and the settings of a webhook. Its secret is never shown.",
		"  weir webhook show whk3v2x7c5q1z8ab", (*client.Client).GetWebhook, webhookText)
}

// webhookText formats a webhook for people.
func webhookText(clock *app.Clock, h *client.WebhookView, colors bool) string {
	var b strings.Builder
	line := func(name, text string) { terminal.Field(&b, 11, name, text) }
	b.WriteString(terminal.Visible(h.ID) + "\n")
	state := app.StateCell(h.State)
	fmt.Fprintf(&b, "  %-11s %s", "state", state.Style.Paint(terminal.Visible(state.Text), colors))
	if h.DisabledReason != "" {
		fmt.Fprintf(&b, ": %s", map[string]string{"gone": "the receiver answered 410", "failing": "it failed for five days"}[h.DisabledReason])
	}
	if !h.FailingSince.IsZero() {
		fmt.Fprintf(&b, " for %s", clock.FormatAge(h.FailingSince))
	}
	b.WriteString("\n")
	line("url", h.URL)
	line("types", strings.Join(h.Types, ", "))
	line("channel", h.Channel)
	line("survey", h.Survey)
	line("description", h.Description)
	if h.PII {
		line("numbers", "not masked")
	}
	if !h.OldSecretUntil.IsZero() {
		line("old secret", "signs too, until "+clock.FormatMinute(h.OldSecretUntil))
	}
	line("created", clock.FormatMinute(h.CreatedAt))
	line("changed", clock.FormatMinute(h.UpdatedAt))
	return b.String()
}

// errorText describes why a delivery failed; empty: it did not.
func errorText(d *client.DeliveryView) string {
	if d.Error == "status" {
		return fmt.Sprintf("HTTP %d", d.Status)
	}
	return strings.ReplaceAll(d.Error, "_", " ")
}

func deliveriesCommand(a *app.App, r *app.Connection) *cobra.Command {
	limit := 50
	c := r.WatchCommand("deliveries ID", "List the latest deliveries", `List the last 200 deliveries to a webhook, newest first. They are kept as long as
events.

A failed one is retried for a day; an abandoned one is not, unless it is replayed.`, "  weir webhook deliveries whk3v2x7c5q1z8ab --watch",
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("AT"), app.Column("EVENT"), app.Column("TYPE", 12), app.Column("RESULT"), app.NumberColumn("STATUS"), app.NumberColumn("MS"), app.Column("ERROR"))
			return app.PrintList(l, to.Deliveries(ctx, args[0], client.ListDeliveriesParams{Limit: app.PageSize(limit)}), limit, func(d client.DeliveryView) []terminal.Cell {
				result := app.TextCell(d.Result)
				if d.Result != "delivered" {
					result.Style = terminal.Bad
				}
				status := ""
				if d.Status > 0 {
					status = fmt.Sprint(d.Status)
				}
				return app.Cells(a.Clock.FormatSecond(d.At), d.Event, d.Type, result, status, fmt.Sprintf("%.0f", d.DurationMS), errorText(&d))
			})
		})
	app.LimitFlag(c, &limit, "maximum number of deliveries; 0: all that are kept")
	return c
}
