package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

const contactAbout = `Speaks to a running Weir about contacts: queues one or a million of them, finds
them, shows what happened to them, takes them back.

` + aboutRemote + ` Without the scope pii:read numbers are
shown masked.

` + aboutExits

const contactExample = `  weir contact send sms --to +15550001 --message "Please call us." --key reminder-17
  weir contact send sms --file people.csv --errors refused.csv
  weir contact list --channel sms --state queued
  weir contact timeline 1-1w9gn3k1c740`

func (a *app) contact() *cobra.Command {
	r := newRemote()
	c := command.Group("contact", "Queue, find, follow and cancel contacts", contactAbout,
		a.contactSend(r), a.contactList(r), a.contactShow(r), a.contactTimeline(r), a.contactCancel(r))
	c.Example = contactExample
	a.addressed(c, r)
	return c
}

func (a *app) contactList(r *remote) *cobra.Command {
	var w watching
	q := contactQuery{most: 100}
	p := &q.p
	var outcomes []string
	for _, o := range weir.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	c := a.speaking(r, "list", "List contacts", `Lists contacts, the latest accepted first; with --state or --outcome, the latest to
enter that state first. --order oldest lists by channel and in order of acceptance.

--to lists the contacts of a phone number, by channel and the latest first. It needs the
scope pii:read, is recorded in the audit log and takes no state, outcome, survey, key or
order. The server examines contact by contact: --channel and --since make it faster. With
--to - the number is read from standard input, which keeps it out of shell histories.`, `  weir contact list --channel sms --state queued,sending
  weir contact list --channel sms --key reminder-17 --output json
  weir contact list --channel sms --outcome lost --finished-since 24h
  weir contact list --to - --since 72h
  weir contact list --channel sms --state done --order oldest --limit 0 --output jsonl > done.jsonl`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if err := a.readQuery(c, &q); err != nil {
				return err
			}
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.listContacts(ctx, r, to, q, out) })
		})
	f := c.Flags()
	f.StringVar(&p.Channel, "channel", "", "only those of this channel")
	f.StringSliceVar(&q.states, "state", nil, "only contacts that are queued, sending, active, unknown or done; several with commas")
	f.StringVar(&p.Outcome, "outcome", "", "only contacts that ended as "+strings.Join(outcomes[:len(outcomes)-1], ", ")+" or "+outcomes[len(outcomes)-1])
	f.StringVar(&p.Survey, "survey", "", "only those of this survey")
	f.StringVar(&p.Key, "key", "", "only those with this key")
	f.StringVar(&q.number, "to", "", "only those to this phone number; -: read it from standard input")
	f.StringVar(&p.Order, "order", "newest", "which come first: newest or oldest")
	a.moment(c, &p.Since, "since", "only contacts accepted then or later")
	a.moment(c, &p.Until, "until", "only contacts accepted before")
	a.moment(c, &p.FinishedSince, "finished-since", "only contacts that finished then or later")
	a.moment(c, &p.FinishedUntil, "finished-until", "only contacts that finished before")
	f.IntVar(&q.most, "limit", q.most, "most contacts that are listed; 0: all")
	a.flagNames(c, r, "channel", channelNames)
	a.flagNames(c, r, "survey", surveyNames)
	for flag, words := range map[string][]string{
		"state": {"queued", "sending", "active", "unknown", "done"}, "outcome": outcomes, "order": {"newest", "oldest"},
	} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	w.flag(c)
	return c
}

// contactQuery selects the contacts of a list.
type contactQuery struct {
	p      client.ListContactsParams
	states []string
	number string
	most   int
}

// readQuery checks the flags of a list, and reads the phone number from standard input if asked to.
func (a *app) readQuery(c *cobra.Command, q *contactQuery) error {
	if q.most < 0 {
		return command.UsageError(c, "--limit must be 0 or more")
	}
	q.p.State = strings.Join(q.states, ",")
	if !c.Flags().Changed("to") {
		return nil
	}
	for _, other := range []string{"state", "outcome", "survey", "key", "order", "finished-since", "finished-until"} {
		if c.Flags().Changed(other) {
			return command.UsageError(c, "--to goes with --channel, --since, --until and --limit, not with --"+other)
		}
	}
	if q.number == "-" {
		from, _, _, err := a.input(c, q.number)
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(from).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		q.number = strings.TrimSpace(line)
	}
	if q.number == "" {
		return command.UsageError(c, "--to needs a phone number")
	}
	return nil
}

// contacts lists the contacts that the query selects.
func (q *contactQuery) contacts(ctx context.Context, to *client.Client) iter.Seq2[client.ContactView, error] {
	if q.number != "" {
		return to.ContactsOf(ctx, client.SearchBody{To: q.number, Channel: q.p.Channel, Since: q.p.Since, Until: q.p.Until, Limit: pageSize(q.most)})
	}
	p := q.p
	p.Limit = pageSize(q.most)
	return to.Contacts(ctx, p)
}

// moment adds a flag for an instant, given as such or as how long ago it was.
func (a *app) moment(c *cobra.Command, into *time.Time, name, about string) {
	c.Flags().Func(name, about+": an instant, or how long ago, such as 24h", func(text string) (err error) {
		*into, err = a.ago(text)
		return err
	})
}

func (a *app) listContacts(ctx context.Context, r *remote, to *client.Client, q contactQuery, out io.Writer) error {
	l := a.list(&r.printing, out, left("CONTACT"), left("CHANNEL", 8), left("KEY", 10), left("TO"), left("STATE"), left("OUTCOME"), right("ATTEMPTS"), left("ACCEPTED"), left("FINISHED"), left("REASON", 10))
	more, err := printList(l, q.contacts(ctx, to), q.most, func(x client.ContactView) []terminal.Cell {
		attempts := 0
		for _, t := range x.Attempts {
			attempts = max(attempts, t.Number)
		}
		return cells(x.ID, x.Channel, x.Key, x.To, stateCell(x.State), stateCell(x.Outcome), attempts, a.minute(x.QueuedAt), a.minute(x.FinishedAt), cmp.Or(x.Why, x.Reason))
	})
	if more && err == nil && !r.json() {
		a.note("there are more; --limit says how many are listed, 0 lists all")
	}
	return err
}

func (a *app) contactShow(r *remote) *cobra.Command {
	var w watching
	c := a.speaking(r, "show ID", "Show a contact with its attempts", "Shows a contact, what it is to say, and its attempts.", "  weir contact show 1-1w9gn3k1c740\n  weir contact show 1-1w9gn3k1c740 --watch",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error {
				var raw []byte
				x, err := to.CaptureBody(&raw).GetContact(ctx, args[0])
				if err != nil {
					return err
				}
				if r.json() {
					return rawLine(out, raw)
				}
				_, err = io.WriteString(out, a.contactText(x, a.look(&r.printing).colours))
				return err
			})
		})
	w.flag(c)
	return c
}

func (a *app) contactText(x *client.ContactView, colours bool) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s  %s\n", name, terminal.Visible(text))
		}
	}
	state := stateCell(cmp.Or(x.Outcome, x.State))
	fmt.Fprintf(&b, "%s: %s", terminal.Visible(x.ID), x.State)
	if x.Outcome != "" {
		fmt.Fprintf(&b, ", %s", state.Style.Paint(terminal.Visible(x.Outcome), colours))
	}
	if x.Canceling {
		b.WriteString(", being taken back")
	}
	b.WriteByte('\n')
	line("reason", x.Reason)
	line("why", x.Why)
	line("channel", x.Channel)
	line("to", x.To)
	line("key", x.Key)
	line("survey", x.Survey)
	line("priority", x.Priority)
	line("size", plural(int64(x.Size), "slot", "slots"))
	line("not before", a.second(x.NotBefore))
	line("not after", a.second(x.NotAfter))
	line("accepted", a.second(x.QueuedAt))
	line("finished", a.second(x.FinishedAt))
	for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
		line("label", name+"="+x.Labels[name])
	}
	for _, text := range x.Messages {
		line("message", text)
	}
	if call := callText(x.Call); call != "" {
		line("call", call)
	}
	for i := range x.Attempts {
		t := &x.Attempts[i]
		end := "under way"
		if !t.FinishedAt.IsZero() {
			end = cmp.Or(t.Outcome, "back in the queue")
		}
		line(fmt.Sprintf("attempt %d", t.Number), strings.TrimSuffix(strings.Join([]string{t.ID, a.second(t.ClaimedAt), end, t.Reason}, "  "), "  "))
	}
	return b.String()
}

func callText(call client.Call) string {
	text, err := json.Marshal(call)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

// second formats an instant to the second.
func (a *app) second(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return a.shown(t).Format("2006-01-02 15:04:05")
}

func (a *app) contactCancel(r *remote) *cobra.Command {
	return askable(a.speaking(r, "cancel ID", "Take a contact back", `Takes a contact back. One that waits is done at once; of one in flight the provider
is asked, and it ends when it is known how.`, "  weir contact cancel 1-1w9gn3k1c740 --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := a.confirm(c, "this takes contact "+args[0]+" back"); err != nil {
				return err
			}
			var raw []byte
			x, err := to.CaptureBody(&raw).CancelContact(ctx, args[0])
			if err != nil {
				return err
			}
			if x.State == "done" {
				return a.told(r, raw, "%s: %s", args[0], cmp.Or(x.Outcome, x.State))
			}
			return a.told(r, raw, "%s: %s, being taken back", args[0], x.State)
		}))
}
