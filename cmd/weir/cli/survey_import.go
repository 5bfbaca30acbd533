package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// importing holds the flags of an import.
type importing struct {
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

func (a *app) surveyImport(r *remote) *cobra.Command {
	o := importing{
		format:  command.NewChoice("", "csv", "ndjson"),
		onError: command.NewChoice("skip", "skip", "none"), duplicates: command.NewChoice("skip", "skip", "error"),
	}
	c := a.speaking(r, "import FILE NAME", "Load respondents from a CSV or NDJSON file", importAbout, `  weir survey import people.csv flu
  weir survey import people.csv flu --encoding windows-1252 --on-error none --errors refused.csv
  zcat people.ndjson.gz | weir survey import - flu --format ndjson`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			return a.runImport(ctx, c, r, to, o, args[0], args[1])
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

func (a *app) runImport(ctx context.Context, c *cobra.Command, r *remote, to *client.Client, o importing, file, survey string) error {
	kind, err := kindOf(file, o.format.Value)
	if err != nil {
		return command.UsageError(c, err.Error())
	}
	if o.show < 0 {
		return command.UsageError(c, "--show must be 0 or more")
	}
	from, bytes, done, err := a.input(c, file)
	if err != nil {
		return err
	}
	defer done()
	refused, err := newRefused(o.errors, o.show)
	if err != nil {
		return err
	}
	p := a.newProgress(filepath.Base(file), "rows", bytes, kind == "text/csv")
	sum, err := to.Import(ctx, client.Import{
		Survey: survey, Params: client.PostRespondentsParams{OnError: o.onError.Value, Duplicates: o.duplicates.Value, Encoding: o.encoding}, ContentType: kind, Body: from, Size: bytes, Progress: p.add, OnRejected: refused.add,
	})
	p.clear()
	if closing := refused.close(); closing != nil {
		return errors.Join(err, closing)
	}
	if err != nil && !(client.StatusOf(err) == http.StatusUnprocessableEntity && sum.Rejected > 0 && sum.LastLine == 0) {
		return importFailed(err, sum)
	}
	return a.imported(r, survey, sum, o, refused)
}

// importFailed adds to an error what was imported and how to continue.
func importFailed(err error, sum client.ImportResult) error {
	text := ""
	if sum.LastLine > 0 {
		text = fmt.Sprintf("\nit came to line %d: %s, %s", sum.LastLine, plural(sum.Added, "respondent loaded", "respondents loaded"), plural(sum.Rejected, "row refused", "rows refused"))
	}
	if text != "" || client.NoResponse(err) {
		text += "\nwhat is loaded stays so, unless --on-error none was given; the same import can be made again"
	}
	return fmt.Errorf("%w%s", err, text)
}

// kindOf returns the content type of a file.
func kindOf(file, format string) (string, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".csv", ".tsv", ".txt":
			format = "csv"
		case ".ndjson", ".jsonl":
			format = "ndjson"
		default:
			return "", fmt.Errorf("nobody can tell the form of %q; say --format csv or --format ndjson", file)
		}
	}
	if format == "csv" {
		return "text/csv", nil
	}
	return "application/x-ndjson", nil
}

// imported prints the result of an import.
func (a *app) imported(r *remote, survey string, sum client.ImportResult, o importing, refused *refused) error {
	if r.json() {
		raw, err := json.Marshal(struct {
			Survey string `json:"survey"`
			client.ImportResult
			Errors []client.RowError `json:"errors"`
		}{survey, sum, refused.first})
		if err != nil {
			return err
		}
		if err := a.rawLine(raw); err != nil {
			return err
		}
	} else if err := a.importTable(survey, sum, o, refused); err != nil {
		return err
	}
	if sum.Rejected > 0 {
		return command.Exit(Refused, refusal(sum, o))
	}
	return nil
}

func refusal(sum client.ImportResult, o importing) string {
	text := plural(sum.Rejected, "row was refused", "rows were refused")
	if o.onError.Value == "none" {
		text += "; nothing was loaded"
	}
	return text
}

func (a *app) importTable(survey string, sum client.ImportResult, o importing, refused *refused) error {
	return a.refusedTable(fmt.Sprintf("%s: %s, %s, %s\n", survey, plural(sum.Added, "respondent loaded", "respondents loaded"),
		plural(sum.Duplicates, "duplicate", "duplicates"), plural(sum.Rejected, "row refused", "rows refused")), o.errors, refused)
}

// refusedTable prints the result for a file, and the rejected rows.
func (a *app) refusedTable(head, file string, refused *refused) error {
	var b strings.Builder
	b.WriteString(head)
	for _, row := range refused.first {
		fmt.Fprintf(&b, "  line %d%s: %s\n", row.Line, column(row.Column), row.Reason)
	}
	more := refused.count - int64(len(refused.first))
	switch {
	case file != "" && refused.count > 0:
		fmt.Fprintf(&b, "  %s in %s\n", plural(refused.count, "refused row is", "refused rows are"), file)
	case more > 0:
		fmt.Fprintf(&b, "  and %s more; --errors FILE takes them all\n", grouped(more))
	}
	_, err := io.WriteString(a.Stdout, terminal.VisibleLines(b.String()))
	return err
}

func column(name string) string {
	if name == "" {
		return ""
	}
	return ", " + name
}

// refused collects the rejected rows: the first ones for printing, and all of them
// in a file if one is given.
type refused struct {
	first []client.RowError
	most  int
	count int64
	file  *os.File
	rows  *csv.Writer
}

func newRefused(file string, most int) (*refused, error) {
	r := &refused{most: most, first: []client.RowError{}}
	if file == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil { //nolint:gosec // the user names it
		return nil, err
	}
	r.rows = csv.NewWriter(bufio.NewWriterSize(r.file, 64<<10))
	return r, r.rows.Write([]string{"line", "column", "reason"})
}

func (r *refused) add(row client.RowError) error {
	r.count++
	if len(r.first) < r.most {
		r.first = append(r.first, row)
	}
	if r.rows == nil {
		return nil
	}
	return r.rows.Write([]string{strconv.Itoa(row.Line), row.Column, row.Reason})
}

func (r *refused) close() error {
	if r.file == nil {
		return nil
	}
	r.rows.Flush()
	return errors.Join(r.rows.Error(), r.file.Close())
}
