// Package workbook reads and writes Excel workbooks (.xlsx: Office Open XML), row by row in bounded
// memory.
//
// # Invariants
//
//   - Only the parts of a workbook that are needed are unpacked, each as a stream: pictures and macros
//     are not read. What is unpacked, the number of rows, the length of a text and of anything else in
//     the XML are bounded, so a small file that unpacks to a large one costs no memory.
//   - Before the first row is returned, the checksum of the sheet was verified and its rows were
//     counted: a broken workbook is refused as a whole.
//   - A cell is read as a person sees it, in a form for programs: all digits of a number, dates as
//     ISO 8601, true and false. What Excel has not kept is not guessed: see [Cell].
//   - Texts that are written are texts: Excel evaluates none of them.
//
// # Why not a library
//
// The streaming readers of the known libraries give texts without the types of cells, so that a date is
// a number and true is 1; take XML that breaks off for the end of the rows; and unpack every part into memory.
package workbook

import "fmt"

// Bounds of a workbook that is read.
const (
	MaxSize     = 64 << 20  // bytes, packed
	MaxUnpacked = 512 << 20 // bytes of the sheet; and of the texts that it shares with others
	MaxRows     = 200_000   // that are not empty, with the one that names the columns
	MaxText     = 64 << 10  // bytes of the texts of a row
	MaxWidth    = 1000      // columns

	maxStrings = 4_000_000 // shared texts
	maxStyles  = 1 << 16   // that cells may have; Excel has as many
	maxPart    = 32 << 20  // bytes of a part that is not rows or texts
	maxToken   = 1 << 20   // bytes of what is between two signs of the XML
	maxFolder  = 1 << 20   // bytes of the table of contents
	maxSheets  = 1000

	excelRows    = 1 << 20
	excelColumns = 1 << 14
)

// Error is why a file cannot be read. It says what to do, and has no content of cells.
type Error struct {
	Detail string
	Large  bool // it exceeds a bound
}

// Error implements error.
func (e *Error) Error() string { return e.Detail }

func errorf(format string, args ...any) error { return &Error{Detail: fmt.Sprintf(format, args...)} }

func tooLarge(format string, args ...any) error {
	return &Error{Detail: fmt.Sprintf(format, args...), Large: true}
}

const asCSV = "save it as CSV UTF-8, which may have any length"

func errBroken(part string) error {
	return errorf("the workbook is broken in %s; open it in Excel, save it as .xlsx again, and send that file", part)
}

// Cell is a cell of a row.
type Cell struct {
	Text string
	// Wrong is why the text is not what was entered; empty: it is.
	Wrong string
}

// Why a cell does not have what was entered.
const (
	WrongRounded = "is a number of more than 15 digits, of which Excel keeps 15; enter it again in a column that is formatted as text"
	WrongFormula = "is a formula without a value; open the file in Excel, save it, and send that file"
	WrongValue   = "has an error instead of a value"
	WrongNumber  = "is a number or date that cannot be read"
)

// Row is a row that has a text.
type Row struct {
	Number int    // from 1, as in Excel
	Cells  []Cell // up to the last one with a text, at most MaxWidth
	Width  int    // the number of the last column with a text
	Long   bool   // its texts are longer than MaxText, and were cut
}
