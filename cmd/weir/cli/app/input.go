package app

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
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

// PrintFileResult prints the result for a file: text and the rejected rows, or value as
// JSON. Rejected rows are also an error, to which note is appended.
func (a *App) PrintFileResult(p *Output, rejected *RejectedRows, note, text string, value any) error {
	var err error
	if p.JSON() {
		err = a.PrintJSON(value)
	} else {
		_, err = io.WriteString(a.Stdout, terminal.VisibleLines(text+rejected.text()))
	}
	if err != nil || rejected.Count == 0 {
		return err
	}
	return command.Exit(Rejected, terminal.Plural(rejected.Count, "row was rejected", "rows were rejected")+note)
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

// RejectedRows collects the rejected rows: the first ones for printing, and all that are
// added in a file if one is given.
type RejectedRows struct {
	First []client.RowError
	max   int
	added int64
	Count int64 // may exceed the number of added rows: an import lists only the first ones
	file  *os.File
	rows  *csv.Writer
}

// NewRejectedRows collects rows; the first limit of them are printed, and all are
// written to file, unless that is empty.
func NewRejectedRows(file string, limit int) (*RejectedRows, error) {
	r := &RejectedRows{max: limit, First: []client.RowError{}}
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

// Add adds a row.
func (r *RejectedRows) Add(row client.RowError) error {
	r.added++
	r.Count++
	if len(r.First) < r.max {
		r.First = append(r.First, row)
	}
	if r.rows == nil {
		return nil
	}
	return r.rows.Write([]string{strconv.Itoa(row.Line), row.Column, row.Reason})
}

// Close closes the file.
func (r *RejectedRows) Close() error {
	if r.file == nil {
		return nil
	}
	r.rows.Flush()
	return errors.Join(r.rows.Error(), r.file.Close())
}

// maxDefinition is the maximum size of a definition in bytes, the same as in the API.
const maxDefinition = 8 << 20

// ReadJSON reads a JSON file.
func (a *App) ReadJSON(c *cobra.Command, name string) (json.RawMessage, error) {
	from, _, done, err := a.OpenInput(c, name)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(from, maxDefinition+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxDefinition:
		return nil, fmt.Errorf("%s exceeds %s", name, terminal.Bytes(maxDefinition))
	}
	var definition json.RawMessage
	err = json.Unmarshal(text, &definition)
	if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
		line, column := position(text, at.Offset)
		return nil, fmt.Errorf("%s: line %d, column %d: %w", name, line, column, err)
	}
	return definition, err
}

// position returns line and column of the last byte read.
func position(text []byte, offset int64) (line, column int) {
	before := text[:max(0, min(offset-1, int64(len(text))))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// OpenInput opens a file, or the standard input; bytes is 0 if its size is unknown.
func (a *App) OpenInput(c *cobra.Command, name string) (_ io.Reader, bytes int64, done func(), err error) {
	if name == "-" {
		if a.Stdin == nil {
			return nil, 0, nil, command.UsageError(c, "standard input is not available")
		}
		return a.Stdin, 0, func() {}, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, 0, nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		bytes = info.Size()
	}
	return f, bytes, func() { _ = f.Close() }, nil
}
