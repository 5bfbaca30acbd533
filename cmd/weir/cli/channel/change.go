package channel

import (
	"context"
	"encoding/json"
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

func pauseCommand(a *app.App, r *app.Connection, use string, paused bool, short, long string) *cobra.Command {
	c := a.APICommand(r, use+" NAME", short, long, "  weir channel "+use+" sms", func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		return sendRequest(ctx, a, r, to, http.MethodPatch, args[0], map[string]any{"paused": paused}, false, use+"d")
	})
	c.ValidArgsFunction = a.CompleteArgs(r, app.ChannelNames)
	return c
}

func capacityCommand(a *app.App, r *app.Connection) *cobra.Command {
	c := a.APICommand(r, "capacity NAME SLOTS", "Change how much may be in flight", `Changes how many slots of a channel may be in flight; "default" is what the server's
DEFAULT_CHANNEL_CAPACITY says. Where more is in flight than the new capacity
allows, nothing is started until it is below.`, "  weir channel capacity sms 20\n  weir channel capacity sms default",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			var capacity any // null: the server's default
			if args[1] != "default" {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 {
					return command.UsageError(c, "SLOTS must be a whole number from 1 on, or default")
				}
				capacity = n
			}
			return sendRequest(ctx, a, r, to, http.MethodPatch, args[0], map[string]any{"capacity": capacity}, false, "changed")
		})
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return []cobra.Completion{"default"}, cobra.ShellCompDirectiveNoFileComp
		}
		return a.CompleteNames(c, r, app.ChannelNames, begun), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

func drainCommand(a *app.App, r *app.Connection) *cobra.Command {
	limit := time.Hour
	c := a.APICommand(r, "drain NAME", "Pause a channel and wait until nothing is in flight", `Pauses a channel and waits until nothing of it is in flight any more. What waits
in its queue stays there. It stays paused, also when the command is interrupted,
until "weir channel resume".`, "  weir channel drain sms\n  weir channel drain sms --timeout 10m",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			patch := client.ChannelPatch{Paused: new(true)}
			if _, err := to.PatchChannel(ctx, name, patch, client.PatchChannelParams{}); err != nil {
				return err
			}
			raw, err := waitUntilIdle(ctx, a, to, name, limit)
			if err != nil {
				return err
			}
			return a.PrintResult(r, raw, "%s: paused, and nothing is in flight", name)
		})
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait")
	c.ValidArgsFunction = a.CompleteArgs(r, app.ChannelNames)
	return c
}

// waitUntilIdle waits until a channel has nothing in flight, at most for limit.
func waitUntilIdle(ctx context.Context, a *app.App, to *client.Client, name string, limit time.Duration) (raw []byte, err error) {
	began, most := a.Now(), 0
	line := a.NewStatusLine()
	defer line.Clear()
	ticks, stop := a.Ticker(drainPollInterval)
	defer stop()
	for {
		ch, err := to.CaptureBody(&raw).GetChannel(ctx, name)
		switch {
		case err != nil && (ctx.Err() != nil || !app.Retryable(err)):
			return nil, err
		case err == nil && ch.InFlight == 0:
			return raw, nil
		case err == nil:
			most = max(most, ch.InFlight)
			line.Show(fmt.Sprintf("%s %s  %s in flight", name, terminal.Meter(most-ch.InFlight, most), terminal.Plural(ch.InFlight, "slot", "slots")))
		}
		if a.Now().Sub(began) >= limit {
			return nil, fmt.Errorf("%s is paused, but something is in flight after %s; \"weir contact list --channel %s --state sending,active,unknown\" shows what", name, terminal.Duration(limit), name)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticks:
		}
	}
}

func deleteCommand(a *app.App, r *app.Connection) *cobra.Command {
	var cancel bool
	c := a.APICommand(r, "delete NAME", "Remove a channel", `Removes a channel. It is refused while contacts are open, unless --cancel says that
they are to end first: those that wait end as canceled, the provider is asked to
drop the others, and the channel goes when the last has ended.`, "  weir channel delete sms --yes\n  weir channel delete sms --cancel --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			if !app.Confirmed(c) { // the prompt shows what is lost
				ch, err := to.GetChannel(ctx, name)
				if err != nil {
					return err
				}
				what := fmt.Sprintf("this deletes channel %s, of which %s and %s in flight", name,
					terminal.Plural(ch.Queued, "contact waits", "contacts wait"), terminal.Plural(ch.InFlight, "slot is", "slots are"))
				if err := a.Confirm(c, what); err != nil {
					return err
				}
			}
			under, err := to.DeleteChannel(ctx, name, client.DeleteChannelParams{Cancel: cancel})
			if err != nil {
				if client.StatusOf(err) == http.StatusConflict && !cancel {
					err = errors.Join(err, errors.New(`--cancel ends its open contacts first; "weir channel drain" waits for those in flight`))
				}
				return err
			}
			return printDeleted(a, r, name, under != nil && under.Deleting)
		})
	c.Flags().BoolVar(&cancel, "cancel", false, "end the open contacts first")
	c.ValidArgsFunction = a.CompleteArgs(r, app.ChannelNames)
	return app.Confirmable(c)
}

// printDeleted prints the result of a deletion.
func printDeleted(a *app.App, r *app.Connection, name string, underWay bool) error {
	raw, err := json.Marshal(map[string]any{"channel": name, "deleted": !underWay, "deleting": underWay})
	if err != nil {
		return err
	}
	if underWay {
		return a.PrintResult(r, raw, "%s: its open contacts are being ended; then it is gone", name)
	}
	return a.PrintResult(r, raw, "%s: deleted", name)
}

func incomingCommand(a *app.App, r *app.Connection) *cobra.Command {
	var w app.WatchFlag
	var p client.ListIncomingParams
	c := a.APICommand(r, "incoming NAME", "List the messages that people sent to a channel", "Lists the messages that people sent to a channel, oldest first.", `  weir channel incoming sms
  weir channel incoming sms --after 7241 --limit 1000 --output jsonl`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			return a.Repeat(ctx, &r.Output, &w, func(out io.Writer) error {
				page, err := to.ListIncoming(ctx, args[0], p)
				if err != nil {
					return err
				}
				l := a.NewList(&r.Output, out, app.Column("ID"), app.Column("RECEIVED"), app.Column("FROM"), app.Column("TO"), app.Column("TEXT", 12))
				for _, m := range page.Incoming {
					if err := l.Add(m, app.Cells(m.ID, a.FormatMinute(m.ReceivedAt), m.From, m.To, m.Body)...); err != nil {
						return err
					}
				}
				return l.Close()
			})
		})
	c.Flags().IntVar(&p.After, "after", 0, "only messages with a greater id")
	c.Flags().IntVar(&p.Limit, "limit", 100, "most messages that are listed, up to 1000")
	w.AddTo(c)
	c.ValidArgsFunction = a.CompleteArgs(r, app.ChannelNames)
	return c
}
