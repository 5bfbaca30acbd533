package dashboard

import (
	"encoding/base64"
	"html/template"
	"strings"

	"weir/surveys/respondents"
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

	text strings.Builder
	out  *respondents.RejectedWriter
}

func newRefusedRows(headers []string, separator string) *refusedRows {
	r := &refusedRows{}
	r.out = respondents.NewRejectedWriter(&r.text, respondents.CSV)
	r.out.SetHeader(headers, rune(separator[0]), false)
	return r
}

func (r *refusedRows) add(row *fileRow) {
	if r.Count++; len(r.First) < shownRefused {
		r.First = append(r.First, *row)
	}
	if _ = r.out.Flush(); r.text.Len() > maxRefusedBytes {
		return
	}
	r.Kept++
	_ = r.out.Write(respondents.RowError{Line: row.Line, Column: row.Column, Reason: row.Reason}, row.cells) // to memory
}

// File returns a link to the file itself, which needs no place on the server, and no session.
func (r *refusedRows) File() template.URL {
	if r.out != nil {
		_ = r.out.Flush() // to memory
	}
	return template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte("\ufeff"+r.text.String()))) //nolint:gosec // base64
}
