package kannel

import (
	"strings"
	"unicode/utf16"

	"weir/channels/provider"
	"weir/internal/segments"
)

// The values of Kannel's parameter coding.
const (
	codingGSM  = "0"
	codingUCS2 = "2"
)

// encode returns a text as Kannel takes it without naming a character set, which
// some builds refuse: UTF-8 if the GSM alphabet holds all of it, UTF-16BE
// otherwise.
func encode(s string) (body []byte, coding string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if segments.Count(s).Encoding == segments.GSM7 {
		return []byte(s), codingGSM
	}
	return provider.UTF16BE(s), codingUCS2
}

// decode returns the text of a person's message from its bytes, with the parameters
// coding and charset that Kannel reports.
func decode(raw, coding, charset string) string {
	switch {
	case coding == codingUCS2 || strings.EqualFold(charset, "UTF-16BE"):
		return fromUTF16BE(raw)
	case strings.EqualFold(charset, "ISO-8859-1"):
		out := make([]rune, len(raw))
		for i := range len(raw) {
			out[i] = rune(raw[i])
		}
		return string(out)
	}
	return strings.ToValidUTF8(raw, "\uFFFD")
}

// fromUTF16BE decodes whole units; an odd byte at the end becomes a replacement
// character.
func fromUTF16BE(raw string) string {
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	s := string(utf16.Decode(units))
	if len(raw)%2 != 0 {
		s += "\uFFFD"
	}
	return s
}
