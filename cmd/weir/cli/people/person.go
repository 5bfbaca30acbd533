package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const aboutPerson = `Show everything about one person, over all channels, surveys and messages: what was said about
being contacted, whether the rules allow a contact now, contacts with their attempts, and
messages. The person is named by a phone number or another address ("-" reads it from
standard input, so that no history of commands keeps it), by a contact or by a respondent.

The token needs pii:read, and people:admin or contacts:read. The search is in the audit log,
with the address masked.`

const personExample = `  weir person show "+52 55 1234 5678"
  weir person show --contact 1-1w9gn3k1c740
  weir person export +525512345678 --file person.json`

// PersonCommand makes "weir person".
func PersonCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("person", "Show or erase everything about one person", aboutPerson, personExample, personShowCommand(a, r), personExportCommand(a, r), personEraseCommand(a, r))
}

// personFlags say which person a command is about.
type personFlags struct{ contact, respondent string }

func (f *personFlags) addTo(c *cobra.Command) {
	c.Args = app.NamedArgs([]string{"[NUMBER]"})
	c.Flags().StringVar(&f.contact, "contact", "", "id of a contact to the person, instead of NUMBER")
	c.Flags().StringVar(&f.respondent, "respondent", "", "id of the person as a respondent, instead of NUMBER")
}

// body returns the request for the person.
func (f *personFlags) body(a *app.App, c *cobra.Command, args []string) (client.FindBody, error) {
	body := client.FindBody{Contact: f.contact, Respondent: f.respondent}
	named := len(args)
	for _, id := range []string{f.contact, f.respondent} {
		if id != "" {
			named++
		}
	}
	if named != 1 {
		return body, command.UsageError(c, "name the person by one of NUMBER, --contact and --respondent")
	}
	if len(args) == 0 {
		return body, nil
	}
	body.To = args[0]
	if body.To == "-" {
		var err error
		if body.To, err = a.Console.FirstLine(c); err != nil {
			return body, err
		}
	}
	if body.To = strings.TrimSpace(body.To); body.To == "" {
		return body, command.UsageError(c, "NUMBER is empty")
	}
	return body, nil
}

func personShowCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f personFlags
	limit := 50
	c := r.APICommand("show [NUMBER]", "Show a person", "Show what the rules say about a person now, the surveys, and one conversation, newest first.", personExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			body, err := f.body(a, c, args)
			if err != nil {
				return err
			}
			if body.Limit = limit; limit < 1 || limit > 1000 {
				return command.UsageError(c, "--limit must be 1 to 1000")
			}
			is, err := to.FindPerson(ctx, body)
			if err != nil {
				return err
			}
			if r.JSON() {
				return app.WriteRaw(a.Console.Stdout, r.Body)
			}
			return printPerson(a, r, is)
		})
	f.addTo(c)
	c.Flags().IntVar(&limit, "limit", limit, "most contacts and messages")
	return c
}

// printPerson prints a person for people.
func printPerson(a *app.App, r *app.Connection, is *client.PersonView) error {
	var b strings.Builder
	for _, v := range is.Verdicts {
		b.WriteString(terminal.Visible(v.Text) + "\n")
	}
	for _, s := range is.Respondents {
		fmt.Fprintf(&b, "survey %s: respondent %s, %s (%s), %s, %s\n", terminal.Visible(s.Survey), s.ID, s.Status, s.Disposition,
			terminal.Plural(s.Attempts, "attempt", "attempts"), terminal.Plural(s.Answers, "answer", "answers"))
		if s.Reason != "" {
			fmt.Fprintf(&b, "  %s\n", terminal.Visible(s.Reason))
		}
	}
	if !is.UnsearchedSince.IsZero() {
		fmt.Fprintf(&b, "contacts accepted between %s and %s are still being indexed, and are missing\n", a.Clock.FormatMinute(is.UnsearchedSince), a.Clock.FormatMinute(is.UnsearchedUntil))
	}
	b.WriteString("\n")
	if _, err := io.WriteString(a.Console.Stdout, b.String()); err != nil {
		return err
	}
	l := a.Console.NewList(&r.Output, a.Console.Stdout, app.Column("TIME"), app.Column("WHAT"), app.Column("STATE"), app.Column("CHANNEL", 8), app.Column("FOR", 8), app.Column("TEXT", 20), app.Column("REASON", 10))
	for _, row := range talkOf(is) {
		row.cells[0] = a.Clock.FormatMinute(row.at)
		if err := l.Add(nil, app.Cells(row.cells...)...); err != nil {
			return err
		}
	}
	if err := l.Close(); err != nil {
		return err
	}
	if is.NextCursor != "" {
		a.Console.Note("there is more: raise --limit, or use weir person export")
	}
	return nil
}

// talkRow is an entry of a conversation.
type talkRow struct {
	at    time.Time
	cells []any
}

// talkOf returns contacts, messages and consents as one conversation, newest first. Consents
// that are older than what the page has of the others are left out.
func talkOf(is *client.PersonView) []talkRow {
	var rows []talkRow
	for i := range is.Contacts {
		c := &is.Contacts[i]
		state, text := c.State, strings.Join(c.Messages, " / ")
		if c.Outcome != "" {
			state = c.Outcome
		}
		if len(c.Messages) == 0 {
			text = "(a call)"
		}
		what := "contact " + c.ID
		if n := len(c.Attempts); n > 1 {
			what += " (" + terminal.Plural(n, "attempt", "attempts") + ")"
		}
		why := c.Reason
		if why == "" {
			why = c.Why
		}
		rows = append(rows, talkRow{c.QueuedAt, []any{"", what, state, c.Channel, strings.TrimSpace(c.Survey + " " + c.Purpose), text, strings.TrimSpace(c.Rule + " " + why)}})
	}
	for i := range is.Messages {
		m := &is.Messages[i]
		rows = append(rows, talkRow{m.ReceivedAt, []any{"", "message", "received", m.Channel, "", m.Body, ""}})
	}
	oldest := time.Time{}
	if is.NextCursor != "" {
		oldest = slices.MinFunc(rows, func(a, b talkRow) int { return a.at.Compare(b.at) }).at
	}
	for i := range is.Consents {
		if c := &is.Consents[i]; !c.At.Before(oldest) {
			rows = append(rows, talkRow{c.At, []any{"", "consent", c.Status, "", c.Purpose, c.Words, c.Source}})
		}
	}
	slices.SortStableFunc(rows, func(a, b talkRow) int { return b.at.Compare(a.at) })
	return rows
}

func personExportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f personFlags
	var file string
	c := r.APICommand("export [NUMBER]", "Export everything about a person", "Write one JSON object with everything about a person: all contacts and messages, as far as\nthey are kept.", personExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) (err error) {
			body, err := f.body(a, c, args)
			if err != nil {
				return err
			}
			whole, err := everythingOf(ctx, to, body)
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(whole, "", "  ")
			if err != nil {
				return err
			}
			out := a.Console.Stdout
			if file != "" {
				f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the user names it
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				out = f
			}
			_, err = out.Write(append(text, '\n'))
			return err
		})
	f.addTo(c)
	c.Flags().StringVar(&file, "file", "", "file to write (default: standard output)")
	return c
}

// everythingOf reads all pages about a person.
func everythingOf(ctx context.Context, to *client.Client, body client.FindBody) (*client.PersonView, error) {
	body.Limit = exportPage
	whole, err := to.FindPerson(ctx, body)
	for err == nil && whole.NextCursor != "" {
		var next *client.PersonView
		body.Cursor = whole.NextCursor
		if next, err = to.FindPerson(ctx, body); err == nil {
			whole.Contacts, whole.Messages, whole.NextCursor = append(whole.Contacts, next.Contacts...), append(whole.Messages, next.Messages...), next.NextCursor
		}
	}
	return whole, err
}

func personEraseCommand(a *app.App, r *app.Connection) *cobra.Command {
	return app.Confirmable(r.APICommand("erase NUMBER", "Erase a person", `Cancel what waits for a person, remove the person from surveys, delete the contacts and
messages, and remove the address and the words from the history of consents. Whether the
person may be contacted stays as it is, by a keyed hash of the address. The receipt says
what went, and what remains and why; an erasure that is not complete is to be repeated.

The token needs people:admin, contacts:write, surveys:admin and pii:read. "-" reads the
number from standard input. The erasure is in the audit log, with the address masked.`, "  weir person erase +525512345678 --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			body, err := (&personFlags{}).body(a, c, args)
			if err != nil {
				return err
			}
			if err := a.Console.Confirm(c, "this deletes what is kept of the person"); err != nil {
				return err
			}
			done, err := to.ErasePerson(ctx, client.EraseBody{To: body.To})
			if err != nil {
				return err
			}
			if r.JSON() {
				return app.WriteRaw(a.Console.Stdout, r.Body)
			}
			text := fmt.Sprintf("erased: %s, %s, %s, %s\n", terminal.Plural(int64(done.Consents), "consent", "consents"), terminal.Plural(int64(done.Respondents), "respondent", "respondents"),
				terminal.Plural(int64(done.Contacts), "contact", "contacts"), terminal.Plural(int64(done.Messages), "message", "messages"))
			for _, rest := range done.Remains {
				text += "remains: " + terminal.Visible(rest.Why) + "\n"
			}
			if !done.Complete {
				text += "not complete: repeat it when what is in flight has ended\n"
			}
			_, err = io.WriteString(a.Console.Stdout, text)
			return err
		}))
}
