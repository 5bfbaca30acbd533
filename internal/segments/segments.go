// Package segments counts the segments of a text message: what networks send,
// pace and bill by. A text that fits the GSM 7-bit alphabet has 160 characters in
// one segment, any other 70; segments of a longer text carry a header of 6 bytes,
// which leaves 153 and 67. National shift tables (3GPP TS 23.038, annex A) are not
// assumed: few gateways use them, so one ê turns a text into UCS-2.
package segments

import (
	"strings"
	"unicode/utf16"
)

// Encoding is how a text is sent.
type Encoding int

// The encodings.
const (
	GSM7 Encoding = iota // septets
	UCS2                 // UTF-16 code units
)

// Size is the size of a text as it is sent.
type Size struct {
	Encoding Encoding
	Units    int // septets or code units, without headers
	Segments int // 1 or more
}

// Count returns the size of a text. Characters of two units are not split
// between segments.
func Count(text string) Size {
	if septets, ok := count(text, 160, 153, septetsOf); ok {
		septets.Encoding = GSM7
		return septets
	}
	units, _ := count(text, 70, 67, unitsOf)
	units.Encoding = UCS2
	return units
}

// Total returns the segments of several texts.
func Total(texts []string) int {
	n := 0
	for _, text := range texts {
		n += Count(text).Segments
	}
	return n
}

// count packs characters into segments: one of up to single units, or several of
// up to each. ok is false if a character has no code.
func count(text string, single, each int, widthOf func(rune) int) (s Size, ok bool) {
	left := each
	s.Segments = 1
	for _, r := range text {
		width := widthOf(r)
		if width == 0 {
			return Size{}, false
		}
		if width > left {
			s.Segments++
			left = each
		}
		left -= width
		s.Units += width
	}
	if s.Units <= single {
		s.Segments = 1
	}
	return s, true
}

// The non-ASCII characters of the GSM 7-bit alphabet, and the extension table,
// whose characters take an escape and a septet.
const (
	alphabet  = "£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà"
	extension = "^{}\\[~]|€\f"
)

// septetsOf returns the septets of a character; 0: it is not in the alphabet.
func septetsOf(r rune) int {
	switch {
	case r >= 'a' && r <= 'z', r == ' ': // most characters
		return 1
	case strings.ContainsRune(extension, r):
		return 2
	case r > ' ' && r < 0x7f && r != '`', r == '\n', r == '\r', r > 0x7f && strings.ContainsRune(alphabet, r):
		return 1
	}
	return 0
}

func unitsOf(r rune) int { return max(1, utf16.RuneLen(r)) }
