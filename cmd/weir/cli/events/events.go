// Package events holds the commands "weir events" and "weir audit".
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Writes what happens in Weir, a line for each event, until it is interrupted. A
connection that is lost is made anew behind the last event, so that none is missed
and none comes twice.

Without --since or --after it begins with what happens next. A consumer that keeps
the id of the last event it has dealt with goes on behind it with --after.

` + app.AboutConnection + `

` + app.AboutExitCodes + `

It is fine (0) when an interruption ends it.`

const example = `  weir events --type weir.survey.respondent
  weir events --since 2h --no-follow | jq -r .type | sort | uniq -c
  weir events --after 7241 --source router
  weir events --output table`

// eventFlags holds the flags of the command events.
type eventFlags struct {
	types           []string
	subject, source string
	since, after    string
	once            bool
}

func Command(a *app.App) *cobra.Command {
	r := app.NewConnection()
	r.Format = command.NewChoice("jsonl", "jsonl", "json", "table")
	var o eventFlags
	c := a.APICommand(r, "events", "Follow what happens, an event a line", about, example,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if o.since != "" && o.after != "" {
				return command.UsageError(c, "--since and --after do not go together")
			}
			var since time.Time
			if o.since != "" {
				var err error
				if since, err = a.ParsePast(o.since); err != nil {
					return command.UsageError(c, "--since must be an instant such as 2026-05-04T09:00:00Z, or how long ago, such as 2h")
				}
			}
			return follow(ctx, a, r, to, o, since)
		})
	f := c.Flags()
	f.StringSliceVar(&o.types, "type", nil, "only events of these types; several with commas")
	f.StringVar(&o.subject, "subject", "", "only events whose subject begins with this")
	f.StringVar(&o.source, "source", "", "only events of this part of Weir: router, surveys or channels")
	f.StringVar(&o.since, "since", "", "begin in the past: an instant, or how long ago")
	f.StringVar(&o.after, "after", "", "begin behind the event with this id; 0: with the oldest that is kept")
	f.BoolVar(&o.once, "no-follow", false, "end when all that has happened is written; without --since or --after that is all that is kept")
	_ = c.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"router", "surveys", "channels"}, cobra.ShellCompDirectiveNoFileComp))
	a.AddConnectionFlags(c, r)
	return c
}

// follow writes past events, then new ones as they happen.
func follow(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, o eventFlags, since time.Time) error {
	p := client.ListEventsParams{Type: strings.Join(o.types, ","), Subject: o.subject, Source: o.source}
	behind := o.after
	write := func(e client.EventView) error { return printEvent(a, r, e) }
	if o.once || !since.IsZero() {
		var err error
		if behind, err = printStored(ctx, to, p, cmp.Or(behind, "0"), since, write); err != nil || o.once {
			return err
		}
	}
	err := to.Follow(ctx, client.Follow{
		Params: p, After: behind, OnEvent: write,
		OnReconnect: func(err error) {
			text, _, _ := strings.Cut(err.Error(), "\n")
			a.Warn(terminal.Visible(text) + "; trying again")
		},
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// printStored writes the stored events from an instant on, and returns the id of the last
// printEvent that it read.
func printStored(ctx context.Context, to *client.Client, p client.ListEventsParams, behind string, since time.Time, write func(client.EventView) error) (string, error) {
	p.Limit, p.Cursor = 1000, behind
	for {
		page, err := to.ListEvents(ctx, p)
		if err != nil {
			return behind, err
		}
		for _, e := range page.Events {
			behind = e.ID
			if e.Time.Before(since) {
				continue
			}
			if err := write(e); err != nil {
				return behind, err
			}
		}
		if page.NextCursor == "" {
			return behind, nil
		}
		p.Cursor, behind = page.NextCursor, page.NextCursor
	}
}

// printEvent writes an event on a line of its own.
func printEvent(a *app.App, r *app.Connection, e client.EventView) error {
	if r.JSON() {
		return a.PrintJSON(e)
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s  %s  %s  %s\n", a.FormatSecond(e.Time), terminal.Left(terminal.Visible(e.Type), 48), terminal.Visible(e.Subject), terminal.Visible(string(data)))
	return err
}
