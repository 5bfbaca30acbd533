package dashboard

import (
	"encoding/base64"
	"html/template"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/csvfile"
)

// Bounds of the refused rows of a file.
const (
	maxRefusedBytes = 4 << 20 // of the file that has them
	shownRefused    = 20
)

// refusedRows collects the rows of a file that are not sent, as they are in it. They become a file
// with its columns, after those that give the reason: whoever mends the rows can send it as it is.
type refusedRows struct {
	Count int
	Kept  int // rows of the file
	First []fileRow

	headers []string
	text    strings.Builder
	out     *csvfile.Writer
}

func newRefusedRows(headers []string, separator string) *refusedRows {
	r := &refusedRows{headers: headers}
	r.out = csvfile.NewWriter(&r.text, rune(separator[0]))
	return r
}

func (r *refusedRows) add(row *fileRow) {
	if r.Count++; len(r.First) < shownRefused {
		r.First = append(r.First, *row)
	}
	if _ = r.out.Flush(); r.text.Len() > maxRefusedBytes {
		return
	}
	if r.Kept++; r.Kept == 1 {
		_ = r.out.Write(append([]string{"weir_line", "weir_column", "weir_reason"}, r.own(r.headers)...)) // to memory
	}
	_ = r.out.Write(append([]string{strconv.Itoa(row.Line), row.Column, row.Reason}, r.own(row.cells)...))
}

// own returns the cells that are no remarks. A row that cannot be divided is a single cell.
func (r *refusedRows) own(cells []string) []string {
	out := make([]string, 0, len(cells))
	for i, cell := range cells {
		if i >= len(r.headers) || len(cells) == 1 || !isRemark(r.headers[i]) {
			out = append(out, strings.ToValidUTF8(cell, string(utf8.RuneError)))
		}
	}
	return out
}

// File returns a link to the file itself, which needs no place on the server, and no session.
func (r *refusedRows) File() template.URL {
	_ = r.out.Flush()                                                                                                                // to memory
	return template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte("\ufeff"+r.text.String()))) //nolint:gosec // base64
}
