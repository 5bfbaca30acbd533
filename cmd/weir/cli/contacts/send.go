package contacts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/api"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

const defaultTries = 8 // together half a minute

// sendAbout is the help of the command; %s: what a column of CSV can be besides a label.
const sendAbout = `Queue contacts on a channel: one contact given by flags, or the contacts of a file ("-"
for standard input). For a file, the flags are the defaults of each contact.

CSV: the first line names the columns. They can be
%s
and label.NAME; to (or phone) is required, message may be there several times. Commas, semicolons
and tabs separate. For a file with other names, --columns says what they are, as COLUMN=FIELD; "*=" leaves out all other columns.
An Excel workbook (.xlsx) is as CSV. NDJSON: one contact per line, in the format of the API. --dry-run shows what the first rows
become, and sends nothing.

The command can be repeated safely. A contact without an idempotency key gets one that
is derived from its content, so a row that is sent again, after an interruption or in
a corrected file, is not queued twice. To send the same contacts again on purpose, give
each run a name with --run.

Rows that cannot be sent are listed with their line; the others are sent, and the exit
code is 4. --errors writes them to a file of the same format (of a workbook: CSV), with the columns weir_line,
weir_column and weir_reason, which are ignored when it is sent: correct the rows and send
that file, under the same --run.`

const sendExample = `  weir contact send sms --to +15550001 --message "Please call us." --key reminder-17
  weir contact send sms --file people.csv --message "The clinic is open." --run may --errors rejected.csv
  weir contact send sms --file crm.csv --columns "Mobile no.=to,District=label.district,*=" --dry-run
  weir contact send calls --to +15550001 --callback-url https://app.example/ivr
  zcat people.ndjson.gz | weir contact send sms --file - --format ndjson`

// sendCommand makes "weir contact send".
func sendCommand(a *app.App, r *app.Connection) *cobra.Command {
	s := &sendFlags{format: command.NewChoice("", app.FileFormats()...), encoding: command.NewChoice("", append([]string{""}, respondents.Encodings()...)...)}
	c := r.APICommand("send CHANNEL", "Queue a contact, or the contacts of a file", fmt.Sprintf(sendAbout, strings.Join(api.ContactColumns(), ", ")), sendExample,
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
	f.StringVar(&s.sheet, "sheet", "", "sheet of an Excel workbook (default: the first one)")
	f.Var(&s.encoding, "encoding", "encoding of a CSV file (default: as the file says, UTF-8 or windows-1252)")
	f.StringVar(&s.run, "run", "", "name of the run; with another name the same contacts are queued again")
	f.StringVar(&s.columns, "columns", "", "what columns of CSV are, as COLUMN=FIELD, separated by commas (default: as their names say)")
	f.IntVar(&s.from, "from-line", 0, "skip the lines of the file before this one")
	f.IntVar(&s.tries, "tries", defaultTries, "maximum number of tries for one contact; a file is uploaded once")
	f.BoolVar(&s.dryRun, "dry-run", false, "only show what the rows of the file become")
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
	case s.file == "" && (s.dryRun || s.columns != ""):
		return command.UsageError(c, "--dry-run and --columns need --file")
	case s.dryRun && s.errors != "":
		return command.UsageError(c, "--errors cannot be combined with --dry-run")
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

// sendFile uploads a file of contacts, and prints the answer.
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
	p := a.Console.NewProgress(a.Clock, filepath.Base(s.file), bytes, kind)
	sum, err := to.ImportContacts(ctx, client.ContactsImport{
		Channel: channel, Defaults: s.defaults, ContentType: kind, Body: from, Size: bytes, Progress: p.Add,
		DryRun: s.dryRun, Columns: s.columns, Encoding: s.encoding.Value, Sheet: s.sheet, Run: s.run, FromLine: s.from, Refused: rejected.File(),
	})
	p.Clear()
	sum.Header = "" // for programs that call the API
	rejected.Received(sum.Errors, sum.Rejected, sum.Kept)
	if closed := rejected.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failed(err, &sum)
	}
	if s.dryRun {
		return a.Console.PrintFileResult(&r.Output, rejected, "; nothing was queued", preview(channel, &sum), sum)
	}
	text := fmt.Sprintf("%s: %s, %s already known, %s\n", channel, terminal.Plural(sum.Queued, "contact queued", "contacts queued"),
		terminal.Number(sum.Duplicates), terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
	return a.Console.PrintFileResult(&r.Output, rejected, "", text, map[string]any{
		"channel": channel, "queued": sum.Queued, "duplicates": sum.Duplicates, "rejected": sum.Rejected, "last_line": sum.LastLine, "errors": rejected.First,
	})
}

// preview says what a file becomes.
func preview(channel string, sum *api.ContactImport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", channel, terminal.Plural(sum.Queued, "row can be queued", "rows can be queued"), terminal.Plural(sum.Rejected, "row would be rejected", "rows would be rejected"))
	for _, column := range sum.Columns {
		fmt.Fprintf(&b, "  column %s: %s\n", terminal.Visible(column.Header), cmp.Or(column.Field, "left out"))
	}
	for _, row := range sum.First {
		text, _ := json.Marshal(row.Contact) // it was JSON
		fmt.Fprintf(&b, "  line %d: %s\n", row.Line, text)
	}
	return b.String()
}

// failed adds to an error what was sent and how to resume.
func failed(err error, sum *api.ContactImport) error {
	if why := columnsRefused(err, sum.Columns); why != "" {
		return command.Exit(app.Rejected, why)
	}
	if sum.LastLine == 0 && !client.NoResponse(err) {
		return err
	}
	again := "run the same command again to continue; no contact is sent twice."
	if sum.LastLine > 0 {
		text := fmt.Sprintf("stopped after line %d: %s, %s already known, %s", sum.LastLine, terminal.Plural(sum.Queued, "contact queued", "contacts queued"), terminal.Number(sum.Duplicates), terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
		again = fmt.Sprintf("%s\n%s With --from-line %d what was sent is left out", text, again, sum.LastLine+1)
	}
	return fmt.Errorf("%w\n%s", err, again)
}

// columnsRefused says in the words of the file what is wrong with its columns; empty: something else is wrong.
func columnsRefused(err error, columns []client.ImportColumn) string {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return ""
	}
	for _, f := range refused.Fields {
		n, err := strconv.Atoi(strings.TrimPrefix(f.Pointer, "/columns/"))
		named := err == nil && n >= 0 && n < len(columns)
		switch {
		case f.Pointer == "/columns" && f.Code == "required":
			return "the column to is missing; --columns COLUMN=to says which one it is"
		case named && f.Code == "unknown":
			return fmt.Sprintf("unknown column %q; allowed: %s and label.NAME. --columns says what other columns are", columns[n].Header, strings.Join(api.ContactColumns(), ", "))
		case named && f.Code == "duplicate":
			return fmt.Sprintf("duplicate column %q", columns[n].Header)
		}
	}
	return ""
}
