// Package terminal formats output for terminals: tables that fit, optional
// colors, and untrusted text.
//
// # Invariants
//
//   - Text returned by [Visible] never moves the cursor and never changes a color
//     or the direction of writing: unprintable characters are escaped.
//   - Widths are counted in cells of the screen, not in bytes or characters.
//   - Results depend on the arguments only.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Visible returns text with every unprintable character escaped as in Go: control
// characters, marks that change the direction of writing, and bytes that are not
// UTF-8.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0]), 16))
		case hidden(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// VisibleLines is [Visible] for text of several lines.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Visible(line)
	}
	return strings.Join(lines, "\n")
}

// Width returns the number of cells that visible text takes.
func Width(text string) int { return displaywidth.String(text) }

// Cut shortens visible text to a width in cells, and ends it with "…" if it did.
func Cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Left cuts or pads visible text to a width, left-aligned.
func Left(text string, width int) string {
	text = Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Right cuts or pads visible text to a width, right-aligned.
func Right(text string, width int) string {
	text = Cut(text, width)
	return strings.Repeat(" ", max(0, width-Width(text))) + text
}

// Bar draws n of all as a bar of width cells; if n is positive, at least one cell
// is filled.
func Bar(n, all int64, width int) string {
	full := 0
	switch {
	case all <= 0:
		full = width
	case n > 0:
		full = min(width, max(1, int(float64(n)/float64(all)*float64(width))))
	}
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}

// Style is the appearance of a text.
type Style int

// The styles.
const (
	Plain Style = iota
	Good
	Warning
	Bad
	Faint
	Strong
	Reverse
)

// Paint applies the style to a text, if colors is set.
func (s Style) Paint(text string, colors bool) string {
	if !colors || s == Plain || text == "" {
		return text
	}
	code := map[Style]string{Good: "32", Warning: "33", Bad: "31", Faint: "2", Strong: "1", Reverse: "7"}[s]
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Clip cuts a line, which may have styles, to a width in cells. Styles after that are kept, so that they end.
func Clip(line string, width int) string {
	return displaywidth.Options{ControlSequences: true}.TruncateString(line, width, "")
}
