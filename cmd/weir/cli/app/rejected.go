package app

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/internal/csvfile"
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
// all that are written to another file, in the same format, with the columns that
// [respondents.IsRemark] names. The user can correct that file and send it.
type RejectedRows struct {
	First []client.RowError
	Count int64 // may exceed the number of added rows: an import lists only the first ones
	max   int
	added int64

	file    *os.File // nil: rows are only printed
	out     *bufio.Writer
	csv     *csvfile.Writer
	remarks *regexp.Regexp // of an earlier file, before a row of NDJSON; nil: CSV
	header  []string       // of CSV; nil: was written
	own     []bool         // by column: false if it is a remark of an earlier file
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
	r.out = bufio.NewWriterSize(r.file, 64<<10)
	r.csv = csvfile.NewWriter(r.out, ',')
	if contentType != "text/csv" {
		r.remarks = regexp.MustCompile(`^\{"weir_line":\d+,("weir_column":"([^"\\]|\\.)*",)?"weir_reason":"([^"\\]|\\.)*"(\} |,)`)
	}
	return r, nil
}

// SetHeader sets the columns of CSV. A file that was converted to UTF-8 begins with a byte
// order mark, because its user reads files in another encoding.
func (r *RejectedRows) SetHeader(columns []string, separator rune, converted bool) {
	if r.file == nil {
		return
	}
	r.csv = csvfile.NewWriter(r.out, separator)
	r.header = []string{"weir_line", "weir_column", "weir_reason"}
	r.own = make([]bool, len(columns))
	for i, name := range columns {
		r.own[i] = !respondents.IsRemark(strings.ToLower(strings.TrimSpace(name)))
	}
	r.header = append(r.header, r.ofUser(columns)...)
	if converted {
		_, _ = r.out.WriteString("\ufeff") // the error returns at the end
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
	switch {
	case r.file == nil:
		return nil
	case r.remarks != nil:
		return r.writeObject(why, fields[0])
	case r.header != nil:
		if err := r.csv.Write(r.header); err != nil {
			return err
		}
		r.header = nil
	}
	return r.csv.Write(append([]string{strconv.Itoa(why.Line), why.Column, why.Reason}, r.ofUser(fields)...))
}

// ofUser returns the fields that are no remarks. The remarks come first, so that a row
// with a wrong number of fields does not move them.
func (r *RejectedRows) ofUser(fields []string) []string {
	if len(fields) == 1 {
		return fields
	}
	out := make([]string, 0, len(fields))
	for i, field := range fields {
		if i >= len(r.own) || r.own[i] {
			out = append(out, field)
		}
	}
	return out
}

// writeObject writes a row of NDJSON. The remarks are the first keys of its object, whose
// text stays as it is otherwise, because it may be malformed; a text that is no object
// follows an object of the remarks.
func (r *RejectedRows) writeObject(why client.RowError, text string) error {
	remarks, err := json.Marshal(struct {
		Line   int    `json:"weir_line"`
		Column string `json:"weir_column,omitempty"`
		Reason string `json:"weir_reason"`
	}{why.Line, why.Column, why.Reason})
	if err != nil {
		return err
	}
	text = strings.TrimSpace(text)
	earlier := r.remarks.FindString(text)
	if text = text[len(earlier):]; strings.HasSuffix(earlier, ",") {
		text = "{" + text
	}
	if inside, ok := strings.CutPrefix(text, "{"); ok && strings.HasPrefix(strings.TrimSpace(inside), `"`) {
		text = string(remarks[:len(remarks)-1]) + "," + inside
	} else {
		text = string(remarks) + " " + text
	}
	_, err = r.out.WriteString(text + "\n")
	return err
}

// Close closes the file.
func (r *RejectedRows) Close() error {
	if r.file == nil {
		return nil
	}
	return errors.Join(r.csv.Flush(), r.out.Flush(), r.file.Close())
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
