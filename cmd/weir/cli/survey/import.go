package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// importFlags holds the flags of an import.
type importFlags struct {
	format, onError, duplicates command.Choice
	encoding, errors            string
	show                        int
}

const importAbout = `Loads respondents from a file ("-" for the standard input) into a survey, however
many they are: the file is streamed, and so is the answer.

CSV: the first line names the columns, one of them phone. NDJSON: one flat object
a line, with a key phone. All other columns are attributes. A number that the
survey has already is a duplicate and changes nothing, so that an import can be
repeated.

A row that cannot be loaded is named with its line, and the exit code is 4: with
--on-error skip the others are loaded, with --on-error none nothing is.`

func importCommand(a *app.App, r *app.Connection) *cobra.Command {
	o := importFlags{
		format:  command.NewChoice("", "csv", "ndjson"),
		onError: command.NewChoice("skip", "skip", "none"), duplicates: command.NewChoice("skip", "skip", "error"),
	}
	c := a.APICommand(r, "import FILE NAME", "Load respondents from a CSV or NDJSON file", importAbout, `  weir survey import people.csv flu
  weir survey import people.csv flu --encoding windows-1252 --on-error none --errors refused.csv
  zcat people.ndjson.gz | weir survey import - flu --format ndjson`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			return runImport(ctx, a, c, r, to, o, args[0], args[1])
		})
	f := c.Flags()
	f.Var(&o.format, "format", "form of the file (default: as its name ends)")
	f.StringVar(&o.encoding, "encoding", "", "utf-8, utf-16le, utf-16be or windows-1252 (default utf-8, or as its mark says)")
	f.Var(&o.onError, "on-error", "what a bad row does: it is skipped, or nothing is loaded")
	f.Var(&o.duplicates, "duplicates", "what a number does that is there already: it is skipped, or it is a bad row")
	f.StringVar(&o.errors, "errors", "", "file that is to get every refused row, as CSV: line, column, reason")
	f.IntVar(&o.show, "show", 10, "how many refused rows are shown")
	return c
}

func runImport(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, o importFlags, file, survey string) error {
	kind, err := app.ContentType(file, o.format.Value)
	if err != nil {
		return command.UsageError(c, err.Error())
	}
	if o.show < 0 {
		return command.UsageError(c, "--show must be 0 or more")
	}
	from, bytes, done, err := a.OpenInput(c, file)
	if err != nil {
		return err
	}
	defer done()
	refused, err := app.NewRejectedRows(o.errors, o.show)
	if err != nil {
		return err
	}
	p := a.NewProgress(filepath.Base(file), "rows", bytes, kind == "text/csv")
	sum, err := to.Import(ctx, client.Import{
		Survey: survey, Params: client.PostRespondentsParams{OnError: o.onError.Value, Duplicates: o.duplicates.Value, Encoding: o.encoding}, ContentType: kind, Body: from, Size: bytes, Progress: p.Add, OnRejected: refused.Add,
	})
	p.Clear()
	if closing := refused.Close(); closing != nil {
		return errors.Join(err, closing)
	}
	if err != nil && !(client.StatusOf(err) == http.StatusUnprocessableEntity && sum.Rejected > 0 && sum.LastLine == 0) {
		return importFailed(err, sum)
	}
	return printImported(a, r, survey, sum, o, refused)
}

// importFailed adds to an error what was imported and how to continue.
func importFailed(err error, sum client.ImportResult) error {
	text := ""
	if sum.LastLine > 0 {
		text = fmt.Sprintf("\nit came to line %d: %s, %s", sum.LastLine, terminal.Plural(sum.Added, "respondent loaded", "respondents loaded"), terminal.Plural(sum.Rejected, "row refused", "rows refused"))
	}
	if text != "" || client.NoResponse(err) {
		text += "\nwhat is loaded stays so, unless --on-error none was given; the same import can be made again"
	}
	return fmt.Errorf("%w%s", err, text)
}

// printImported prints the result of an import.
func printImported(a *app.App, r *app.Connection, survey string, sum client.ImportResult, o importFlags, refused *app.RejectedRows) error {
	if r.JSON() {
		raw, err := json.Marshal(struct {
			Survey string `json:"survey"`
			client.ImportResult
			Errors []client.RowError `json:"errors"`
		}{survey, sum, refused.First})
		if err != nil {
			return err
		}
		if err := a.PrintRaw(raw); err != nil {
			return err
		}
	} else if err := importTable(a, survey, sum, o, refused); err != nil {
		return err
	}
	if sum.Rejected > 0 {
		return command.Exit(app.Rejected, rejectedText(sum, o))
	}
	return nil
}

func rejectedText(sum client.ImportResult, o importFlags) string {
	text := terminal.Plural(sum.Rejected, "row was refused", "rows were refused")
	if o.onError.Value == "none" {
		text += "; nothing was loaded"
	}
	return text
}

func importTable(a *app.App, survey string, sum client.ImportResult, o importFlags, refused *app.RejectedRows) error {
	return a.PrintRejected(fmt.Sprintf("%s: %s, %s, %s\n", survey, terminal.Plural(sum.Added, "respondent loaded", "respondents loaded"),
		terminal.Plural(sum.Duplicates, "duplicate", "duplicates"), terminal.Plural(sum.Rejected, "row refused", "rows refused")), o.errors, refused)
}
