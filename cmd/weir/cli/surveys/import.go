package surveys

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

// importFlags holds the flags of an import.
type importFlags struct {
	format, onError, duplicates command.Choice
	encoding, errors, phone     string
	sheet                       string
	columns                     []string
	show                        int
	dryRun                      bool
}

const importAbout = `Import respondents from a file ("-" for standard input) into a survey. Files of any size
are streamed.

CSV: the first line names the columns, including phone, or another one that --phone
names. An Excel workbook (.xlsx) is as CSV. NDJSON: one flat object per line, with a key phone. All other columns are
attributes; --columns reads only some of them, as COLUMN or COLUMN=ATTRIBUTE; #3 is the
third column, and "*=" reads those whose names can be that of a phone number or of an
attribute. --dry-run shows what the first rows become, and imports nothing. The
results of a survey can be the list of the next one. A phone number that the
survey already has is a duplicate and is skipped, so an import can be repeated. With
--duplicates update it sets the attributes of the respondent, if it was not contacted yet.

Invalid rows are listed with their line, and the exit code is 4: with --on-error skip
the others are imported; none: import nothing if any row is invalid.

--errors writes the invalid rows to a file of the same format (of a workbook: CSV), in UTF-8, with the columns
weir_line, weir_column and weir_reason, which an import ignores: correct the rows and
import that file.`

// importCommand makes "weir survey import".
func importCommand(a *app.App, r *app.Connection) *cobra.Command {
	o := importFlags{
		format:  command.NewChoice("", app.FileFormats()...),
		onError: command.NewChoice("skip", "skip", "none"), duplicates: command.NewChoice("skip", "skip", "error", "update"),
	}
	c := r.APICommand("import FILE NAME", "Import respondents from a CSV or NDJSON file", importAbout, `  weir survey import people.csv flu
  weir survey import people.csv flu --encoding windows-1252 --on-error none --errors rejected.csv
  weir survey import crm.csv flu --phone "Mobile no." --columns "First name=name,District"
  zcat people.ndjson.gz | weir survey import - flu --format ndjson`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			return runImport(ctx, a, c, r, to, o, args[0], args[1])
		})
	f := c.Flags()
	f.Var(&o.format, "format", "format of the file (default: by its extension)")
	f.StringVar(&o.phone, "phone", "", "column of CSV with the phone number (default: phone)")
	f.StringSliceVar(&o.columns, "columns", nil, "other columns of CSV to read, as COLUMN or COLUMN=ATTRIBUTE (default: all, under their names)")
	f.StringVar(&o.sheet, "sheet", "", "sheet of an Excel workbook (default: the first one)")
	f.StringVar(&o.encoding, "encoding", "", "encoding: utf-8, utf-16le, utf-16be or windows-1252 (default: as the file says, UTF-8 or windows-1252)")
	f.Var(&o.onError, "on-error", "skip invalid rows; none: import nothing if any row is invalid")
	f.Var(&o.duplicates, "duplicates", "skip a duplicate phone number, treat it as an invalid row, or update the respondent")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what the rows of the file become")
	f.StringVar(&o.errors, "errors", "", "write all rejected rows to this file, with the reasons")
	f.IntVar(&o.show, "show", 10, "number of rejected rows to print")
	return c
}

// runImport streams the file. With --on-error none the response to a file with invalid
// rows is 422; it is printed like any result, with the rejected rows.
func runImport(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, o importFlags, file, survey string) error {
	kind, err := app.ContentType(file, o.format.Value)
	if err != nil {
		return command.UsageError(c, err.Error())
	}
	switch {
	case o.show < 0:
		return command.UsageError(c, "--show must be 0 or more")
	case o.dryRun && o.errors != "":
		return command.UsageError(c, "--errors cannot be combined with --dry-run")
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
	sum, err := to.Import(ctx, client.Import{
		Survey: survey, Params: client.PostRespondentsParams{OnError: o.onError.Value, Duplicates: o.duplicates.Value, DryRun: o.dryRun, Encoding: o.encoding, Sheet: o.sheet, Phone: o.phone, Columns: respondents.JoinList(o.columns)},
		ContentType: kind, Body: from, Size: bytes, Progress: p.Add, Refused: rejected.File(),
	})
	p.Clear()
	sum.Header = "" // for programs that call the API
	rejected.Received(sum.Errors, sum.Rejected, sum.Kept)
	if failed := rejected.Close(); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil && !(client.StatusOf(err) == http.StatusUnprocessableEntity && sum.Rejected > 0 && sum.LastLine == 0) {
		return importFailed(err, sum)
	}
	if o.dryRun {
		return a.Console.PrintFileResult(&r.Output, rejected, "; nothing was imported", preview(survey, &sum), sum)
	}
	note := ""
	if o.onError.Value == "none" {
		note = "; nothing was imported"
	}
	text := fmt.Sprintf("%s: %s, %s, %s\n", survey, terminal.Plural(sum.Added, "respondent imported", "respondents imported"),
		terminal.Plural(sum.Duplicates, "duplicate", "duplicates"), terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
	return a.Console.PrintFileResult(&r.Output, rejected, note, text, struct {
		Survey string `json:"survey"`
		client.ImportView
		Errors []client.RowError `json:"errors"`
	}{survey, sum, rejected.First})
}

// preview says what a file becomes.
func preview(survey string, sum *client.ImportView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", survey, terminal.Plural(sum.Added, "respondent can be imported", "respondents can be imported"), terminal.Plural(sum.Rejected, "row would be rejected", "rows would be rejected"))
	for _, column := range sum.Columns {
		fmt.Fprintf(&b, "  column %s: %s\n", terminal.Visible(column.Header), cmp.Or(column.Field, "left out"))
	}
	for _, row := range sum.First {
		attributes, _ := json.Marshal(row.Attributes) // texts cannot fail
		fmt.Fprintf(&b, "  line %d: %s %s\n", row.Line, row.Phone, attributes)
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Missing)) {
		fmt.Fprintf(&b, "  %s no value for {{%s}}, which the texts of the survey use\n", terminal.Plural(sum.Missing[name], "row has", "rows have"), name)
	}
	return b.String()
}

// importFailed adds to an error what was imported and how to continue.
func importFailed(err error, sum client.ImportView) error {
	text := ""
	if sum.LastLine > 0 {
		text = fmt.Sprintf("\nstopped after line %d: %s, %s", sum.LastLine, terminal.Plural(sum.Added, "respondent imported", "respondents imported"), terminal.Plural(sum.Rejected, "row rejected", "rows rejected"))
	}
	if text != "" || client.NoResponse(err) {
		text += "\nimported rows stay imported, unless --on-error none was given; it is safe to run the same import again"
	}
	return fmt.Errorf("%w%s", err, text)
}
