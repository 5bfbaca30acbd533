package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

const eventsAbout = `Writes what happens in Weir, a line for each event, until it is interrupted. A
connection that is lost is made anew behind the last event, so that none is missed
and none comes twice.

Without --since or --after it begins with what happens next. A consumer that keeps
the id of the last event it has dealt with goes on behind it with --after.

` + aboutRemote + `

` + aboutExits + `

It is fine (0) when an interruption ends it.`

const eventsExample = `  weir events --type weir.survey.respondent
  weir events --since 2h --no-follow | jq -r .type | sort | uniq -c
  weir events --after 7241 --source router
  weir events --output table`

// listening holds the flags of the command events.
type listening struct {
	types           []string
	subject, source string
	since, after    string
	once            bool
}

func (a *app) events() *cobra.Command {
	r := newRemote()
	r.output = command.NewChoice("jsonl", "jsonl", "json", "table")
	var o listening
	c := a.speaking(r, "events", "Follow what happens, an event a line", eventsAbout, eventsExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if o.since != "" && o.after != "" {
				return command.UsageError(c, "--since and --after do not go together")
			}
			var since time.Time
			if o.since != "" {
				var err error
				if since, err = a.ago(o.since); err != nil {
					return command.UsageError(c, "--since must be an instant such as 2026-05-04T09:00:00Z, or how long ago, such as 2h")
				}
			}
			return a.listen(ctx, r, to, o, since)
		})
	f := c.Flags()
	f.StringSliceVar(&o.types, "type", nil, "only events of these types; several with commas")
	f.StringVar(&o.subject, "subject", "", "only events whose subject begins with this")
	f.StringVar(&o.source, "source", "", "only events of this part of Weir: router, surveys or channels")
	f.StringVar(&o.since, "since", "", "begin in the past: an instant, or how long ago")
	f.StringVar(&o.after, "after", "", "begin behind the event with this id; 0: with the oldest that is kept")
	f.BoolVar(&o.once, "no-follow", false, "end when all that has happened is written; without --since or --after that is all that is kept")
	_ = c.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"router", "surveys", "channels"}, cobra.ShellCompDirectiveNoFileComp))
	a.addressed(c, r)
	return c
}

// ago parses an instant, or how long ago it was.
func (a *app) ago(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return a.now().Add(-max(d, -d)), nil
	}
	at, _, wrong := weir.ParseInstant(text)
	if wrong != "" {
		return at, errors.New("must be an instant, such as 2026-01-31T09:00:00Z, or how long ago, such as 24h")
	}
	return at, nil
}

// listen writes past events, then new ones as they happen.
func (a *app) listen(ctx context.Context, r *remote, to *client.Client, o listening, since time.Time) error {
	p := client.ListEventsParams{Type: strings.Join(o.types, ","), Subject: o.subject, Source: o.source}
	behind := o.after
	write := func(e client.EventView) error { return a.event(r, e) }
	if o.once || !since.IsZero() {
		var err error
		if behind, err = past(ctx, to, p, cmp.Or(behind, "0"), since, write); err != nil || o.once {
			return err
		}
	}
	err := to.Follow(ctx, client.Follow{
		Params: p, After: behind, OnEvent: write,
		OnReconnect: func(err error) {
			text, _, _ := strings.Cut(err.Error(), "\n")
			a.complain(terminal.Visible(text) + "; trying again")
		},
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// past writes the stored events from an instant on, and returns the id of the last
// event that it read.
func past(ctx context.Context, to *client.Client, p client.ListEventsParams, behind string, since time.Time, write func(client.EventView) error) (string, error) {
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

// event writes an event on a line of its own.
func (a *app) event(r *remote, e client.EventView) error {
	if r.json() {
		return a.line(e)
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s  %s  %s  %s\n", a.second(e.Time), terminal.Left(terminal.Visible(e.Type), 48), terminal.Visible(e.Subject), terminal.Visible(string(data)))
	return err
}

const auditAbout = `Lists who changed what, newest first: changes of channels and surveys, with each field
before and after, changes of respondents, cancellations and searches by number, also
requests that were refused for lack of a scope. Of a secret it has only that it
changed. The token needs the scope channels:admin.

` + aboutRemote + `

` + aboutExits

func (a *app) audit() *cobra.Command {
	r := newRemote()
	var w watching
	most := 50
	var p client.ListAuditParams
	c := a.speaking(r, "audit", "List who changed what", auditAbout, "  weir audit --since 24h\n  weir audit --limit 0 --output jsonl > audit.jsonl",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if most < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.listAudit(ctx, r, to, p, most, out) })
		})
	a.moment(c, &p.Since, "since", "only entries from then on")
	a.moment(c, &p.Until, "until", "only entries before")
	c.Flags().IntVar(&most, "limit", most, "most entries that are listed; 0: all")
	w.flag(c)
	a.addressed(c, r)
	return c
}

func (a *app) listAudit(ctx context.Context, r *remote, to *client.Client, p client.ListAuditParams, most int, out io.Writer) error {
	l := a.list(&r.printing, out, left("AT"), left("TOKEN", 8), left("ACTION"), left("SUBJECT", 10), right("STATUS"), left("CHANGES", 12), left("REQUEST", 8))
	p.Limit = pageSize(most)
	_, err := printList(l, to.Audit(ctx, p), most, func(e client.AuditView) []terminal.Cell {
		status := plainCell(fmt.Sprint(e.Status))
		if e.Status >= 400 {
			status.Style = terminal.Bad
		}
		return cells(a.second(e.At), e.Token, e.Action, e.Subject, status, changesText(e.Changes), e.Request)
	})
	return err
}

// changesText formats the changes of a request on one line.
func changesText(list []client.AuditChangeView) string {
	var parts []string
	for _, c := range list {
		if c.Secret {
			parts = append(parts, c.Field+" changed")
		} else {
			parts = append(parts, fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.Before, "-"), cmp.Or(c.After, "-")))
		}
	}
	return strings.Join(parts, ", ")
}
