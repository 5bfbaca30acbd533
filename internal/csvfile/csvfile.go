// Package csvfile writes every CSV file of Weir, so that no cell of one is a formula of a
// spreadsheet, commands a terminal or turns the text around it.
package csvfile

import (
	"bufio"
	"encoding/csv"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer writes rows whose cells are guarded. It keeps the first error until Flush.
type Writer struct {
	out         *csv.Writer
	spreadsheet bool
}

// NewWriter returns a writer of rows with a separator.
func NewWriter(to io.Writer, separator rune) *Writer {
	w := &Writer{out: csv.NewWriter(to)}
	w.out.Comma = separator
	return w
}

// Separators returns those that Excel reads, by name: the semicolon where decimals have a comma.
func Separators() map[string]rune { return map[string]rune{"comma": ',', "semicolon": ';'} }

// NewSpreadsheet is [NewWriter] for a spreadsheet, which reads UTF-8 only behind a byte order
// mark, and would round long numbers, such as those of phones: they get an apostrophe, too.
func NewSpreadsheet(to io.Writer, separator rune) *Writer {
	buffered := bufio.NewWriter(to) // also of the rows: nothing is written before the first Flush
	_, _ = buffered.WriteString("\ufeff")
	w := NewWriter(buffered, separator)
	w.spreadsheet = true
	return w
}

// Write writes a row. It does not change cells.
func (w *Writer) Write(cells []string) error {
	guarded := make([]string, len(cells))
	for i, cell := range cells {
		guarded[i] = w.guard(cell)
	}
	return w.out.Write(guarded)
}

// Flush writes what is buffered, and returns the first error.
func (w *Writer) Flush() error {
	w.out.Flush()
	return w.out.Error()
}

// formulaSigns are the characters that begin a formula, with all characters
// that normalize to them.
const formulaSigns = "=+-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−"

// guard removes control characters and marks of the writing direction, and prevents a
// spreadsheet from reading a text as a formula (CSV injection), by prefixing an apostrophe.
// [Unguarded] removes it, and only that one. Numbers, including phone numbers, stay unchanged.
func (w *Writer) guard(cell string) string {
	cell = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, cell)
	rounded := w.spreadsheet && isNumber(cell) && (cell[0] == '+' || len(cell) >= 12)
	if isFormula(cell) || rounded || Unguarded(cell) != cell {
		return "'" + cell
	}
	return cell
}

// Unguarded returns a cell as it was before [Writer.Write].
func Unguarded(cell string) string {
	if behind := strings.TrimLeft(cell, "'"); behind != cell && (isFormula(behind) || isNumber(behind)) {
		return cell[1:]
	}
	return cell
}

// isFormula examines the first visible character in its normalized form: a full-width sign, or a
// sign after whitespace or zero-width characters, begins a formula too. A hyphen alone is a text.
func isFormula(cell string) bool {
	invisible := func(r rune) bool {
		return r != '\t' && r != '\r' && (unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector))
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(cell, invisible))
	return !isNumber(cell) && cell != "-" && strings.ContainsRune("\t\r"+formulaSigns, first)
}

// isNumber reports whether a spreadsheet reads a cell as a number, with or without a sign.
func isNumber(cell string) bool {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	unsigned := cell
	if strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "-") {
		unsigned = cell[1:]
	}
	whole, fraction, pointed := strings.Cut(unsigned, ".")
	return digits(whole) && (!pointed || digits(fraction))
}
