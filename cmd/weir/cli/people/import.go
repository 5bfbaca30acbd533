package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/operators"
)

// previewed is the number of rows that a preview shows.
const previewed = 10

// importFlags holds the flags of an import.
type importFlags struct {
	columns          columnNames
	encoding, errors string
	source           string
	show             int
	dryRun, numbers  bool
}

const importAbout = `Record the refusals, and consents, of a CSV file ("-" for standard input). Files of any
size are streamed.

The first line names the columns. The addresses are in --address, or in the first of to,
phone, phone number, number, msisdn, OptedOutNumber, DestinationPhoneNumber, recipient,
mobile, telephone, contact_id and address that there is. A phone number needs its country code.

Every row is a refusal, unless --status names a column with refused or given; opted out,
opted in and the like are understood, too. true is what the name of the column says:
a refusal in opted_out, a consent in opted_in. false is the contrary in opted_in; in
opted_out it says nothing, and the row is left out.

When it was said is in --at, or in at, OptedOutTimestamp, opted_out_at, date_of_consent,
timestamp or date: RFC 3339, 2006-01-02 15:04:05 (UTC), 2006-01-02, or seconds or
milliseconds since 1970. Without it, it is the time of the import. What was said is in
--words, or in words. Case, spaces and signs do not matter in the names of columns; with an
empty name, the column is not read.

--dry-run reads everything, shows how the first rows are understood, and records nothing.

The command can be repeated safely: the same row is not recorded twice, also if its number
is written differently, or comes from a corrected file. Rows that were said at another time
are others. To import a list without instants again after people have said something else,
such as every night, give each run another --source-name.

Invalid rows are listed with their line, the others are recorded, and the exit code is 4.
--errors writes them to another file, with the columns weir_line, weir_column and
weir_reason, which an import ignores: correct the rows and import that file.`

const importExample = `  weir consent import opted-out.csv --dry-run
  weir consent import opted-out.csv --errors rejected.csv
  weir consent import crm.csv --address "Mobile" --status opted_out --at changed
  zcat opted-out.csv.gz | weir consent import -`

// importCommand makes "weir consent import".
func importCommand(a *app.App, r *app.Connection) *cobra.Command {
	o := &importFlags{}
	c := r.APICommand("import FILE", "Record the refusals of a CSV file", importAbout, importExample,
		func(ctx context.Context, c *cobra.Command, _ *client.Client, args []string) error {
			o.columns.given = c.Flags().Changed
			if err := o.check(c); err != nil {
				return err
			}
			to, err := r.Connect(c, client.Options{MaxTries: maxTries})
			if err != nil {
				return err
			}
			defer to.Close()
			return runImport(ctx, a, c, r, to, o, args[0])
		})
	f := c.Flags()
	f.StringVar(&o.columns.address, "address", "", "column of the addresses (default: found by its name)")
	f.StringVar(&o.columns.status, "status", "", "column that says refused or given (default: every row is a refusal)")
	f.StringVar(&o.columns.at, "at", "", "column that says when it was said (default: found by its name)")
	f.StringVar(&o.columns.words, "words", "", "column of what was said, as a proof (default: words)")
	f.StringVar(&o.source, "source-name", "", "name of the list, a part of the idempotency keys")
	f.StringVar(&o.encoding, "encoding", "", "encoding: utf-8, utf-16le, utf-16be or windows-1252 (default: by byte order mark, or utf-8)")
	f.StringVar(&o.errors, "errors", "", "write all rejected rows to this file, with the reasons")
	f.IntVar(&o.show, "show", 10, "number of rejected rows to print")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show how the file is understood")
	f.BoolVar(&o.numbers, "show-numbers", false, "do not mask phone numbers in what --dry-run shows")
	return c
}

func (o *importFlags) check(c *cobra.Command) error {
	switch {
	case o.show < 0:
		return command.UsageError(c, "--show must be 0 or more")
	case o.numbers && !o.dryRun:
		return command.UsageError(c, "--show-numbers needs --dry-run")
	case utf8.RuneCountInString(o.source) > maxSource || strings.ContainsFunc(o.source, func(r rune) bool { return !unicode.IsPrint(r) }):
		return command.UsageError(c, fmt.Sprintf("--source-name must be at most %d printable characters", maxSource))
	}
	return nil
}

// runImport records the rows of a file, or shows how they are understood.
func runImport(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, o *importFlags, file string) error {
	from, bytes, done, err := a.Console.OpenInput(c, file)
	if err != nil {
		return err
	}
	defer done()
	p := a.Console.NewProgress(a.Clock, filepath.Base(file), bytes, true)
	list, err := newRows(io.TeeReader(from, p), o.encoding, o.columns, o.source, a.Clock.Now)
	if err != nil {
		p.Clear()
		if wrong, ok := errors.AsType[*weir.Error](err); ok {
			return command.Exit(app.Rejected, wrong.Message)
		}
		if _, ok := errors.AsType[*columnError](err); ok {
			return command.UsageError(c, err.Error())
		}
		return err
	}
	rejected, err := app.NewRejectedRows(c, o.errors, file, "text/csv", o.show)
	if err != nil {
		p.Clear()
		return err
	}
	names, separator := list.from.Header()
	rejected.SetHeader(names, rune(separator[0]), list.from.Decoded())
	if o.dryRun {
		return preview(ctx, a, r, o, list, rejected, p, listName(file))
	}
	f := &feed{to: to, rejected: rejected}
	err = f.run(ctx, list)
	p.Clear()
	if err = errors.Join(err, rejected.Close()); err != nil {
		return f.failed(ctx, a.Console, err)
	}
	n := &f.counts
	text := fmt.Sprintf("%s: %s recorded, %s recorded, %s\n%s", listName(file), terminal.Plural(n.Refused, "refusal", "refusals"), terminal.Plural(n.Given, "consent", "consents"),
		terminal.Plural(rejected.Count, "row rejected", "rows rejected"), n.remarks())
	return a.Console.PrintFileResult(&r.Output, rejected, "", text, result{false, list.cols.used(), *n, rejected.Count, rejected.First, nil})
}

// listName returns a name of the list for a sentence.
func listName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return filepath.Base(file)
}

// result is the result of an import as JSON.
type result struct {
	DryRun  bool              `json:"dry_run"`
	Columns map[string]string `json:"columns"`
	counts
	Rejected int64             `json:"rejected"`
	Errors   []client.RowError `json:"errors"`
	First    []shownRow        `json:"first,omitempty"`
}

// remarks says what one should know of the rows beside their numbers.
func (n *counts) remarks() string {
	var b strings.Builder
	if n.Superseded > 0 {
		fmt.Fprintf(&b, "  %s nothing: something later is known of the person, or the person has refused, which a list cannot take back\n", terminal.Plural(n.Superseded, "row changes", "rows change"))
	}
	if n.Silent > 0 {
		fmt.Fprintf(&b, "  %s left out: the person has not opted out\n", terminal.Plural(n.Silent, "row is", "rows are"))
	}
	if n.NoNumbers > 0 {
		fmt.Fprintf(&b, "  %s no phone number with a country code\n", terminal.Plural(n.NoNumbers, "address is", "addresses are"))
	}
	return b.String()
}

// failed adds to an error what was recorded and how to continue. Of an interrupted command,
// only the interruption is printed as the error.
func (f *feed) failed(ctx context.Context, console *app.Console, err error) error {
	n := &f.counts
	text := fmt.Sprintf("%s and %s were recorded, %s\nrun the same command again to continue; nothing is recorded twice",
		terminal.Plural(n.Refused, "refusal", "refusals"), terminal.Plural(n.Given, "consent", "consents"), terminal.Plural(f.rejected.Count, "row rejected", "rows rejected"))
	if ctx.Err() != nil {
		console.Note(text)
		return err
	}
	if n.Refused+n.Given == 0 && !app.NoResponse(err) {
		return err
	}
	return fmt.Errorf("%w\n%s", err, text)
}

// shownRow is a row as a preview shows it.
type shownRow struct {
	Line   int       `json:"line"`
	To     string    `json:"to"`
	Status string    `json:"status"`
	At     time.Time `json:"at,omitzero"` // zero: the time of the import
	Words  string    `json:"words,omitempty"`
}

// preview reads all rows, and prints the first ones and what an import would do.
func preview(ctx context.Context, a *app.App, r *app.Connection, o *importFlags, list *rows, rejected *app.RejectedRows, p *app.Progress, name string) error {
	f := &feed{rejected: rejected}
	first, err := f.previewRows(ctx, list, !o.numbers)
	p.Clear()
	if err = errors.Join(err, rejected.Close()); err != nil {
		return err
	}
	if !r.JSON() {
		l := a.Console.NewList(&r.Output, a.Console.Stdout, app.NumberColumn("LINE"), app.Column("ADDRESS", 10), app.Column("STATUS"), app.Column("AT"), app.Column("WORDS", 10))
		for _, x := range first {
			if err := l.Add(x, app.Cells(x.Line, x.To, x.Status, cmp.Or(a.Clock.FormatSecond(x.At), "now"), x.Words)...); err != nil {
				return err
			}
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	n := &f.counts
	text := fmt.Sprintf("%s: %s, %s, %s; nothing was recorded\n%s%s", name, terminal.Plural(n.Refused, "refusal", "refusals"), terminal.Plural(n.Given, "consent", "consents"),
		terminal.Plural(rejected.Count, "row rejected", "rows rejected"), n.remarks(), list.cols.text())
	return a.Console.PrintFileResult(&r.Output, rejected, "; nothing was recorded", text, result{true, list.cols.used(), *n, rejected.Count, rejected.First, first})
}

// previewRows reads and counts all rows, and returns the first ones.
func (f *feed) previewRows(ctx context.Context, list *rows, masked bool) ([]shownRow, error) {
	first := []shownRow{}
	for ctx.Err() == nil {
		r, err := list.next()
		if errors.Is(err, io.EOF) {
			return first, nil
		}
		if err != nil {
			return nil, err
		}
		if ok, err := f.accept(&r); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		f.counts.add(&r)
		if len(first) < previewed {
			first = append(first, shown(&r, masked))
		}
	}
	return nil, ctx.Err()
}

// shown returns a row as it is understood: a number as Weir knows it.
func shown(r *row, masked bool) shownRow {
	_, to, _ := strings.Cut(r.canonical, ":")
	out := shownRow{Line: r.line, To: to, Status: r.consent.Status, Words: r.consent.Words, At: r.consent.At}
	if masked {
		out.To, out.Words = mask(to), operators.ReplacePhoneNumbers(out.Words, mask)
	}
	return out
}

// mask keeps the last two characters of an address, as the API does for tokens without the
// scope pii:read.
func mask(address string) string {
	runes := []rune(address)
	if len(runes) <= 2 {
		return "***"
	}
	return "***" + string(runes[len(runes)-2:])
}
