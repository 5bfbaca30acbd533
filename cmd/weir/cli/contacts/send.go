package contacts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

const (
	maxBatch     = 1000
	defaultTries = 8 // of a batch; together half a minute
)

const sendAbout = `Queue contacts on a channel: one contact given by flags, or the contacts of a file ("-"
for standard input). For a file, the flags are the defaults of each contact.

CSV: the first line names the columns: to (or phone) is required; optional are key,
priority, not_before, not_after, survey, purpose, time_zone, message (repeatable), callback_url,
call_flow_id, twiml and label.NAME. Commas, semicolons and tabs separate. NDJSON: one contact per line, in the format of the
API.

The command can be repeated safely. A contact without an idempotency key gets one that
is derived from its content, so a row that is sent again, after an interruption or in
a corrected file, is not queued twice. To send the same contacts again on purpose, give
each run a name with --run.

Rows that cannot be sent are listed with their line; the others are sent, and the exit
code is 4. --errors writes them to a file of the same format, with the columns weir_line,
weir_column and weir_reason, which are ignored when it is sent: correct the rows and send
that file, under the same --run.`

const sendExample = `  weir contact send sms --to +15550001 --message "Please call us." --key reminder-17
  weir contact send sms --file people.csv --message "The clinic is open." --run may --errors rejected.csv
  weir contact send calls --to +15550001 --callback-url https://app.example/ivr
  zcat people.ndjson.gz | weir contact send sms --file - --format ndjson`

// sendCommand makes "weir contact send".
func sendCommand(a *app.App, r *app.Connection) *cobra.Command {
	s := &sendFlags{format: command.NewChoice("", "csv", "ndjson"), encoding: command.NewChoice("", append([]string{""}, respondents.Encodings()...)...)}
	c := r.APICommand("send CHANNEL", "Queue a contact, or the contacts of a file", sendAbout, sendExample,
		func(ctx context.Context, c *cobra.Command, _ *client.Client, args []string) error {
			if err := checkFlags(a.Clock, c, s); err != nil {
				return err
			}
			to, err := r.Connect(c, client.Options{MaxTries: s.tries})
			if err != nil {
				return err
			}
			defer to.Close()
			if s.file == "" {
				return sendOne(ctx, a.Console, r, to, s, args[0])
			}
			return sendFile(ctx, a, c, r, to, s, args[0])
		})
	s.flags(c)
	r.CompleteFlag(c, "survey", app.SurveyNames)
	return c
}

func (s *sendFlags) flags(c *cobra.Command) {
	s.contactFlags(c)
	f := c.Flags()
	f.StringVarP(&s.file, "file", "f", "", `file of contacts, "-" for standard input`)
	f.Var(&s.format, "format", "format of the file (default: by its extension)")
	f.Var(&s.encoding, "encoding", "encoding of a CSV file (default: as the file says, UTF-8 or windows-1252)")
	f.StringVar(&s.run, "run", "", "name of the run; with another name the same contacts are queued again")
	f.IntVar(&s.batch, "batch", maxBatch, "contacts per request, 1 to 1000")
	f.IntVar(&s.from, "from-line", 0, "skip the lines of the file before this one")
	f.IntVar(&s.tries, "tries", defaultTries, "maximum number of tries of a request")
	f.StringVar(&s.errors, "errors", "", "write all rejected rows to this file, with the reasons")
	f.IntVar(&s.show, "show", 10, "number of rejected rows to print")
}

// checkFlags checks the flags and reads the file that --twiml names.
func checkFlags(clock *app.Clock, c *cobra.Command, s *sendFlags) error {
	switch {
	case s.file == "" && s.defaults.To == "":
		return command.UsageError(c, "no contact given: use --to for one, --file for many")
	case s.file != "" && s.defaults.To != "":
		return command.UsageError(c, "--to cannot be combined with --file")
	case s.file != "" && s.defaults.Key != "":
		return command.UsageError(c, "--key cannot be combined with --file, which may have a column key")
	case s.batch < 1 || s.batch > maxBatch:
		return command.UsageError(c, fmt.Sprintf("--batch must be 1 to %d", maxBatch))
	case s.show < 0 || s.from < 0 || s.tries < 1:
		return command.UsageError(c, "--show and --from-line must be 0 or more, --tries 1 or more")
	}
	return readContactFlags(clock, c, s)
}

// sendOne queues the contact that the flags describe. Without a key it gets a
// generated one, so that a request whose response was lost is safe to retry.
func sendOne(ctx context.Context, console *app.Console, r *app.Connection, to *client.Client, s *sendFlags, channel string) error {
	one := s.defaults
	if one.Key == "" {
		one.Key = "cli-" + strings.ToLower(rand.Text())
	}
	list, err := to.PostContacts(ctx, channel, client.ContactsBody{Contacts: []client.ContactBody{one}})
	if err != nil {
		return err
	}
	if len(list.Contacts) != 1 {
		return errors.New("unexpected response: want one contact")
	}
	x := list.Contacts[0]
	if x.Duplicate {
		return console.PrintValue(&r.Output, x, "%s: already known, %s", x.ID, x.State)
	}
	return console.PrintValue(&r.Output, x, "%s: %s", x.ID, x.State)
}

// sendFile queues the contacts of a file.
func sendFile(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, s *sendFlags, channel string) error {
	kind, err := app.ContentType(s.file, s.format.Value)
	if err != nil {
		return command.UsageError(c, err.Error())
	}
	from, bytes, done, err := a.Console.OpenInput(c, s.file)
	if err != nil {
		return err
	}
	defer done()
	rejected, err := app.NewRejectedRows(c, s.errors, s.file, kind, s.show)
	if err != nil {
		return err
	}
	p := a.Console.NewProgress(a.Clock, filepath.Base(s.file), bytes, kind == "text/csv")
	f := &feed{to: to, channel: channel, s: s, rejected: rejected, keys: map[string]bool{}}
	err = f.run(ctx, kind, io.TeeReader(from, p))
	p.Clear()
	if err = errors.Join(err, rejected.Close()); err != nil {
		return f.failed(err)
	}
	text := fmt.Sprintf("%s: %s, %s already known, %s\n", channel, terminal.Plural(f.queued, "contact queued", "contacts queued"),
		terminal.Number(f.known), terminal.Plural(rejected.Count, "row rejected", "rows rejected"))
	return a.Console.PrintFileResult(&r.Output, rejected, "", text, map[string]any{
		"channel": channel, "queued": f.queued, "duplicates": f.known, "rejected": rejected.Count, "last_line": f.last, "errors": rejected.First,
	})
}
