// Package respondents reads respondents as clients send them: CSV and NDJSON files in
// several encodings, request bodies, phone numbers and attributes. It reads row by row
// in bounded memory, and reports each bad row without its content. Other lists of people
// are read the same way, as tables: see [NewTable].
package respondents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/api"
	"weir/internal/csvfile"
)

// Format is the format of a file of respondents.
type Format string

// The formats.
const (
	CSV    Format = "csv"    // the first line names the columns, one of them phone
	NDJSON Format = "ndjson" // one flat object per line, with a key phone
)

// RowError is a row that cannot be loaded, as the API has it. Reading can continue with the rows after
// it. It must not contain any content of the row.
type RowError = api.RowError

// IsRemark reports whether a column, or key, says why a row was rejected. Files of
// rejected rows have these columns beside their own; a reader ignores them, so that the
// corrected file can be imported.
func IsRemark(column string) bool {
	return column == "weir_line" || column == "weir_column" || column == "weir_reason"
}

// Reader reads the rows of a file in bounded memory. It is not for concurrent use.
type Reader struct {
	lines   lineReader
	decoded func() bool // from another encoding than UTF-8
	comma   string
	names   []string // of the columns of CSV, as in the file
}

// NewTable starts to read a CSV file whose columns mean what the caller decides: by
// [Reader.Header] and [Reader.Fields] only. It fails if the file is empty or its first line
// cannot be read.
func NewTable(r io.Reader, encoding string) (*Reader, error) {
	out, err := newReader(r, CSV, encoding)
	if err != nil {
		return nil, err
	}
	return out, out.readNames()
}

func newReader(r io.Reader, format Format, encoding string) (*Reader, error) {
	in, decoded, err := decode(r, encoding, format == CSV)
	if err != nil {
		return nil, err
	}
	return &Reader{lines: lineReader{in: bufio.NewReaderSize(&lineEnds{in: in}, 16<<10)}, decoded: decoded}, nil
}

// Header returns the names of the columns of CSV as they are in the file, and the
// separator.
func (r *Reader) Header() (names []string, separator string) { return r.names, r.comma }

// Decoded reports whether the file has another encoding than UTF-8, as far as it was read.
func (r *Reader) Decoded() bool { return r.decoded() }

// errSkip marks an empty line.
var errSkip = errors.New("an empty line")

// rowError returns the error of a row: a *[RowError], unless reading failed.
func rowError(number int, err error) error {
	if number == 0 {
		return err
	}
	if bad, ok := errors.AsType[*RowError](err); ok {
		return bad
	}
	return &RowError{Line: number, Reason: err.Error()}
}

// Fields returns the fields of the next record that is not empty, one for each column, and
// the number of its first line. The error is a *[RowError], and the fields are as in
// [Reader.Record], if reading can continue, and io.EOF after the last record.
func (r *Reader) Fields() (fields []string, line int, err error) {
	for {
		fields, line, err = r.nextFields()
		if !errors.Is(err, errSkip) {
			break
		}
	}
	if err != nil {
		err = rowError(line, err)
	}
	return fields, line, err
}

// nextFields returns the fields of the next record, one for each column; the number is 0 if
// reading failed.
func (r *Reader) nextFields() (fields []string, number int, err error) {
	fields, number, err = r.lines.record(r.comma)
	for i, f := range fields {
		fields[i] = csvfile.Unguarded(f)
	}
	if err != nil {
		return fields, number, err
	}
	if err := r.check(fields...); err != nil {
		return fields, number, err
	}
	// Only empty ones: a value beyond the header is a mistake that must not be dropped.
	for len(fields) > len(r.names) && strings.TrimSpace(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1] // spreadsheets pad rows
	}
	switch {
	case strings.TrimSpace(strings.Join(fields, "")) == "":
		return fields, number, errSkip
	case len(fields) != len(r.names):
		return fields, number, fmt.Errorf("has %d fields; the header has %d", len(fields), len(r.names))
	}
	return fields, number, nil
}

func (r *Reader) check(fields ...string) error {
	for _, f := range fields {
		if !r.valid(f) {
			return errEncoding
		}
		if strings.IndexByte(f, 0) >= 0 {
			return errNUL
		}
	}
	return nil
}

// valid reports whether every byte of a text was valid in the file's encoding.
func (r *Reader) valid(text string) bool {
	return utf8.ValidString(text) && !(r.decoded() && strings.ContainsRune(text, utf8.RuneError))
}

// readNames reads the first line, which names the columns.
func (r *Reader) readNames() error {
	first, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return errEmpty()
	}
	if err != nil {
		return err
	}
	r.lines.unread([]line{first})
	r.comma = separator(first.text)
	fields, _, err := r.lines.record(r.comma)
	if err == nil {
		err = r.check(fields...)
	}
	if err != nil {
		return weir.Errorf(weir.CodeInvalid, "the first line, which names the columns, cannot be read: %v", err)
	}
	for len(fields) > 1 && strings.TrimSpace(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1] // spreadsheets pad the header as they pad rows
	}
	r.names = fields
	return nil
}

// NewLines starts to read a file of NDJSON whose objects mean what the caller decides: by
// [Reader.Line] only. longest is the max length of a line, in bytes.
func NewLines(r io.Reader, encoding string, longest int) (*Reader, error) {
	out, err := newReader(r, NDJSON, encoding)
	if err == nil {
		out.lines.most = longest
	}
	return out, err
}

// Line returns the next line that is not empty, and its number. The error is a *[RowError] if
// reading can continue, and io.EOF after the last line.
func (r *Reader) Line() (text string, number int, err error) {
	for {
		l, err := r.nextLine()
		if errors.Is(err, errSkip) {
			continue
		}
		if err != nil {
			err = rowError(l.number, err)
		}
		return l.text, l.number, err
	}
}

// nextLine returns the next line of NDJSON; the number is 0 if reading failed.
func (r *Reader) nextLine() (line, error) {
	l, err := r.lines.next()
	switch {
	case err != nil:
		return line{}, err
	case l.tooLong:
		return l, r.lines.errTooLong()
	case strings.TrimSpace(l.text) == "":
		return l, errSkip
	case !r.valid(l.text):
		return l, errEncoding
	}
	return l, nil
}
