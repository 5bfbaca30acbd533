package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
)

const dlqAbout = `Speaks to a running Weir about dead letters: contacts that ended as failed, lost or
dead_letter, and that nobody will retry. Those of respondents are not among them:
their survey retries them.

` + aboutRemote + `

` + aboutExits

const dlqExample = `  weir dlq groups
  weir dlq list --channel sms --outcome lost
  weir dlq requeue --channel sms --reason "the provider refused it: 503" --since 24h
  weir dlq discard --all --until 2026-01-01T00:00:00Z --yes`

// deadFilter is the API's filter for dead letters.
type deadFilter struct {
	All      bool       `json:"all,omitempty"`
	Channel  string     `json:"channel,omitempty"`
	Outcome  string     `json:"outcome,omitempty"`
	Reason   *string    `json:"reason,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Contacts []string   `json:"contacts,omitempty"`
	Limit    int        `json:"limit,omitempty"`
	DryRun   bool       `json:"dry_run,omitempty"`
}

// deadDone is the API's result of a request on dead letters.
type deadDone struct {
	Matching     int64 `json:"matching"`
	Done         int64 `json:"done"`
	WindowClosed int64 `json:"window_closed"`
	ChannelGone  int64 `json:"channel_gone"`
	Remaining    int64 `json:"remaining"`
}

// deadLetter and deadGroup are the elements of the lists.
type deadLetter struct {
	At      time.Time          `json:"at"`
	Outcome string             `json:"outcome"`
	Reason  string             `json:"reason"`
	Contact client.ContactView `json:"contact"`
}

type deadGroup struct {
	Channel string    `json:"channel"`
	Outcome string    `json:"outcome"`
	Reason  string    `json:"reason"`
	Count   int64     `json:"count"`
	Oldest  time.Time `json:"oldest"`
	Newest  time.Time `json:"newest"`
}

// deadFlags are the flags of a filter.
type deadFlags struct{ filter deadFilter }

func (d *deadFlags) add(a *app, c *cobra.Command, r *remote) {
	f := c.Flags()
	f.StringVar(&d.filter.Channel, "channel", "", "only those of this channel")
	f.StringVar(&d.filter.Outcome, "outcome", "", "only dead letters that are failed, lost or dead_letter")
	f.Func("reason", "only those with this reason, as \"weir dlq groups\" shows it; empty: those without", func(text string) error {
		d.filter.Reason = &text
		return nil
	})
	for name, into := range map[string]**time.Time{"since": &d.filter.Since, "until": &d.filter.Until} {
		when := map[string]string{"since": "then or later", "until": "before"}[name]
		f.Func(name, "only contacts that became dead letters "+when+": an instant, or how long ago, such as 24h", func(text string) error {
			at, err := a.ago(text)
			*into = &at
			return err
		})
	}
	a.flagNames(c, r, "channel", channelNames)
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions([]string{"failed", "lost", "dead_letter"}, cobra.ShellCompDirectiveNoFileComp))
}

// query returns the filter as the query of a list request.
func (d *deadFilter) query() url.Values {
	q := url.Values{}
	for name, text := range map[string]string{"channel": d.Channel, "outcome": d.Outcome} {
		if text != "" {
			q.Set(name, text)
		}
	}
	if d.Reason != nil {
		q.Set("reason", *d.Reason)
	}
	for name, at := range map[string]*time.Time{"since": d.Since, "until": d.Until} {
		if at != nil {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return q
}

func (a *app) dlq() *cobra.Command {
	r := newRemote()
	c := command.Group("dlq", "See dead letters, queue them again, discard them", dlqAbout,
		a.dlqGroups(r), a.dlqList(r),
		a.dlqDo(r, "requeue", "Queue dead letters again", `Queues dead letters again, each as a new contact with the same content. Nobody is
contacted twice for one, also when the command is given again. Those whose time is
over, or whose channel is gone, stay.`, "queues %s again", "queued again"),
		a.dlqDo(r, "discard", "Discard dead letters", "Discards dead letters. Their contacts stay readable until their retention ends.", "discards %s", "discarded"))
	c.Example = dlqExample
	a.addressed(c, r)
	return c
}

func (a *app) dlqGroups(r *remote) *cobra.Command {
	var d deadFlags
	var w watching
	c := a.speaking(r, "groups", "Count dead letters by channel, outcome and reason", "Counts dead letters by channel, outcome and reason, the most first.", "  weir dlq groups\n  weir dlq groups --since 24h --watch=10s",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error {
				var page struct{ Groups []deadGroup }
				if err := to.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/dead-letters/groups", Query: d.filter.query()}, &page); err != nil {
					return err
				}
				l := a.list(&r.printing, out, right("COUNT"), left("CHANNEL", 8), left("OUTCOME"), left("OLDEST"), left("NEWEST"), left("REASON", 12))
				for _, g := range page.Groups {
					if err := l.add(g, cells(grouped(g.Count), g.Channel, stateCell(g.Outcome), a.minute(g.Oldest), a.minute(g.Newest), g.Reason)...); err != nil {
						return err
					}
				}
				return l.end()
			})
		})
	d.add(a, c, r)
	w.flag(c)
	return c
}

func (a *app) dlqList(r *remote) *cobra.Command {
	var d deadFlags
	var w watching
	most := 100
	c := a.speaking(r, "list", "List dead letters", "Lists dead letters by channel, the latest first.", "  weir dlq list --channel sms --outcome lost\n  weir dlq list --limit 0 --output jsonl > dead.jsonl",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if most < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.listDead(ctx, r, to, d.filter.query(), most, out) })
		})
	d.add(a, c, r)
	c.Flags().IntVar(&most, "limit", most, "most that are listed; 0: all")
	w.flag(c)
	return c
}

func (a *app) listDead(ctx context.Context, r *remote, to *client.Client, query url.Values, most int, out io.Writer) error {
	l := a.list(&r.printing, out, left("CONTACT"), left("CHANNEL", 8), left("TO"), left("OUTCOME"), left("AT"), left("REASON", 12))
	limit := 1000
	if most > 0 {
		limit = min(most, limit)
	}
	query.Set("limit", strconv.Itoa(limit))
	query.Del("cursor")
	for {
		var page struct {
			Letters []deadLetter `json:"dead_letters"`
			Next    string       `json:"next_cursor"`
		}
		if err := to.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/dead-letters", Query: query}, &page); err != nil {
			return err
		}
		for i := range page.Letters {
			d := &page.Letters[i]
			if err := l.add(d, cells(d.Contact.ID, d.Contact.Channel, d.Contact.To, stateCell(d.Outcome), a.minute(d.At), d.Reason)...); err != nil {
				return err
			}
			if most > 0 && l.count == most {
				return l.end()
			}
		}
		if page.Next == "" {
			return l.end()
		}
		query.Set("cursor", page.Next)
	}
}

// dlqDo makes a command that changes dead letters.
func (a *app) dlqDo(r *remote, step, short, long, asks, done string) *cobra.Command {
	var d deadFlags
	c := a.speaking(r, step, short, long+"\n\nHow many are meant is counted before, and asked about; --dry-run only counts.", "  weir dlq "+step+" --channel sms --outcome lost --dry-run\n  weir dlq "+step+" --channel sms --outcome lost --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			f := d.filter
			if len(f.query()) == 0 && len(f.Contacts) == 0 && !f.All {
				return command.UsageError(c, "which? --channel, --outcome, --reason, --since, --until and --contact say it, --all takes every one")
			}
			if len(f.Contacts) > 0 && (len(f.query()) > 0 || f.All) {
				return command.UsageError(c, "--contact says which, and nothing else beside it")
			}
			if f.Limit < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			count, err := dead(ctx, to, step, f, 1, true)
			if err != nil {
				return err
			}
			meant := count.Matching
			if f.Limit > 0 {
				meant = min(meant, int64(f.Limit))
			}
			if f.DryRun || meant == 0 {
				return a.deadTold(r, count, plural(meant, "dead letter is meant", "dead letters are meant")+"; nothing was done")
			}
			if err := a.confirm(c, "this "+fmt.Sprintf(asks, plural(meant, "dead letter", "dead letters"))); err != nil {
				return err
			}
			return a.deadAll(ctx, r, to, step, done, f, meant)
		})
	d.add(a, c, r)
	c.Flags().StringSliceVar(&d.filter.Contacts, "contact", nil, "ids of the contacts that are meant, up to 200")
	c.Flags().BoolVar(&d.filter.All, "all", false, "all dead letters, if nothing else says which")
	c.Flags().IntVar(&d.filter.Limit, "limit", 0, "most that are dealt with; 0: all")
	c.Flags().BoolVar(&d.filter.DryRun, "dry-run", false, "only count")
	return askable(c)
}

const mostDead = 10_000 // in one request; the API's maximum

// dead makes one request. It is safe to repeat after a lost response.
func dead(ctx context.Context, to *client.Client, step string, f deadFilter, limit int, dry bool) (out deadDone, err error) {
	f.Limit, f.DryRun = limit, dry
	return out, to.Do(ctx, client.Request{Method: http.MethodPost, Path: "/v1/dead-letters:" + step, Body: f, Idempotent: true}, &out)
}

// deadAll processes all matching dead letters, with as many requests as needed.
func (a *app) deadAll(ctx context.Context, r *remote, to *client.Client, step, done string, f deadFilter, meant int64) error {
	line := a.statusLine()
	defer line.clear()
	sum := deadDone{Matching: meant}
	for sum.Done < meant {
		got, err := dead(ctx, to, step, f, int(min(mostDead, meant-sum.Done)), false)
		if err != nil {
			line.clear()
			return fmt.Errorf("%w\n%s %s before; the same command can be given again", err, grouped(sum.Done), done)
		}
		sum.Done += got.Done
		sum.WindowClosed, sum.ChannelGone, sum.Remaining = got.WindowClosed, got.ChannelGone, got.Remaining
		line.show(fmt.Sprintf("%s %s of %s %s", bar(int(sum.Done), int(meant)), grouped(sum.Done), grouped(meant), done))
		if got.Done == 0 {
			break
		}
	}
	line.clear()
	text := plural(sum.Done, "dead letter", "dead letters") + " " + done
	if sum.WindowClosed > 0 {
		text += fmt.Sprintf(", %s stay because their time is over", grouped(sum.WindowClosed))
	}
	if sum.ChannelGone > 0 {
		text += fmt.Sprintf(", %s stay because their channel is gone", grouped(sum.ChannelGone))
	}
	if sum.Remaining > 0 {
		text += fmt.Sprintf("; %s of the matching ones remain", grouped(sum.Remaining))
	}
	return a.deadTold(r, sum, text)
}

func (a *app) deadTold(r *remote, sum deadDone, text string) error {
	raw, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	return a.told(r, raw, "%s", text)
}
