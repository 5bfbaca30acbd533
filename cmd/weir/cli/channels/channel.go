// Package channels holds the commands "weir channel".
package channels

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Create, change, show and delete the channels of a running Weir.`

const example = `  weir channel put sms --type nuntium --set base_url=https://nuntium.example --set account=demo \
      --set application=weir --set channel=sms --secret-file password=nuntium.password --capacity 50
  weir channel list --watch
  weir channel capacity sms 20
  weir channel drain sms`

// Command makes "weir channel".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection().Completing("NAME", app.ChannelNames)
	return r.APIGroup("channel", "Create, show, pause and change channels", about, example,
		listCommand(a, r), showCommand(a.Clock, r), putCommand(a, r), setCommand(a, r),
		pauseCommand(r, "pause", true, "Pause a channel", "Stop dispatching contacts of a channel until it is resumed. Contacts in flight finish\nnormally."),
		pauseCommand(r, "resume", false, "Resume a paused channel", "Resume dispatching contacts of a paused channel."),
		capacityCommand(r), drainCommand(a, r), deleteCommand(a.Console, r), incomingCommand(a, r), callbackCommand(a.Clock, r), testCommand(a, r), tryCommand(a, r), templatesCommand(a.Console))
}

// listCommand makes "weir channel list".
func listCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.WatchCommand("list", "List channels", `List all channels by name, with slots in flight, capacity, queued contacts and the
age of the oldest one.`, `  weir channel list
  weir channel list --watch=5s
  weir channel list --output jsonl | jq -r 'select(.state != "up").channel'`,
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("CHANNEL", 8), app.Column("TYPE"), app.Column("STATE"), app.NumberColumn("IN FLIGHT"), app.NumberColumn("CAPACITY"),
				app.NumberColumn("SENDING"), app.NumberColumn("UNKNOWN"), app.NumberColumn("QUEUED"), app.Column("OLDEST"), app.Column("REASON", 8))
			return app.PrintList(l, to.Channels(ctx, client.ListChannelsParams{}), 0, func(ch client.ChannelView) []terminal.Cell {
				return app.Cells(ch.Channel, ch.Type, app.StateCell(app.ChannelState(&ch)), terminal.Number(ch.InFlight), terminal.Number(ch.Capacity),
					terminal.Number(ch.Sending), terminal.Number(ch.Unknown), terminal.Number(ch.Queued), a.Clock.FormatAge(ch.OldestQueuedAt), ch.StateReason)
			})
		})
}

// showCommand makes "weir channel show".
func showCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	return app.ShowCommand(clock, r, "show NAME", "Show a channel", "Show the state, figures and settings of a channel. Secrets are never shown.", `  weir channel show sms
  weir channel show sms --watch
  weir channel show sms --output json | jq .queued`, (*client.Client).GetChannel, channelText)
}

// callbackCommand makes "weir channel callback".
func callbackCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	return app.ShowCommand(clock, r, "callback NAME", "Show the address of a channel's callbacks", `Show the address at which a channel's provider calls Weir, for providers that are
configured by hand. It holds the channel's secret.`, "  weir channel callback sms", (*client.Client).GetChannelCallback,
		func(_ *app.Clock, v *client.CallbackView, _ bool) string { return v.URL + "\n" })
}

// channelText formats a channel for people.
func channelText(clock *app.Clock, ch *client.ChannelView, colors bool) string {
	var b strings.Builder
	title := ch.Channel + " (" + ch.Type + ")"
	if ch.Name != "" {
		title += ": " + ch.Name
	}
	state := app.StateCell(app.ChannelState(ch))
	text := state.Style.Paint(terminal.Visible(state.Text), colors)
	if ch.StateReason != "" {
		text += ": " + terminal.Visible(ch.StateReason)
	}
	fmt.Fprintf(&b, "%s\n  %-11s %s\n", terminal.Visible(title), "state", text)
	line := func(name, text string) { terminal.Field(&b, 11, name, text) }
	line("why", clock.FormatWhy(ch.Why))
	line("in flight", fmt.Sprintf("%s of %s slots %s: %s sending, %s active, %s unknown", terminal.Number(ch.InFlight), terminal.Number(ch.Capacity), terminal.Meter(ch.InFlight, ch.Capacity),
		terminal.Number(ch.Sending), terminal.Number(ch.Active), terminal.Number(ch.Unknown)))
	if ch.RatePerSecond > 0 {
		line("rate", fmt.Sprintf("at most %g per second", ch.RatePerSecond))
	}
	line("brake", app.BrakeText(ch.Brake, ch.BrakeCount))
	if ch.Braked != nil {
		line("braked", fmt.Sprintf("at %s, after %s; weir channel resume %s goes on", clock.FormatMinute(ch.Braked.At), terminal.Plural(ch.Braked.Touched, "contact", "contacts"), terminal.Visible(ch.Channel)))
	}
	queued := terminal.Plural(ch.Queued, "contact", "contacts")
	if !ch.OldestQueuedAt.IsZero() {
		queued += ", the oldest for " + clock.FormatAge(ch.OldestQueuedAt)
	}
	if ch.Blocked > 0 {
		queued += fmt.Sprintf(", %s than the capacity", terminal.Plural(ch.Blocked, "one larger", "larger"))
	}
	line("queued", queued)
	line("created", clock.FormatMinute(ch.CreatedAt))
	line("changed", clock.FormatMinute(ch.UpdatedAt))
	if len(ch.Settings) > 0 {
		b.WriteString("settings\n")
	}
	for _, key := range slices.Sorted(maps.Keys(ch.Settings)) {
		fmt.Fprintf(&b, "  %-20s %s\n", terminal.Visible(key), terminal.Visible(settingText(ch.Settings[key])))
	}
	return b.String()
}

// settingText formats the value of a setting: texts as they are, others as JSON.
func settingText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
