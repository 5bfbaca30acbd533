package jobrouter

import (
	"strings"
)

// reserialise rewrites a query the way browsers serialize forms: in the same order,
// a space as a plus sign, and everything except letters, digits and *-._ escaped.
// [net/url.Values.Encode] sorts, and escapes differently.
func reserialise(query string) string {
	var b strings.Builder
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		name, value, _ := strings.Cut(pair, "=")
		escapeForm(&b, unescapeForm(name))
		b.WriteByte('=')
		escapeForm(&b, unescapeForm(value))
	}
	return b.String()
}

// plainForm reports whether a query is certainly unchanged by [reserialise]. If it
// is false, the query may or may not change.
func plainForm(query string) bool {
	named := false
	for i := range len(query) {
		switch c := query[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '*', c == '-', c == '.', c == '_', c == '+':
		case c == '=' && !named:
			named = true
		case c == '&' && named:
			named = false
		default:
			return false
		}
	}
	return named
}

// unescapeForm decodes valid escapes and keeps invalid ones as they are. Invalid
// UTF-8 becomes U+FFFD.
func unescapeForm(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			out = append(out, ' ')
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out = append(out, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

func escapeForm(b *strings.Builder, s string) {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("*-._", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}
