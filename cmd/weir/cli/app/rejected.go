package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/surveys/respondents"
)

// ContentType returns the content type of a file.
func ContentType(file, format string) (string, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".csv", ".tsv", ".txt":
			format = "csv"
		case ".ndjson", ".jsonl":
			format = "ndjson"
		default:
			return "", fmt.Errorf("unknown format of %q; add --format csv or --format ndjson", file)
		}
	}
	if format == "csv" {
		return "text/csv", nil
	}
	return "application/x-ndjson", nil
}

// RejectedRows collects the rejected rows of a file: the first ones for printing, and
// all that are written to another file, by a [respondents.RejectedWriter].
type RejectedRows struct {
	First []client.RowError
	Count int64 // may exceed the number of added rows: an import lists only the first ones
	max   int
	added int64

	file *os.File // nil: rows are only printed
	out  *respondents.RejectedWriter
}

// NewRejectedRows collects rows of a file of a content type; the first limit of them are
// printed. They are also written to errorsFile, unless that is empty.
func NewRejectedRows(c *cobra.Command, errorsFile, from, contentType string, limit int) (*RejectedRows, error) {
	r := &RejectedRows{max: limit, First: []client.RowError{}}
	if errorsFile == "" {
		return r, nil
	}
	if kind, err := ContentType(errorsFile, ""); err == nil && kind != contentType {
		return nil, command.UsageError(c, "--errors needs a file of the same format as the rows, "+contentType)
	}
	if a, err := os.Stat(from); err == nil {
		if b, err := os.Stat(errorsFile); err == nil && os.SameFile(a, b) {
			return nil, command.UsageError(c, "--errors must name another file than the one that is read")
		}
	}
	var err error
	if r.file, err = os.OpenFile(errorsFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil { //nolint:gosec // the user names it
		return nil, err
	}
	format := respondents.CSV
	if contentType != "text/csv" {
		format = respondents.NDJSON
	}
	r.out = respondents.NewRejectedWriter(r.file, format)
	return r, nil
}

// SetHeader sets the columns of CSV, as [respondents.RejectedWriter.SetHeader] does.
func (r *RejectedRows) SetHeader(columns []string, separator rune, converted bool) {
	if r.file != nil {
		r.out.SetHeader(columns, separator, converted)
	}
}

// Add counts a row, and keeps it for printing if it is one of the first.
func (r *RejectedRows) Add(row client.RowError) {
	r.added++
	r.Count++
	if len(r.First) < r.max {
		r.First = append(r.First, row)
	}
}

// Write writes a row to the file, with its reason. The row has its fields as they were
// read, or is a single text: of NDJSON, or of what is no CSV.
func (r *RejectedRows) Write(why client.RowError, fields []string) error {
	if r.file == nil {
		return nil
	}
	return r.out.Write(respondents.RowError{Line: why.Line, Column: why.Column, Reason: why.Reason}, fields)
}

// File returns the file, for a server that writes it whole; nil: there is none.
func (r *RejectedRows) File() io.Writer {
	if r.file == nil {
		return nil
	}
	return r.file
}

// Received notes what a server has said of the rejected rows: the first ones, how many there are,
// and how many the file has; 0: all.
func (r *RejectedRows) Received(first []client.RowError, count, kept int64) {
	r.First = append(r.First, first[:min(len(first), r.max)]...)
	r.Count, r.added = count, cmp.Or(kept, count)
}

// Close closes the file.
func (r *RejectedRows) Close() error {
	if r.file == nil {
		return nil
	}
	return errors.Join(r.out.Flush(), r.file.Close())
}

// text lists the first rejected rows, and where the others are.
func (r *RejectedRows) text() string {
	var b strings.Builder
	for _, row := range r.First {
		fmt.Fprintf(&b, "  line %d%s: %s\n", row.Line, column(row.Column), row.Reason)
	}
	more := r.Count - int64(len(r.First))
	switch {
	case r.file != nil && r.added < r.Count:
		fmt.Fprintf(&b, "  the first %s are in %s\n", terminal.Number(r.added), r.file.Name())
	case r.file != nil && r.Count > 0:
		fmt.Fprintf(&b, "  %s in %s\n", terminal.Plural(r.Count, "rejected row is", "rejected rows are"), r.file.Name())
	case more > 0:
		fmt.Fprintf(&b, "  and %s more; --errors FILE writes them to a file\n", terminal.Number(more))
	}
	return b.String()
}

// column returns a column for a message; a rejection may concern the whole row.
func column(name string) string {
	if name == "" {
		return ""
	}
	return ", " + name
}
