package contacts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/surveys/respondents"
)

// maxRow is the maximum length of an NDJSON line, in bytes: the body of one contact.
const maxRow = 1 << 20

// rows reads the contacts of a file. next returns io.EOF at the end.
type rows interface{ next() (row, error) }

// csvRows reads CSV. The first line names the columns; message may occur
// several times.
type csvRows struct {
	from     *respondents.Reader
	columns  []string           // empty: a remark
	defaults client.ContactBody // defaults for what a row leaves out
}

// newCSVRows reads the line with the column names.
func newCSVRows(from io.Reader, encoding string, defaults client.ContactBody) (*csvRows, error) {
	table, err := respondents.NewTable(from, encoding)
	if known, ok := errors.AsType[*weir.Error](err); ok {
		return nil, command.Exit(app.Rejected, known.Message+"; the first line must name the columns, including to")
	}
	if err != nil {
		return nil, err
	}
	r := &csvRows{from: table, defaults: defaults}
	names, _ := table.Header()
	for _, header := range names {
		name, known := columnOf(header)
		if !known {
			return nil, command.Exit(app.Rejected, fmt.Sprintf("unknown column %q; allowed: %s and label.NAME", header, strings.Join(contactColumns(), ", ")))
		}
		if name != "" && name != "message" && slices.Contains(r.columns, name) {
			return nil, command.Exit(app.Rejected, fmt.Sprintf("duplicate column %q", name))
		}
		r.columns = append(r.columns, name)
	}
	if !slices.Contains(r.columns, "to") {
		return nil, command.Exit(app.Rejected, "the column to is missing")
	}
	return r, nil
}

// columnOf returns the field of a contact that a header is; empty: a remark.
func columnOf(header string) (name string, known bool) {
	header = strings.TrimSpace(header)
	if respondents.IsRemark(strings.ToLower(header)) {
		return "", true
	}
	if prefix := len("label."); len(header) > prefix && strings.EqualFold(header[:prefix], "label.") {
		return "label." + header[prefix:], true
	}
	for field, headers := range respondents.ContactHeaders() {
		if slices.Contains(headers, respondents.PlainHeader(header)) {
			return field, true
		}
	}
	return "", false
}

// next reads a row. A row with another number of fields is rejected, and the next one
// is read.
func (r *csvRows) next() (row, error) {
	fields, line, err := r.from.Fields()
	out := newRow(line, &r.defaults)
	out.fields = slices.Clone(fields)
	if bad, ok := errors.AsType[*respondents.RowError](err); ok {
		return out.bad(bad.Column, bad.Reason), nil
	}
	if err != nil {
		return row{}, err
	}
	var messages []string
	for i, value := range fields {
		if value = strings.TrimSpace(value); value == "" || r.columns[i] == "" {
			continue
		}
		if r.columns[i] == "message" {
			messages = append(messages, value)
		} else if why := out.set(r.columns[i], value); why != "" {
			return out.bad(r.columns[i], why), nil
		}
	}
	if len(messages) > 0 {
		out.contact.Messages = messages
	}
	return out, nil
}

// bad marks a row as one that cannot be sent.
func (r row) bad(column, reason string) row {
	r.wrong = &client.RowError{Line: r.line, Column: column, Reason: reason}
	return r
}

// jsonRows reads NDJSON: one contact per line.
type jsonRows struct {
	lines    *bufio.Scanner
	line     int
	defaults client.ContactBody
}

// newJSONRows reads lines of at most maxRow bytes.
func newJSONRows(from io.Reader, defaults client.ContactBody) *jsonRows {
	r := &jsonRows{lines: bufio.NewScanner(from), defaults: defaults}
	r.lines.Buffer(make([]byte, 64<<10), maxRow)
	return r
}

// next reads a line that is not empty. Unknown fields are rejected, because a
// misspelled one would be lost without notice, except remarks on a rejected row.
func (r *jsonRows) next() (row, error) {
	for r.lines.Scan() {
		r.line++
		text := bytes.TrimSpace(r.lines.Bytes())
		if len(text) == 0 {
			continue
		}
		out := newRow(r.line, &r.defaults)
		out.fields = []string{string(text)}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(&struct {
			*client.ContactBody
			Line   any `json:"weir_line"`
			Column any `json:"weir_column"`
			Reason any `json:"weir_reason"`
		}{ContactBody: &out.contact})
		if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
			err = errors.New("unexpected data after the object")
		}
		if err != nil {
			return out.bad("", "is not a contact: "+strings.TrimPrefix(err.Error(), "json: ")), nil
		}
		return out, nil
	}
	if err := r.lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d exceeds %s", r.line+1, terminal.Bytes(maxRow))
		}
		return row{}, err
	}
	return row{}, io.EOF
}
