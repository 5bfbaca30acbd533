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
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// cells returns the number of cells that a character takes.
func cells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case wide(r):
		return 2
	default:
		return 1
	}
}

// wide reports whether terminals draw a character over two cells: East Asian
// characters and emoji.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0x303e || r >= 0x3041 && r <= 0xa4cf ||
		r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
		r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1f64f ||
		r >= 0x1f680 && r <= 0x1f6ff || r >= 0x1f900 && r <= 0x1f9ff || r >= 0x20000 && r <= 0x3fffd)
}

// Cut shortens visible text to a width in cells, and ends it with "…" if it did.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i, r := range text {
		if n += cells(r); n > width-1 {
			return text[:i] + "…"
		}
	}
	return text
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

// Clip cuts a line, which may have styles, to a width in cells.
func Clip(line string, width int) string {
	n, styled := 0, false
	for i := 0; i < len(line); {
		if rest := line[i:]; strings.HasPrefix(rest, "\x1b[") {
			if end := strings.IndexByte(rest, 'm'); end >= 0 {
				styled, i = true, i+end+1
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if n += cells(r); n > width {
			if styled {
				return line[:i] + "\x1b[0m"
			}
			return line[:i]
		}
		i += size
	}
	return line
}
