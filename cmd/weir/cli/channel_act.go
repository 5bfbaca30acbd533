package cli

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
)

// drainPause is the interval between polls of a draining channel.
const drainPause = time.Second

func (a *app) channelPause(r *remote, use string, paused bool, short, long string) *cobra.Command {
	c := a.speaking(r, use+" NAME", short, long, "  weir channel "+use+" sms", func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		return a.sendChannel(ctx, r, to, http.MethodPatch, args[0], map[string]any{"paused": paused}, false, use+"d")
	})
	c.ValidArgsFunction = a.names(r, channelNames)
	return c
}

func (a *app) channelCapacity(r *remote) *cobra.Command {
	c := a.speaking(r, "capacity NAME SLOTS", "Change how much may be in flight", `Changes how many slots of a channel may be in flight; "default" is what the server's
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
			return a.sendChannel(ctx, r, to, http.MethodPatch, args[0], map[string]any{"capacity": capacity}, false, "changed")
		})
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return []cobra.Completion{"default"}, cobra.ShellCompDirectiveNoFileComp
		}
		return a.known(c, r, channelNames, begun), cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

func (a *app) channelDrain(r *remote) *cobra.Command {
	limit := time.Hour
	c := a.speaking(r, "drain NAME", "Pause a channel and wait until nothing is in flight", `Pauses a channel and waits until nothing of it is in flight any more. What waits
in its queue stays there. It stays paused, also when the command is interrupted,
until "weir channel resume".`, "  weir channel drain sms\n  weir channel drain sms --timeout 10m",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			patch := client.ChannelPatch{Paused: new(true)}
			if _, err := to.PatchChannel(ctx, name, patch, client.PatchChannelParams{}); err != nil {
				return err
			}
			raw, err := a.drained(ctx, to, name, limit)
			if err != nil {
				return err
			}
			return a.told(r, raw, "%s: paused, and nothing is in flight", name)
		})
	c.Flags().DurationVar(&limit, "timeout", limit, "how long to wait")
	c.ValidArgsFunction = a.names(r, channelNames)
	return c
}

// drained waits until a channel has nothing in flight, at most for limit.
func (a *app) drained(ctx context.Context, to *client.Client, name string, limit time.Duration) (raw []byte, err error) {
	began, most := a.now(), 0
	line := a.statusLine()
	defer line.clear()
	ticks, stop := a.tick(drainPause)
	defer stop()
	for {
		ch, err := to.CaptureBody(&raw).GetChannel(ctx, name)
		switch {
		case err != nil && (ctx.Err() != nil || !passing(err)):
			return nil, err
		case err == nil && ch.InFlight == 0:
			return raw, nil
		case err == nil:
			most = max(most, ch.InFlight)
			line.show(fmt.Sprintf("%s %s  %s in flight", name, bar(most-ch.InFlight, most), plural(int64(ch.InFlight), "slot", "slots")))
		}
		if a.now().Sub(began) >= limit {
			return nil, fmt.Errorf("%s is paused, but something is in flight after %s; \"weir contact list --channel %s --state sending,active,unknown\" shows what", name, span(limit), name)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticks:
		}
	}
}

// statusLine is a line on standard error that is overwritten in place, if standard
// error is a terminal.
type statusLine struct {
	out   io.Writer // nil: no terminal
	width func() int
	shown bool
}

func (a *app) statusLine() *statusLine {
	if _, _, ok := a.size(a.Stderr); !ok || a.environment("TERM") == "dumb" {
		return &statusLine{}
	}
	return &statusLine{out: a.Stderr, width: func() int { columns, _, _ := a.size(a.Stderr); return columns }}
}

func (l *statusLine) show(text string) {
	if l.out != nil {
		l.shown = true
		_, _ = fmt.Fprintf(l.out, "\r\x1b[K%s", terminal.Cut(terminal.Visible(text), max(20, l.width()-1)))
	}
}

func (l *statusLine) clear() {
	if l.shown {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
		l.shown = false
	}
}

func (a *app) channelDelete(r *remote) *cobra.Command {
	var cancel bool
	c := a.speaking(r, "delete NAME", "Remove a channel", `Removes a channel. It is refused while contacts are open, unless --cancel says that
they are to end first: those that wait end as canceled, the provider is asked to
drop the others, and the channel goes when the last has ended.`, "  weir channel delete sms --yes\n  weir channel delete sms --cancel --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			name := args[0]
			if !confirmed(c) { // the prompt shows what is lost
				ch, err := to.GetChannel(ctx, name)
				if err != nil {
					return err
				}
				what := fmt.Sprintf("this deletes channel %s, of which %s and %s in flight", name,
					plural(int64(ch.Queued), "contact waits", "contacts wait"), plural(int64(ch.InFlight), "slot is", "slots are"))
				if err := a.confirm(c, what); err != nil {
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
			return a.deleted(r, name, under != nil && under.Deleting)
		})
	c.Flags().BoolVar(&cancel, "cancel", false, "end the open contacts first")
	c.ValidArgsFunction = a.names(r, channelNames)
	return askable(c)
}

// deleted prints the result of a deletion.
func (a *app) deleted(r *remote, name string, underWay bool) error {
	raw, err := json.Marshal(map[string]any{"channel": name, "deleted": !underWay, "deleting": underWay})
	if err != nil {
		return err
	}
	if underWay {
		return a.told(r, raw, "%s: its open contacts are being ended; then it is gone", name)
	}
	return a.told(r, raw, "%s: deleted", name)
}

func (a *app) channelIncoming(r *remote) *cobra.Command {
	var w watching
	var p client.ListIncomingParams
	c := a.speaking(r, "incoming NAME", "List the messages that people sent to a channel", "Lists the messages that people sent to a channel, oldest first.", `  weir channel incoming sms
  weir channel incoming sms --after 7241 --limit 1000 --output jsonl`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error {
				page, err := to.ListIncoming(ctx, args[0], p)
				if err != nil {
					return err
				}
				l := a.list(&r.printing, out, left("ID"), left("RECEIVED"), left("FROM"), left("TO"), left("TEXT", 12))
				for _, m := range page.Incoming {
					if err := l.add(m, cells(m.ID, a.minute(m.ReceivedAt), m.From, m.To, m.Body)...); err != nil {
						return err
					}
				}
				return l.end()
			})
		})
	c.Flags().IntVar(&p.After, "after", 0, "only messages with a greater id")
	c.Flags().IntVar(&p.Limit, "limit", 100, "most messages that are listed, up to 1000")
	w.flag(c)
	c.ValidArgsFunction = a.names(r, channelNames)
	return c
}
