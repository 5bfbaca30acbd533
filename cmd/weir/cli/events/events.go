// Package events holds the commands "weir events" and "weir audit".
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Print the events of Weir, one per line, until interrupted. After a lost connection it
resumes after the last event: no event is missed or repeated.

Without --since or --after it starts with the next event. A consumer that stores the id
of the last processed event resumes with --after.

Events of contacts are written while they are asked for: by --type 'weir.contact.*',
--source contacts or --subject contact/ID, and some minutes after.

An interruption also exits with 0.`

const example = `  weir events --type weir.survey.respondent
  weir events --type 'weir.contact.*' --output table
  weir events --type weir.contact.done,weir.message.received
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

// Command makes "weir events".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection()
	r.Format = command.NewChoice("jsonl", "jsonl", "json", "table")
	var o eventFlags
	c := r.APICommand("events", "Print events as they happen", about, example,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if o.since != "" && o.after != "" {
				return command.UsageError(c, "--since cannot be combined with --after")
			}
			var since time.Time
			if o.since != "" {
				var err error
				if since, err = a.Clock.ParsePast(o.since); err != nil {
					return command.UsageError(c, "--since must be an instant such as 2026-05-04T09:00:00Z, or how long ago, such as 2h")
				}
			}
			return follow(ctx, a, r, to, o, since)
		})
	f := c.Flags()
	f.StringSliceVar(&o.types, "type", nil, "only events of these types, comma-separated; * at the end stands for all types that begin so")
	f.StringVar(&o.subject, "subject", "", "only events whose subject has this prefix")
	f.StringVar(&o.source, "source", "", "only events of this source: router, surveys, channels or contacts")
	f.StringVar(&o.since, "since", "", "start in the past: an instant, or how long ago, such as 2h")
	f.StringVar(&o.after, "after", "", "start after the event with this id; 0: with the oldest stored event")
	f.BoolVar(&o.once, "no-follow", false, "print stored events and exit; without --since or --after all of them")
	_ = c.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"router", "surveys", "channels", "contacts"}, cobra.ShellCompDirectiveNoFileComp))
	r.AddConnectionFlags(c)
	return c
}

// follow writes past events, then new ones as they happen.
func follow(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, o eventFlags, since time.Time) error {
	p := client.ListEventsParams{Type: strings.Join(o.types, ","), Subject: o.subject, Source: o.source}
	after := o.after
	write := func(e client.EventView) error { return printEvent(a, r, e) }
	if o.once || !since.IsZero() {
		var err error
		if after, err = printStored(ctx, to, p, cmp.Or(after, "0"), since, write); err != nil || o.once {
			return err
		}
	}
	// The stream begins after the last stored event that was read, so that none is missed or
	// repeated between the two.
	return a.Watcher.Follow(ctx, to, client.Follow{Params: p, After: after, OnEvent: write})
}

// printStored writes the stored events from an instant on, and returns the id of the last
// event that it read.
func printStored(ctx context.Context, to *client.Client, p client.ListEventsParams, after string, since time.Time, write func(client.EventView) error) (string, error) {
	p.Limit, p.Cursor = 1000, after
	for {
		page, err := to.ListEvents(ctx, p)
		if err != nil {
			return after, err
		}
		for _, e := range page.Events {
			after = e.ID
			// The API has no filter by time: older events are read and left out.
			if e.At.Before(since) {
				continue
			}
			if err := write(e); err != nil {
				return after, err
			}
		}
		if page.NextCursor == "" {
			return after, nil
		}
		// A page may hold no event that fits; its cursor is where to go on all the same.
		p.Cursor, after = page.NextCursor, page.NextCursor
	}
}

// printEvent writes an event on a line of its own.
func printEvent(a *app.App, r *app.Connection, e client.EventView) error {
	if r.JSON() {
		return a.Console.PrintJSON(e)
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Console.Stdout, "%s  %s  %s  %s\n", a.Clock.FormatSecond(e.At), terminal.Left(terminal.Visible(e.Type), 48), terminal.Visible(e.Subject), terminal.Visible(string(data)))
	return err
}
