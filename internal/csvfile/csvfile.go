// Package csvfile writes every CSV file of Weir, so that no cell of one is a formula of a
// spreadsheet, commands a terminal or turns the text around it.
package csvfile

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer writes rows whose cells are guarded. It keeps the first error until Flush.
type Writer struct {
	out   *csv.Writer
	plain *regexp.Regexp // what a spreadsheet reads as a number, with or without a sign
}

// NewWriter returns a writer of rows with a separator.
func NewWriter(to io.Writer, separator rune) *Writer {
	w := &Writer{out: csv.NewWriter(to), plain: regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)}
	w.out.Comma = separator
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
// spreadsheet from reading a text as a formula (CSV injection), by prefixing an apostrophe. It
// examines the first visible character in its normalized form: a full-width sign, or a sign after
// whitespace or zero-width characters, begins a formula too. Numbers, including phone numbers, stay
// unchanged.
func (w *Writer) guard(cell string) string {
	cell = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, cell)
	invisible := func(r rune) bool {
		return r != '\t' && r != '\r' && (unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector))
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(cell, invisible))
	if !w.plain.MatchString(cell) && strings.ContainsRune("\t\r"+formulaSigns, first) {
		return "'" + cell
	}
	return cell
}
