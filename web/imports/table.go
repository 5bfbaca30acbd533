package imports

import (
	"io"
	"slices"

	"weir/surveys/respondents"
)

// maxLine is the max length of a line of NDJSON, in bytes.
const maxLine = 1 << 20

// Table is a file as rows. Close it.
type Table struct {
	Format  respondents.Format // in which refused rows are given back
	Columns []string           // the names of the columns, as in the file; nil: each row names its fields

	next      func() (cells []string, line int, err error)
	separator rune        // of refused rows in CSV
	marked    func() bool // whether these begin with a byte order mark
	taken     []Column    // what the columns are, once that is known
	close     func() error
}

// Close closes the file.
func (t *Table) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

// Open begins to read a file in an encoding; empty: as the file says. It fails if the file is
// empty, or if the line that names the columns cannot be read.
func Open(from io.Reader, format respondents.Format, encoding string) (*Table, error) {
	if format == respondents.NDJSON {
		r, err := respondents.NewLines(from, encoding, maxLine)
		if err != nil {
			return nil, err
		}
		return &Table{Format: format, next: func() ([]string, int, error) {
			text, line, err := r.Line()
			return []string{text}, line, err
		}}, nil
	}
	r, err := respondents.NewTable(from, encoding)
	if err != nil {
		return nil, err
	}
	columns, separator := r.Header()
	return &Table{Format: respondents.CSV, Columns: columns, separator: rune(separator[0]), marked: r.Decoded, next: func() ([]string, int, error) {
		cells, line, err := r.Fields()
		return slices.Clone(cells), line, err
	}}, nil
}

// Cells returns the cells of the next row, one for each column.
func (t *Table) Cells() ([]string, error) {
	cells, _, err := t.next()
	return cells, err
}
