// Package contacts holds the commands "weir contact" and "weir dlq".
package contacts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Queue, find, show and cancel contacts of a running Weir.

Phone numbers are masked unless the token has the scope pii:read.`

const example = `  weir contact send sms --to +15550001 --message "Please call us." --key reminder-17
  weir contact send sms --file people.csv --errors refused.csv
  weir contact list --channel sms --state queued
  weir contact timeline 1-1w9gn3k1c740`

// Command makes "weir contact".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection().Completing("CHANNEL", app.ChannelNames)
	return r.APIGroup("contact", "Queue, find, show and cancel contacts", about, example,
		sendCommand(a, r), listCommand(a, r), showCommand(a.Clock, r), timelineCommand(a.Clock, r), cancelCommand(a, r), exportCommand(a, r), skippedCommand(a, r))
}

// listCommand makes "weir contact list".
func listCommand(a *app.App, r *app.Connection) *cobra.Command {
	q := contactQuery{limit: 100}
	c := r.WatchCommand("list", "List contacts", `List contacts, newest first by acceptance; with --state or --outcome, by when they
entered that state. --order oldest lists by channel, in order of acceptance.
--finished-after lists over all channels in the order of the ends.

--to lists the contacts of a phone number, by channel, newest first. It needs the scope
pii:read, is recorded in the audit log, and cannot be combined with --state, --outcome,
--survey, --key or --order. The search reads every contact: --channel and --since make it
faster. With --to - the number is read from standard input, which keeps it out of shell
histories.`, `  weir contact list --channel sms --state queued,sending
  weir contact list --channel sms --key reminder-17 --output json
  weir contact list --channel sms --outcome lost --finished-since 24h
  weir contact list --finished-after 2026-05-04T09:00:00Z --output jsonl
  weir contact list --to - --since 72h
  weir contact list --channel sms --state done --order oldest --limit 0 --output jsonl > done.jsonl`,
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			return printContacts(ctx, a, r, to, q, out)
		})
	c.Aliases, c.SuggestFor = []string{"find"}, []string{"search"}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return readQuery(a.Console, c, &q) }
	q.filterFlags(a, c, r)
	f := c.Flags()
	f.StringVar(&q.number, "to", "", "only contacts to this phone number; \"-\" reads it from standard input")
	f.IntVar(&q.limit, "limit", q.limit, "maximum number of contacts; 0: all")
	return c
}

// contactQuery selects the contacts of a list.
type contactQuery struct {
	p      client.ListContactsParams
	states []string
	number string
	limit  int
}

// filterFlags adds the flags that a list and an export share.
func (q *contactQuery) filterFlags(a *app.App, c *cobra.Command, r *app.Connection) {
	p := &q.p
	var outcomes []string
	for _, o := range weir.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	f := c.Flags()
	f.StringVar(&p.Channel, "channel", "", "only contacts of this channel")
	f.StringSliceVar(&q.states, "state", nil, "only contacts in these states: queued, sending, active, unknown, done (comma-separated)")
	f.StringVar(&p.Outcome, "outcome", "", "only contacts with this outcome: "+strings.Join(outcomes[:len(outcomes)-1], ", ")+" or "+outcomes[len(outcomes)-1])
	f.StringVar(&p.Survey, "survey", "", "only contacts of this survey")
	f.StringVar(&p.Key, "key", "", "only contacts with this idempotency key")
	f.StringVar(&p.Order, "order", "newest", "newest or oldest first")
	a.Clock.TimeFlag(c, &p.Since, "since", "only contacts accepted at or after")
	a.Clock.TimeFlag(c, &p.Until, "until", "only contacts accepted before")
	a.Clock.TimeFlag(c, &p.FinishedSince, "finished-since", "only contacts done at or after")
	a.Clock.TimeFlag(c, &p.FinishedAfter, "finished-after", "only contacts done after, the earliest end first")
	a.Clock.TimeFlag(c, &p.FinishedUntil, "finished-until", "only contacts done before")
	r.CompleteFlag(c, "channel", app.ChannelNames)
	r.CompleteFlag(c, "survey", app.SurveyNames)
	for flag, words := range map[string][]string{
		"state": {"queued", "sending", "active", "unknown", "done"}, "outcome": outcomes, "order": {"newest", "oldest"},
	} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// readFilter reads the flags of a filter whose values are not fields as they stand.
func (q *contactQuery) readFilter(c *cobra.Command) {
	q.p.State = strings.Join(q.states, ",")
	if !q.p.FinishedAfter.IsZero() && !c.Flags().Changed("order") {
		q.p.Order = "oldest"
	}
}

// readQuery checks the flags of a list, and reads the phone number from standard input if asked to.
func readQuery(console *app.Console, c *cobra.Command, q *contactQuery) error {
	if q.limit < 0 {
		return command.UsageError(c, "--limit must be 0 or more")
	}
	q.readFilter(c)
	if !c.Flags().Changed("to") {
		return nil
	}
	for _, other := range []string{"state", "outcome", "survey", "key", "order", "finished-since", "finished-after", "finished-until"} {
		if c.Flags().Changed(other) {
			return command.UsageError(c, "--to can be combined with --channel, --since, --until and --limit, not with --"+other)
		}
	}
	if q.number == "-" {
		var err error
		if q.number, err = console.FirstLine(c); err != nil {
			return err
		}
	}
	if q.number == "" {
		return command.UsageError(c, "--to needs a phone number")
	}
	return nil
}

// contacts lists the contacts that the query selects.
func (q *contactQuery) contacts(ctx context.Context, to *client.Client) iter.Seq2[client.ContactView, error] {
	if q.number != "" {
		return to.ContactsOf(ctx, client.SearchBody{To: q.number, Channel: q.p.Channel, Since: q.p.Since, Until: q.p.Until, Limit: app.PageSize(q.limit)})
	}
	p := q.p
	p.Limit = app.PageSize(q.limit)
	return to.Contacts(ctx, p)
}

// printContacts prints the contacts that the query selects, and whether there are more.
func printContacts(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, q contactQuery, out io.Writer) error {
	l := a.Console.NewList(&r.Output, out, app.Column("CONTACT"), app.Column("CHANNEL", 8), app.Column("KEY", 10), app.Column("TO"), app.Column("STATE"), app.Column("OUTCOME"), app.NumberColumn("ATTEMPTS"), app.Column("ACCEPTED"), app.Column("FINISHED"), app.Column("REASON", 10))
	err := app.PrintList(l, q.contacts(ctx, to), q.limit, func(x client.ContactView) []terminal.Cell {
		attempts := 0
		for _, t := range x.Attempts {
			attempts = max(attempts, t.Number)
		}
		return app.Cells(x.ID, x.Channel, x.Key, x.To, app.StateCell(x.State), app.StateCell(x.Outcome), attempts, a.Clock.FormatMinute(x.QueuedAt), a.Clock.FormatMinute(x.FinishedAt), cmp.Or(a.Clock.FormatWhy(x.Why), x.Reason))
	})
	if l.More && err == nil && !r.JSON() {
		a.Console.Note("there are more contacts; --limit sets the maximum, 0 lists all")
	}
	return err
}

// showCommand makes "weir contact show".
func showCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	return app.ShowCommand(clock, r, "show ID", "Show a contact", "Show the state, content and attempts of a contact.", "  weir contact show 1-1w9gn3k1c740\n  weir contact show 1-1w9gn3k1c740 --watch",
		(*client.Client).GetContact, contactText)
}

// contactText formats a contact with its attempts for people.
func contactText(clock *app.Clock, x *client.ContactView, colors bool) string {
	var b strings.Builder
	line := func(name, text string) { terminal.Field(&b, 11, name, text) }
	state := app.StateCell(cmp.Or(x.Outcome, x.State))
	fmt.Fprintf(&b, "%s: %s", terminal.Visible(x.ID), x.State)
	if x.Outcome != "" {
		fmt.Fprintf(&b, ", %s", state.Style.Paint(terminal.Visible(x.Outcome), colors))
	}
	if x.Canceling {
		b.WriteString(", canceling")
	}
	b.WriteByte('\n')
	facts := []struct{ member, name, text string }{
		{"reason", "", x.Reason}, {"why", "", clock.FormatWhy(x.Why)}, {"channel", "", x.Channel}, {"to", "", x.To}, {"key", "", x.Key},
		{"survey", "", x.Survey}, {"purpose", "", x.Purpose}, {"time_zone", "", x.TimeZone}, {"rule", "", x.Rule}, {"priority", "", x.Priority},
		{"size", "", terminal.Plural(x.Size, "slot", "slots")}, {"not_before", "", clock.FormatSecond(x.NotBefore)}, {"not_after", "", clock.FormatSecond(x.NotAfter)},
		{"queued_at", "accepted", clock.FormatSecond(x.QueuedAt)}, {"finished_at", "finished", clock.FormatSecond(x.FinishedAt)},
		{"id", "", ""}, {"state", "", ""}, {"outcome", "", ""}, // in the first line
	}
	known := map[string]bool{}
	for _, f := range facts {
		known[f.member] = true
		line(cmp.Or(f.name, strings.ReplaceAll(f.member, "_", " ")), f.text)
	}
	for member, value := range reflect.ValueOf(x).Elem().Fields() { // those that have no place of their own
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if text, ok := value.Interface().(string); ok && !known[name] {
			line(strings.ReplaceAll(name, "_", " "), text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
		line("label", name+"="+x.Labels[name])
	}
	for _, text := range x.Messages {
		line("message", text)
	}
	line("call", callText(x.Call))
	for i := range x.Attempts {
		t := &x.Attempts[i]
		end := "in progress"
		if !t.FinishedAt.IsZero() {
			end = cmp.Or(t.Outcome, "queued again")
		}
		line(fmt.Sprintf("attempt %d", t.Number), strings.TrimSuffix(strings.Join([]string{t.ID, clock.FormatSecond(t.ClaimedAt), end, t.Reason}, "  "), "  "))
		if t.Receipt != nil {
			line("receipt", t.Receipt.Text)
		}
	}
	return b.String()
}

// callText formats the call of a contact as JSON; empty: it has none.
func callText(call *client.Call) string {
	if call == nil {
		return ""
	}
	text, err := json.Marshal(call)
	if err != nil {
		return ""
	}
	return string(text)
}
