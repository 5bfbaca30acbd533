package imports

import (
	"io"
	"slices"

	"weir/surveys/respondents"
)

// maxLine is the max length of a line of NDJSON, in bytes.
const maxLine = 1 << 20

// Table is a file as rows.
type Table struct {
	Format  respondents.Format
	Columns []string // the names of the columns, as in the file; nil: each row names its fields

	reader *respondents.Reader
	next   func() (cells []string, line int, err error)
}

// Open begins to read a file in an encoding; empty: as the file says. It fails if the file is
// empty, or if the line that names the columns cannot be read.
func Open(from io.Reader, format respondents.Format, encoding string) (*Table, error) {
	if format == respondents.NDJSON {
		r, err := respondents.NewLines(from, encoding, maxLine)
		if err != nil {
			return nil, err
		}
		return &Table{Format: format, reader: r, next: func() ([]string, int, error) {
			text, line, err := r.Line()
			return []string{text}, line, err
		}}, nil
	}
	r, err := respondents.NewTable(from, encoding)
	if err != nil {
		return nil, err
	}
	t := &Table{Format: respondents.CSV, reader: r, next: func() ([]string, int, error) {
		cells, line, err := r.Fields()
		return slices.Clone(cells), line, err
	}}
	t.Columns, _ = r.Header()
	return t, nil
}

// Cells returns the cells of the next row, one for each column.
func (t *Table) Cells() ([]string, error) {
	cells, _, err := t.next()
	return cells, err
}
