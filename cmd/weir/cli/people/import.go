package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

// maxSource is the max length of --source-name, in characters.
const maxSource = 100

// importFlags holds the flags of an import.
type importFlags struct {
	format           command.Choice
	columns          map[string]*string // by the field
	encoding, errors string
	sheet            string
	source           string
	show             int
	dryRun           bool
}

const importAbout = `Record the refusals, and consents, of a CSV file ("-" for standard input), or of NDJSON in
the format of the API. Files of any size are streamed.

The first line of CSV names the columns. The addresses are in --address, or in the first of to,
phone, phone number, number, msisdn, OptedOutNumber, DestinationPhoneNumber, recipient,
mobile, telephone, contact_id and address that there is. A phone number needs its country code.

Every row is a refusal, unless --status names a column with refused or given; opted out,
opted in and the like are understood, too. true is what the name of the column says:
a refusal in opted_out, a consent in opted_in. false is the contrary in opted_in; in
opted_out it says nothing, and the row is left out.

When it was said is in --at, or in at, OptedOutTimestamp, opted_out_at, date_of_consent,
timestamp or date: RFC 3339, 2006-01-02 15:04:05 (UTC), 2006-01-02, or seconds or
milliseconds since 1970. Without it, it is the time of the import. What was said is in
--words, or in words; the purpose for which it counts in --purpose, or in purpose, otherwise
it counts for all. Case, spaces and signs do not matter in the names of columns; with an
empty name, the column is not read.

--dry-run reads everything, shows how the first rows are understood, and records nothing.
Numbers are masked for tokens without pii:read.

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

// columnFlags returns the flags that name columns, with the fields that these are.
func columnFlags() map[string]string {
	return map[string]string{"address": "to", "status": "status", "at": "at", "words": "words", "purpose": "purpose"}
}

// importCommand makes "weir consent import".
func importCommand(a *app.App, r *app.Connection) *cobra.Command {
	o := &importFlags{columns: map[string]*string{}, format: command.NewChoice("", app.FileFormats()...)}
	c := r.APICommand("import FILE", "Record the refusals of a file", importAbout, importExample,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			return runImport(ctx, a, c, r, to, o, args[0])
		})
	f := c.Flags()
	for flag, help := range map[string]string{
		"address": "column of the addresses (default: found by its name)",
		"status":  "column that says refused or given (default: every row is a refusal)",
		"at":      "column that says when it was said (default: found by its name)",
		"words":   "column of what was said, as a proof (default: words)",
		"purpose": "column of the purpose for which it counts (default: purpose)",
	} {
		o.columns[flag] = f.String(flag, "", help)
	}
	f.Var(&o.format, "format", "format of the file (default: by its extension, otherwise csv)")
	f.StringVar(&o.source, "source-name", "", "name of the list, a part of the idempotency keys")
	f.StringVar(&o.sheet, "sheet", "", "sheet of an Excel workbook (default: the first one)")
	f.StringVar(&o.encoding, "encoding", "", "encoding: utf-8, utf-16le, utf-16be or windows-1252 (default: as the file says, UTF-8 or windows-1252)")
	f.StringVar(&o.errors, "errors", "", "write all rejected rows to this file, with the reasons")
	f.IntVar(&o.show, "show", 10, "number of rejected rows to print")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show how the file is understood")
	return c
}

func (o *importFlags) check(c *cobra.Command) error {
	switch {
	case o.show < 0:
		return command.UsageError(c, "--show must be 0 or more")
	case o.dryRun && o.errors != "":
		return command.UsageError(c, "--errors cannot be combined with --dry-run")
	case utf8.RuneCountInString(o.source) > maxSource || strings.ContainsFunc(o.source, func(r rune) bool { return !unicode.IsPrint(r) }):
		return command.UsageError(c, fmt.Sprintf("--source-name must be at most %d printable characters", maxSource))
	}
	return nil
}

// chosen returns what the flags say of columns.
func (o *importFlags) chosen(c *cobra.Command) string {
	var items []string
	for flag, field := range columnFlags() {
		if c.Flags().Changed(flag) {
			items = append(items, *o.columns[flag]+"="+field)
		}
	}
	return respondents.JoinList(items)
}

// runImport uploads the file, and prints the answer.
func runImport(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, o *importFlags, file string) error {
	if err := o.check(c); err != nil {
		return err
	}
	kind, err := app.ContentType(file, o.format.Value)
	if err != nil { // lists of providers have any extension
		kind = "text/csv"
	}
	from, bytes, done, err := a.Console.OpenInput(c, file)
	if err != nil {
		return err
	}
	defer done()
	rejected, err := app.NewRejectedRows(c, o.errors, file, kind, o.show)
	if err != nil {
		return err
	}
	p := a.Console.NewProgress(a.Clock, filepath.Base(file), bytes, kind)
	sum, err := to.ImportConsents(ctx, client.ConsentsImport{
		ContentType: kind, Body: from, Size: bytes, Progress: p.Add,
		DryRun: o.dryRun, Columns: o.chosen(c), Encoding: o.encoding, Sheet: o.sheet, Run: o.source, Refused: rejected.File(),
	})
	p.Clear()
	sum.Header = "" // for programs that call the API
	rejected.Received(sum.Errors, sum.Rejected, sum.Kept)
	if closed := rejected.Close(); err == nil {
		err = closed
	}
	if err != nil {
		if why := columnsRefused(err); why != "" {
			return command.UsageError(c, why)
		}
		return failed(err, &sum)
	}
	out := importResult{o.dryRun, sum, rejected.First}
	if !o.dryRun {
		return a.Console.PrintFileResult(&r.Output, rejected, "", summary(file, " recorded", &sum), out)
	}
	if err := printRows(a, r, sum.First); err != nil {
		return err
	}
	const note = "; nothing was recorded"
	text, remarks, _ := strings.Cut(summary(file, "", &sum), "\n")
	return a.Console.PrintFileResult(&r.Output, rejected, note, text+note+"\n"+remarks+columnsText(sum.Columns), out)
}

// importResult is the result of an import as JSON.
type importResult struct {
	DryRun bool `json:"dry_run"`
	client.ConsentFile
	Errors []client.RowError `json:"errors"`
}

// summary says what was recorded, and below what one should know of the rows beside their numbers.
func summary(file, recorded string, sum *client.ConsentFile) string {
	name := filepath.Base(file)
	if file == "-" {
		name = "standard input"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s%s, %s%s, %s\n", name, terminal.Plural(sum.Refused, "refusal", "refusals"), recorded,
		terminal.Plural(sum.Given, "consent", "consents"), recorded, terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
	if sum.Superseded > 0 {
		fmt.Fprintf(&b, "  %s nothing: something later is known of the person, or the person has refused, which a list cannot take back\n", terminal.Plural(sum.Superseded, "row changes", "rows change"))
	}
	if sum.Silent > 0 {
		fmt.Fprintf(&b, "  %s left out: the person has not opted out\n", terminal.Plural(sum.Silent, "row is", "rows are"))
	}
	if sum.NoNumbers > 0 {
		fmt.Fprintf(&b, "  %s no phone number that a country could have\n", terminal.Plural(sum.NoNumbers, "address is", "addresses are"))
	}
	return b.String()
}

// printRows prints what the first rows say.
func printRows(a *app.App, r *app.Connection, rows []client.ConsentRow) error {
	if r.JSON() {
		return nil
	}
	l := a.Console.NewList(&r.Output, a.Console.Stdout, app.NumberColumn("LINE"), app.Column("ADDRESS", 10), app.Column("STATUS"), app.Column("AT"), app.Column("WORDS", 10))
	for _, x := range rows {
		if err := l.Add(x, app.Cells(x.Line, x.To, x.Status, cmp.Or(a.Clock.FormatSecond(x.At), "now"), x.Words)...); err != nil {
			return err
		}
	}
	return l.Close()
}

// columnsText says which columns are read.
func columnsText(columns []client.ImportColumn) string {
	if len(columns) == 0 {
		return ""
	}
	header := map[string]string{}
	for _, c := range columns {
		header[c.Field] = terminal.Visible(c.Header)
	}
	var parts []string
	for _, x := range []struct{ field, what, missing string }{
		{"to", "addresses are in ", ""}, {"status", "refused or given in ", "every row is a refusal"}, {"at", "instants in ", "all are of now"}, {"words", "words in ", "no words"}, {"purpose", "purposes in ", "for all purposes"},
	} {
		if name, ok := header[x.field]; ok {
			parts = append(parts, x.what+name)
		} else {
			parts = append(parts, x.missing)
		}
	}
	return "  " + strings.Join(parts, ", ") + "\n"
}

// columnsRefused says what is wrong with the columns of a file, without quoting their names: without a header, the
// first line has a person's number. Empty: something else is wrong.
func columnsRefused(err error) string {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return ""
	}
	var list []string
	for _, f := range refused.Fields {
		if n, err := strconv.Atoi(strings.TrimPrefix(f.Pointer, "/columns/")); err == nil {
			list = append(list, fmt.Sprintf("column %d %s", n+1, f.Detail))
		} else if f.Pointer == "/columns" {
			list = append(list, f.Detail)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "; ") + ". --address, --status, --at, --words and --purpose name columns; with an empty name, such as --status \"\", no column is it"
}

// failed adds to an error what was recorded and how to continue.
func failed(err error, sum *client.ConsentFile) error {
	text := ""
	if sum.LastLine > 0 {
		text = fmt.Sprintf("\nstopped after line %d: %s and %s were recorded, %s", sum.LastLine,
			terminal.Plural(sum.Refused, "refusal", "refusals"), terminal.Plural(sum.Given, "consent", "consents"), terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
	}
	if text != "" || client.NoResponse(err) {
		text += "\nrun the same command again to continue; no row of CSV is recorded twice"
	}
	return fmt.Errorf("%w%s", err, text)
}
