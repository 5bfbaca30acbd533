package route

import (
	"net/http"

	"weir/internal/workbook"
)

// XLSXType is the content type of Excel workbooks.
const XLSXType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// WorkbookHelp explains every Excel workbook in the API description.
const WorkbookHelp = "A connection that breaks off before the end means that the file is not whole. " +
	"Texts are texts, so that Excel evaluates none of them and keeps all digits of phone numbers; a text of more than 32767 characters is cut. Instants are texts as in the API, because Excel knows no time zones. Numbers are numbers."

// Sheet is a sheet of a workbook that is written.
type Sheet struct {
	Name   string
	Number func(column int) bool // whether cells of a column are numbers; nil: none is
	Write  func(*CSV) error      // writes its rows; the first one names the columns
}

// WriteWorkbook serves an Excel workbook, as [Downloads.Write] serves a CSV file.
func (d *Downloads) WriteWorkbook(c *Call, w http.ResponseWriter, name string, sheets ...Sheet) error {
	release, err := AcquireTransfer(c, d.Transfers)
	if err != nil {
		return err
	}
	defer release()
	p := NewDeadlines(w)
	p.ClearRead()
	w.Header().Set("Content-Type", XLSXType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.xlsx"`)
	book := workbook.NewWriter(p)
	for i, s := range sheets {
		f := &CSV{c, d, &sheetWriter{book: book, Sheet: s}}
		if err := s.Write(f); err != nil && i == 0 { // nothing was written
			w.Header().Del("Content-Disposition")
			return err
		} else if err != nil {
			f.Abort(err)
		}
	}
	if err := book.Close(); err != nil {
		(&CSV{c, d, nil}).Abort(err)
	}
	return nil
}

// sheetWriter writes rows into a sheet, which begins with the first one.
type sheetWriter struct {
	Sheet
	book  *workbook.Writer
	begun bool
}

// Write implements rowWriter.
func (s *sheetWriter) Write(cells []string) error {
	if !s.begun {
		s.begun = true
		s.book.Sheet(s.Name, cells)
		return nil
	}
	values := make([]workbook.Value, len(cells))
	for i, cell := range cells {
		values[i] = workbook.Value{Text: cell, Number: s.Number != nil && s.Number(i)}
	}
	s.book.Row(values)
	return nil
}

// Flush implements rowWriter.
func (s *sheetWriter) Flush() error {
	if !s.begun {
		return nil
	}
	return s.book.Flush()
}
