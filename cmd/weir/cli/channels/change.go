package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// drainPollInterval is the interval between polls of a draining channel.
const drainPollInterval = time.Second

// pauseCommand makes "weir channel pause" and "weir channel resume".
func pauseCommand(r *app.Connection, use string, paused bool, short, long string) *cobra.Command {
	return r.APICommand(use+" NAME", short, long, "  weir channel "+use+" sms", func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		return sendRequest(ctx, r, to, http.MethodPatch, args[0], map[string]any{"paused": paused}, false, use+"d")
	})
}

// capacityCommand makes "weir channel capacity".
func capacityCommand(r *app.Connection) *cobra.Command {
	c := r.APICommand("capacity NAME SLOTS", "Change the capacity of a channel", `Set the concurrency limit of a channel: the maximum number of slots in flight, from 1;
"default" is DEFAULT_CHANNEL_CAPACITY of the server. If more slots are in flight, no
contact is dispatched until they are below the new limit.`, "  weir channel capacity sms 20\n  weir channel capacity sms default",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			var capacity any // null: the server's default
			if args[1] != "default" {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return command.UsageError(c, "SLOTS must be a whole number from 1, or default")
				}
				capacity = n
			}
			return sendRequest(ctx, r, to, http.MethodPatch, args[0], map[string]any{"capacity": capacity}, false, "changed")
		})
	names := c.ValidArgsFunction
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return []cobra.Completion{"default"}, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c, args, prefix)
	}
	return c
}

// drainCommand makes "weir channel drain".
func drainCommand(a *app.App, r *app.Connection) *cobra.Command {
	limit := time.Hour
	c := r.APICommand("drain NAME", "Pause a channel and wait until nothing is in flight", `Pause a channel and wait until none of its contacts is in flight. Queued contacts stay
queued. The channel stays paused until "weir channel resume", also if this command is
interrupted.`, "  weir channel drain sms\n  weir channel drain sms --timeout 10m",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			patch := client.ChannelPatch{Paused: new(true)}
			if _, err := to.PatchChannel(ctx, name, patch, client.PatchChannelParams{}); err != nil {
				return err
			}
			if err := waitUntilIdle(ctx, a, to, name, limit); err != nil {
				return err
			}
			return r.PrintResult("%s: paused, nothing in flight", name)
		})
	c.Flags().DurationVar(&limit, "timeout", limit, "maximum time to wait")
	return c
}

// waitUntilIdle waits until a channel has nothing in flight, at most for limit.
func waitUntilIdle(ctx context.Context, a *app.App, to *client.Client, name string, limit time.Duration) error {
	start, peak := a.Clock.Now(), 0
	line := a.Console.NewStatusLine()
	defer line.Clear()
	return a.Watcher.Poll(ctx, drainPollInterval, func() (done bool, err error) {
		ch, err := to.GetChannel(ctx, name)
		switch {
		// Weir may restart while contacts are in flight; the command waits on.
		case err != nil && (ctx.Err() != nil || !app.Retryable(err)):
			return false, err
		case err == nil && ch.InFlight == 0:
			return true, nil
		case err == nil:
			peak = max(peak, ch.InFlight)
			line.Show(fmt.Sprintf("%s %s  %s in flight", name, terminal.Meter(peak-ch.InFlight, peak), terminal.Plural(ch.InFlight, "slot", "slots")))
		}
		if a.Clock.Now().Sub(start) >= limit {
			return false, fmt.Errorf("%s is paused, but contacts are still in flight after %s; list them with \"weir contact list --channel %s --state sending,active,unknown\"", name, terminal.Duration(limit), name)
		}
		return false, nil
	})
}

// deleteCommand makes "weir channel delete".
func deleteCommand(console *app.Console, r *app.Connection) *cobra.Command {
	var cancel bool
	c := r.APICommand("delete NAME", "Delete a channel", `Delete a channel. A channel with unfinished contacts is only deleted with --cancel,
which cancels them first; the channel is deleted when the last of them is done.`, "  weir channel delete sms --yes\n  weir channel delete sms --cancel --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			if !app.Confirmed(c) { // the prompt shows what is lost
				ch, err := to.GetChannel(ctx, name)
				if err != nil {
					return err
				}
				what := fmt.Sprintf("this deletes channel %s: %s queued, %s in flight", name,
					terminal.Plural(ch.Queued, "contact", "contacts"), terminal.Plural(ch.InFlight, "slot", "slots"))
				if err := console.Confirm(c, what); err != nil {
					return err
				}
			}
			deleting, err := to.DeleteChannel(ctx, name, client.DeleteChannelParams{Cancel: cancel})
			if err != nil {
				if client.StatusOf(err) == http.StatusConflict && !cancel {
					err = errors.Join(err, errors.New(`add --cancel to cancel its unfinished contacts first; "weir channel drain" waits for the contacts in flight`))
				}
				return err
			}
			waits, text := deleting != nil && deleting.Deleting, "%s: deleted"
			if waits {
				text = "%s: deleting; its unfinished contacts are being canceled"
			}
			return console.PrintValue(&r.Output, map[string]any{"channel": name, "deleted": !waits, "deleting": waits}, text, name)
		})
	c.Flags().BoolVar(&cancel, "cancel", false, "cancel the unfinished contacts first")
	return app.Confirmable(c)
}

// incomingCommand makes "weir channel incoming".
func incomingCommand(a *app.App, r *app.Connection) *cobra.Command {
	var p client.ListIncomingParams
	c := r.WatchCommand("incoming NAME", "List incoming messages", "List the messages that a channel received, oldest first.", `  weir channel incoming sms
  weir channel incoming sms --after 7241 --limit 1000 --output jsonl`,
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
			page, err := to.ListIncoming(ctx, args[0], p)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, out, app.Column("ID"), app.Column("RECEIVED"), app.Column("FROM"), app.Column("TO"), app.Column("TEXT", 12))
			for _, m := range page.Incoming {
				if err := l.Add(m, app.Cells(m.ID, a.Clock.FormatMinute(m.ReceivedAt), m.From, m.To, m.Body)...); err != nil {
					return err
				}
			}
			return l.Close()
		})
	c.Flags().IntVar(&p.After, "after", 0, "only messages with a greater id")
	c.Flags().IntVar(&p.Limit, "limit", 100, "maximum number of messages, 1 to 1000")
	return c
}
