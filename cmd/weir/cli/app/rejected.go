package app

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// workbookType is the content type of Excel workbooks.
const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// FileFormats returns the formats of files of rows, for a flag.
func FileFormats() []string { return []string{"csv", "ndjson", "xlsx"} }

// ContentType returns the content type of a file.
func ContentType(file, format string) (string, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".csv", ".tsv", ".txt":
			format = "csv"
		case ".ndjson", ".jsonl":
			format = "ndjson"
		case ".xlsx", ".xlsm":
			format = "xlsx"
		default:
			return "", fmt.Errorf("unknown format of %q; add --format csv, --format ndjson or --format xlsx", file)
		}
	}
	switch format {
	case "csv":
		return "text/csv", nil
	case "xlsx":
		return workbookType, nil
	}
	return "application/x-ndjson", nil
}

// RejectedRows has the rejected rows of a file that was uploaded: the first ones for printing, and
// all in another file, which the server writes.
type RejectedRows struct {
	First []client.RowError
	Count int // may exceed the number of first rows: an import lists only these
	max   int
	kept  int // that the file has

	file *os.File // nil: rows are only printed
}

// NewRejectedRows collects rows of a file of a content type; the first limit of them are
// printed. They are also written to errorsFile, unless that is empty.
func NewRejectedRows(c *cobra.Command, errorsFile, from, contentType string, limit int) (*RejectedRows, error) {
	r := &RejectedRows{max: limit, First: []client.RowError{}}
	if errorsFile == "" {
		return r, nil
	}
	wanted, why := contentType, "--errors needs a file of the same format as the rows, "
	if wanted == workbookType {
		wanted, why = "text/csv", "--errors needs a file in the format in which rows of a workbook are given back, "
	}
	if kind, err := ContentType(errorsFile, ""); err == nil && kind != wanted {
		return nil, command.UsageError(c, why+wanted)
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
	return r, nil
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
func (r *RejectedRows) Received(first []client.RowError, count, kept int) {
	r.First = append(r.First, first[:min(len(first), r.max)]...)
	r.Count, r.kept = count, cmp.Or(kept, count)
}

// Close closes the file.
func (r *RejectedRows) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// text lists the first rejected rows, and where the others are.
func (r *RejectedRows) text() string {
	var b strings.Builder
	for _, row := range r.First {
		fmt.Fprintf(&b, "  line %d%s: %s\n", row.Line, column(row.Column), row.Reason)
	}
	more := r.Count - len(r.First)
	switch {
	case r.file != nil && r.kept < r.Count:
		fmt.Fprintf(&b, "  the first %s are in %s\n", terminal.Number(r.kept), r.file.Name())
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
