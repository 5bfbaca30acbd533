// Package plainjson writes JSON texts of very frequent kinds as encoding/json writes them, byte
// for byte, and reads the bodies of requests within bounds.
package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends a JSON string.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// Bounds of a body. An object takes up to 350 bytes of memory for 2 bytes of text, a
// value up to 100. The largest valid body has 1,000 objects with 100 members.
const (
	MaxContainers = 20_000  // objects and arrays
	MaxValues     = 150_000 // members and elements
)

// TooMany reports whether a JSON text has more than [MaxContainers] objects and
// arrays or more than [MaxValues] values, so that it should not be parsed.
func TooMany(raw []byte) bool {
	count := func(c string) int { return bytes.Count(raw, []byte(c)) }
	if count("{")+count("[") <= MaxContainers && count(",") < MaxValues {
		return false
	}
	containers, commas := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"': // skip to the end of the string
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			containers++
		case ',':
			commas++
		}
	}
	return containers > MaxContainers || commas >= MaxValues
}

// ErrTooMany is the error of a text that has more values than [Parse] accepts.
var ErrTooMany = fmt.Errorf("the body has more than %d objects and arrays or more than %d values", MaxContainers, MaxValues)

// Unmarshal is json.Unmarshal with numbers as [json.Number] where the type is not given: a
// float64 would change their digits.
func Unmarshal(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(v) == nil && len(bytes.TrimLeft(raw[d.InputOffset():], " \t\r\n")) == 0 {
		return nil
	}
	return json.Unmarshal(raw, v) // whose errors have the place
}

// Parse reads the JSON text of a request body: objects as map[string]any, numbers as
// [json.Number]. It rejects texts that decoding would silently change, and those with more
// than [MaxContainers] or [MaxValues]. Its errors do not repeat the text.
func Parse(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	if !validSurrogates(raw) {
		return nil, errors.New("the body has half of a character: a \\u escape of a surrogate without its other half")
	}
	if TooMany(raw) {
		return nil, ErrTooMany
	}
	var v any
	if err := Unmarshal(raw, &v); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("the body is not JSON: byte %d: %s", s.Offset, s.Error())
		}
		return nil, errors.New("the body is not JSON")
	}
	return v, nil
}

// validSurrogates reports whether no \u escape is an unpaired surrogate. The
// decoder would read one as U+FFFD: two different keys could become one, and a
// text could change.
func validSurrogates(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return true
		}
		raw = raw[i:]
		unit, ok := escapedUnit(raw)
		switch {
		case !ok: // another escape, or invalid: left to the decoder
			raw = raw[min(2, len(raw)):]
		case utf16.IsSurrogate(unit):
			low, _ := escapedUnit(raw[6:])
			if utf16.DecodeRune(unit, low) == utf8.RuneError {
				return false
			}
			raw = raw[12:]
		default:
			raw = raw[6:]
		}
	}
}

// escapedUnit reads an escape like \u00e9 at the start of b.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
