package contacts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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
	from     *csv.Reader
	names    []string // of the columns, as in the file
	columns  []string
	defaults client.ContactBody // defaults for what a row leaves out
}

// newCSVRows reads the line with the column names. A byte order mark is skipped.
func newCSVRows(from io.Reader, defaults client.ContactBody) (*csvRows, error) {
	buffered := bufio.NewReaderSize(from, 64<<10)
	if mark, err := buffered.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	r := &csvRows{from: csv.NewReader(buffered), defaults: defaults}
	r.from.FieldsPerRecord, r.from.ReuseRecord = -1, true
	head, err := r.from.Read()
	if errors.Is(err, io.EOF) {
		return nil, command.Exit(app.Rejected, "the file is empty; its first line must name the columns, including to")
	}
	if err != nil {
		return nil, err
	}
	r.names = slices.Clone(head)
	for _, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		label, isLabel := strings.CutPrefix(name, "label.")
		switch {
		case name == "phone":
			name = "to"
		case respondents.IsRemark(name):
		case isLabel && label != "":
			name = "label." + strings.TrimSpace(name)[len("label."):]
		case !slices.Contains(contactColumns(), name):
			return nil, command.Exit(app.Rejected, fmt.Sprintf("unknown column %q; allowed: %s and label.NAME", name, strings.Join(contactColumns(), ", ")))
		}
		if name != "message" && slices.Contains(r.columns, name) {
			return nil, command.Exit(app.Rejected, fmt.Sprintf("duplicate column %q", name))
		}
		r.columns = append(r.columns, name)
	}
	if !slices.Contains(r.columns, "to") {
		return nil, command.Exit(app.Rejected, "the column to is missing")
	}
	return r, nil
}

// next reads a row. A row with another number of fields is rejected, and the next one
// is read; after a syntax error nothing more can be read.
func (r *csvRows) next() (row, error) {
	fields, err := r.from.Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		// After a syntax error the start of the next row is unknown.
		return row{}, fmt.Errorf("line %d: %w", parse.Line, parse.Err)
	}
	if err != nil {
		return row{}, err
	}
	line, _ := r.from.FieldPos(0)
	out := newRow(line, &r.defaults)
	out.fields = slices.Clone(fields)
	if len(fields) != len(r.columns) {
		return out.bad("", fmt.Sprintf("has %d fields; want %d", len(fields), len(r.columns))), nil
	}
	var messages []string
	for i, value := range fields {
		if value = strings.TrimSpace(value); value == "" || respondents.IsRemark(r.columns[i]) {
			continue
		}
		if !utf8.ValidString(value) {
			return out.bad(r.columns[i], "is not UTF-8"), nil
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

// keyOf returns the idempotency key of a contact that has none: a hash of the run
// and the contact's content, recipient included. The same file sent again has the
// same keys, so no recipient is contacted twice.
func keyOf(run string, c *client.ContactBody) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(run+"\n"), text...))
	return "cli-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15])), nil
}
