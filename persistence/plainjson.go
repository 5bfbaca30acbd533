package persistence

import "bytes"

// deepest is how far plain JSON is followed into itself.
const deepest = 50

// skipValue gives where the JSON value ends that begins at i, or -1 unless it is
// valid and has the form in which encoding/json leaves a raw message: without
// whitespace, and without characters that it would escape for HTML.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) || depth > deepest {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipItems(b, i, '}', depth)
	case c == '[':
		return skipItems(b, i, ']', depth)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

// skipItems skips an object or an array.
func skipItems(b []byte, i int, end byte, depth int) int {
	if i++; i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i = skipString(b, i); i < 0 || i >= len(b) || b[i] != ':' {
				return -1
			}
			i++
		}
		if i = skipValue(b, i, depth+1); i < 0 || i >= len(b) {
			return -1
		}
		switch b[i] {
		case end:
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func skipWord(b []byte, i int, word string) int {
	if bytes.HasPrefix(b[i:], []byte(word)) {
		return i + len(word)
	}
	return -1
}

func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n := skipEscape(b[i+1:])
			if n < 0 {
				return -1
			}
			i += n
		case c < ' ' || c == '<' || c == '>' || c == '&':
			return -1
		case c == 0xe2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2]&^1 == 0xa8: // U+2028, U+2029
			return -1
		}
	}
	return -1
}

// skipEscape gives how long an escape is, without its backslash.
func skipEscape(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return -1
		}
		for _, c := range b[1:5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return -1
			}
		}
		return 5
	}
	return -1
}

func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = skipDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		i = skipDigits(b, i)
	}
	return i
}

// skipDigits skips digits: one at least.
func skipDigits(b []byte, i int) int {
	from := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
