package files

import (
	"encoding/base64"
	"html/template"
	"strings"
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
	First []Row

	text strings.Builder
}

// File returns a link to the file itself, which needs no place on the server, and no session.
func (r *refusedRows) File() template.URL {
	return template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte("\ufeff"+r.text.String()))) //nolint:gosec // base64
}
