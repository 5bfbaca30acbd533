package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

const channelAbout = `Speaks to a running Weir about its channels: what they are, what they do, how much
goes over them.

` + aboutRemote + `

` + aboutExits

const channelExample = `  weir channel put sms --type nuntium --set base_url=https://nuntium.example --set account=demo \
      --set application=weir --set channel=sms --secret-file password=nuntium.password --capacity 50
  weir channel list --watch
  weir channel capacity sms 20
  weir channel drain sms`

func (a *app) channel() *cobra.Command {
	r := newRemote()
	c := command.Group("channel", "Define, watch, pause and change channels", channelAbout,
		a.channelList(r), a.channelShow(r), a.channelPut(r), a.channelSet(r),
		a.channelPause(r, "pause", true, "Start nothing more on a channel", "Starts nothing more on a channel until it is resumed. What is out goes on, and its\nresults are taken."),
		a.channelPause(r, "resume", false, "Go on with a paused channel", "Goes on with a paused channel."),
		a.channelCapacity(r), a.channelDrain(r), a.channelDelete(r), a.channelIncoming(r))
	c.Example = channelExample
	a.addressed(c, r)
	return c
}

func (a *app) channelList(r *remote) *cobra.Command {
	var w watching
	c := a.speaking(r, "list", "List the channels with their figures", `Lists the channels by name: how many slots are in flight of how many, how many
contacts wait, and for how long the oldest has.`, `  weir channel list
  weir channel list --watch=5s
  weir channel list --output jsonl | jq -r 'select(.state != "up").channel'`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.listChannels(ctx, r, to, out) })
		})
	w.flag(c)
	return c
}

func (a *app) listChannels(ctx context.Context, r *remote, to *client.Client, out io.Writer) error {
	l := a.list(&r.printing, out, left("CHANNEL", 8), left("TYPE"), left("STATE"), right("IN FLIGHT"), right("CAPACITY"),
		right("SENDING"), right("UNKNOWN"), right("QUEUED"), left("OLDEST"), left("REASON", 8))
	_, err := printList(l, to.Channels(ctx, client.ListChannelsParams{}), 0, func(ch client.ChannelView) []terminal.Cell {
		return cells(ch.Channel, ch.Type, stateCell(channelState(&ch)), grouped(int64(ch.InFlight)), grouped(int64(ch.Capacity)),
			grouped(int64(ch.Sending)), grouped(int64(ch.Unknown)), grouped(int64(ch.Queued)), a.since(ch.OldestQueuedAt), ch.StateReason)
	})
	return err
}

func channelState(ch *client.ChannelView) string {
	if ch.Deleting {
		return "deleting"
	}
	return ch.State
}

// since formats how long ago an instant was.
func (a *app) since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return span(max(0, a.now().Sub(t)))
}

func (a *app) channelShow(r *remote) *cobra.Command {
	var w watching
	c := a.speaking(r, "show NAME", "Show a channel with its figures and settings", "Shows a channel with its figures and its settings. Secrets are never shown.", `  weir channel show sms
  weir channel show sms --watch
  weir channel show sms --output json | jq .queued`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.showChannel(ctx, r, to, args[0], out) })
		})
	w.flag(c)
	c.ValidArgsFunction = a.names(r, channelNames)
	return c
}

func (a *app) showChannel(ctx context.Context, r *remote, to *client.Client, name string, out io.Writer) error {
	var raw []byte
	ch, err := to.CaptureBody(&raw).GetChannel(ctx, name)
	if err != nil {
		return err
	}
	if r.json() {
		return rawLine(out, raw)
	}
	_, err = io.WriteString(out, a.channelText(ch, a.look(&r.printing).colours))
	return err
}

// channelText formats a channel for people.
func (a *app) channelText(ch *client.ChannelView, colours bool) string {
	var b strings.Builder
	title := ch.Channel + " (" + ch.Type + ")"
	if ch.Name != "" {
		title += ": " + ch.Name
	}
	state := stateCell(channelState(ch))
	text := state.Style.Paint(terminal.Visible(state.Text), colours)
	if ch.StateReason != "" {
		text += ": " + terminal.Visible(ch.StateReason)
	}
	fmt.Fprintf(&b, "%s\n  %-11s %s\n", terminal.Visible(title), "state", text)
	if ch.Why != "" {
		fmt.Fprintf(&b, "  %-11s %s\n", "why", terminal.Visible(ch.Why))
	}
	fmt.Fprintf(&b, "  %-11s %s of %s slots %s: %s sending, %s active, %s unknown\n", "in flight", grouped(int64(ch.InFlight)), grouped(int64(ch.Capacity)), bar(ch.InFlight, ch.Capacity),
		grouped(int64(ch.Sending)), grouped(int64(ch.Active)), grouped(int64(ch.Unknown)))
	fmt.Fprintf(&b, "  %-11s %s", "queued", plural(int64(ch.Queued), "contact", "contacts"))
	if !ch.OldestQueuedAt.IsZero() {
		fmt.Fprintf(&b, ", the oldest for %s", a.since(ch.OldestQueuedAt))
	}
	if ch.Blocked > 0 {
		fmt.Fprintf(&b, ", %s than the capacity", plural(int64(ch.Blocked), "one larger", "larger"))
	}
	fmt.Fprintf(&b, "\n  %-11s %s\n  %-11s %s\n", "created", a.minute(ch.CreatedAt), "changed", a.minute(ch.UpdatedAt))
	if len(ch.Settings) > 0 {
		b.WriteString("settings\n")
	}
	for _, key := range slices.Sorted(maps.Keys(ch.Settings)) {
		fmt.Fprintf(&b, "  %-20s %s\n", terminal.Visible(key), terminal.Visible(settingText(ch.Settings[key])))
	}
	return b.String()
}

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
