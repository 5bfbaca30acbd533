package imports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"weir"
	"weir/internal/csvfile"
	"weir/internal/workbook"
	"weir/surveys/respondents"
)

// XLSX is the format of Excel workbooks. Their refused rows are given back as CSV.
const XLSX respondents.Format = "xlsx"

// XLSXHelp says in the API description what an Excel workbook is to an import.
func XLSXHelp() string {
	return fmt.Sprintf("An Excel workbook (.xlsx) is the same as CSV, of at most %d rows and %d MiB: the first row with a text names the columns; numbers have all their digits, dates are as in ISO 8601, formulas have the values that Excel has stored; a row is rejected for a number of more than 15 digits, which Excel has rounded. Rejected rows come as CSV. Nothing is read before the whole file has arrived. ", workbook.MaxRows, workbook.MaxSize>>20)
}

// IsPacked reports whether a file begins as a workbook does, an old one or one with a password included.
func IsPacked(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0"))
}

// openWorkbook opens a sheet of a workbook; empty: the first one.
func openWorkbook(from io.Reader, sheet string) (*Table, error) {
	r, err := workbook.Open(from, sheet)
	if err != nil {
		return nil, workbookError(err)
	}
	names, err := headerOf(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	t := &Table{Format: respondents.CSV, Columns: names, separator: ',', marked: func() bool { return true }, close: r.Close}
	t.next = func() ([]string, int, error) { return t.nextOf(r) }
	return t, nil
}

// headerOf reads the row that names the columns.
func headerOf(r *workbook.Reader) ([]string, error) {
	row, err := r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, weir.Errorf(weir.CodeInvalid, "the sheet is empty")
	case err != nil:
		return nil, workbookError(err)
	case row.Long:
		return nil, weir.Errorf(weir.CodeInvalid, "the first row, which names the columns, is longer than %d bytes", workbook.MaxText)
	}
	var names []string
	for i, cell := range row.Cells {
		if cell.Wrong != "" {
			return nil, weir.Errorf(weir.CodeInvalid, "the first row, which names the columns, cannot be read: column %d %s", i+1, cell.Wrong)
		}
		names = append(names, cell.Text)
	}
	for len(names) > 1 && strings.TrimSpace(names[len(names)-1]) == "" {
		names = names[:len(names)-1]
	}
	return names, nil
}

// nextOf returns the cells of the next row that is not empty, as those of a row of CSV.
func (t *Table) nextOf(r *workbook.Reader) ([]string, int, error) {
	for {
		row, err := r.Next()
		if err != nil {
			return nil, 0, workbookError(err)
		}
		cells := make([]string, max(len(t.Columns), len(row.Cells)))
		blank := true
		for i := range row.Cells {
			cells[i] = csvfile.Unguarded(row.Cells[i].Text)
			blank = blank && strings.TrimSpace(cells[i]) == "" && row.Cells[i].Wrong == ""
		}
		if blank && row.Width == len(row.Cells) {
			continue
		}
		if bad := t.wrong(row, cells); bad != nil {
			bad.Line = row.Number
			return cells, row.Number, bad
		}
		return cells[:len(t.Columns)], row.Number, nil
	}
}

// wrong returns why a row is refused, whatever it becomes; nil: it is not.
func (t *Table) wrong(row *workbook.Row, cells []string) *respondents.RowError {
	beyond := row.Width > len(cells)
	for _, cell := range cells[len(t.Columns):] {
		beyond = beyond || strings.TrimSpace(cell) != ""
	}
	switch {
	case row.Long:
		return &respondents.RowError{Reason: fmt.Sprintf("the row is longer than %d bytes", workbook.MaxText)}
	case beyond:
		return &respondents.RowError{Reason: fmt.Sprintf("has %d fields; the header has %d", row.Width, len(t.Columns))}
	}
	for i, cell := range row.Cells[:min(len(row.Cells), len(t.Columns))] {
		switch {
		case strings.IndexByte(cell.Text, 0) >= 0:
			return &respondents.RowError{Reason: "has a NUL character"}
		case cell.Wrong != "" && t.taken != nil && t.taken[i].Field != "": // of a column that is left out, nothing matters
			return &respondents.RowError{Column: t.Columns[i], Reason: cell.Wrong}
		}
	}
	return nil
}

// workbookError returns the error of a workbook for the client; one of its transfer stays as it is.
func workbookError(err error) error {
	bad, ok := errors.AsType[*workbook.Error](err)
	_, ofFile := errors.AsType[*os.PathError](err)
	switch {
	case ofFile:
		return &weir.Error{Code: weir.CodeUnavailable, Message: "there is no room for a temporary file of the workbook", Cause: err}
	case !ok:
		return err
	case bad.Large:
		return weir.Errorf(weir.CodeTooLarge, "%s", bad.Detail)
	}
	return weir.Errorf(weir.CodeInvalid, "%s", bad.Detail)
}
