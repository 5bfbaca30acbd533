// Package people holds the commands "weir consent", "weir person" and "weir purpose".
package people

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Record that a person does not want to be contacted, or takes that back, and show what a
person has said. A contact to whoever has refused is not dispatched: it ends as suppressed.

The token needs the scope people:admin; to show what a person has said, pii:read too.`

const example = `  weir consent refuse +525512345678 --words "please remove me"
  weir consent show "+52 55 1234 5678"
  weir consent give +525512345678
  weir consent import opted-out.csv --dry-run`

// Command makes "weir consent".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("consent", "Record and show refusals and consents", about, example,
		recordCommand(a, r, "refuse", "refused", "Record a refusal", "Record that a person does not want to be contacted, over any channel. Contacts that wait\nend as suppressed when it is their turn."),
		recordCommand(a, r, "give", "given", "Record a consent", "Record that a person wants to be contacted. It takes back a refusal that was recorded by\na client. What the person has refused in a message, only the person takes back."),
		importCommand(a, r), showCommand(a, r), reviewCommand(a, r), decideCommand(a, r), exportCommand(a, r))
}

func recordCommand(a *app.App, r *app.Connection, name, status, short, long string) *cobra.Command {
	var key, words string
	var at time.Time
	c := r.APICommand(name+" ADDRESS", short, long, "  weir consent "+name+" +525512345678",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			one := client.ConsentBody{To: args[0], Status: status, Key: key, Words: words, At: at}
			if one.Key == "" {
				one.Key = "cli-" + strings.ToLower(rand.Text())
			}
			list, err := to.PostConsents(ctx, client.ConsentsBody{Consents: []client.ConsentBody{one}}, client.PostConsentsParams{})
			if err != nil {
				return err
			}
			note := ""
			if list.OtherAddresses > 0 {
				note = "; no country has such a phone number: it counts for contacts to exactly this address"
			}
			if len(list.States) == 0 {
				return a.Console.PrintValue(&r.Output, list, "recorded; what counts of the person is for tokens with pii:read%s", note)
			}
			is := list.States[0]
			if is.Status != status {
				return command.Exit(app.Rejected, fmt.Sprintf("recorded, and the person is still %s: %s, %s; only the person can take it back", is.Status, is.Source, a.Clock.FormatMinute(is.At)))
			}
			return a.Console.PrintValue(&r.Output, is, "%s since %s%s", is.Status, a.Clock.FormatMinute(is.At), note)
		})
	f := c.Flags()
	a.Clock.TimeFlag(c, &at, "at", "when it was said (default: now)")
	f.StringVar(&words, "words", "", "what was said, as a proof")
	f.StringVar(&key, "key", "", "idempotency key (default: a generated one)")
	return c
}

func showCommand(a *app.App, r *app.Connection) *cobra.Command {
	var limit int
	search := func(to *client.Client, ctx context.Context, address string) (*client.PersonConsents, error) {
		return to.SearchConsents(ctx, client.ConsentSearchBody{To: address, Limit: limit})
	}
	c := app.ShowCommand(a.Clock, r, "show ADDRESS", "Show what a person has said", "Show whether a person has refused, and the history. The search is in the audit log.", "  weir consent show +525512345678", search, consentText)
	c.Flags().IntVar(&limit, "limit", 20, "most consents of the history")
	return c
}

// consentText formats what a person has said.
func consentText(clock *app.Clock, is *client.PersonConsents, _ bool) string {
	var b strings.Builder
	switch {
	case is.Refused:
		b.WriteString("refused\n")
	case len(is.States) == 0:
		b.WriteString("nothing is recorded\n")
	default:
		b.WriteString("not refused\n")
	}
	for _, c := range is.Consents {
		fmt.Fprintf(&b, "  %s  %-7s  %s", clock.FormatMinute(c.At), c.Status, c.Source)
		if c.By != "" {
			b.WriteString(" " + terminal.Visible(c.By))
		}
		if c.Words != "" {
			b.WriteString(": " + terminal.Visible(c.Words))
		}
		b.WriteString("\n")
	}
	return b.String()
}
