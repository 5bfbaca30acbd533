// Package plainjson writes and reads JSON texts of very frequent kinds. It writes
// what encoding/json writes, byte for byte; it reads what encoding/json reads, and
// leaves everything that it does not support to that package.
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

// Parse reads the JSON text of a request body: objects as map[string]any, numbers as
// float64. It rejects texts that decoding would silently change, and those with more
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
	if v, ok := Value(raw); ok {
		return v, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("the body is not JSON: byte %d: %s", s.Offset, s.Error())
		}
		return nil, errors.New("the body is not JSON, or has a number that is too large")
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

// Bounds of the texts that are read here.
const (
	// encoding/json allows 10,000 levels; deeper texts than these are left to it.
	maxDepth = 50 // max nesting of objects and arrays
	maxNames = 16 // max remembered member names
)

// Value parses a JSON text as encoding/json does into an any: objects as
// map[string]any, numbers as float64. ok is false for every text that it does not
// support, valid or not; encoding/json then parses it or returns the error.
func Value(raw []byte) (v any, ok bool) {
	r := reader{raw: raw}
	if v, ok = r.value(0); !ok {
		return nil, false
	}
	r.space()
	return v, r.at == len(raw)
}

type reader struct {
	raw   []byte
	at    int
	names [maxNames]string // of members: in a long list the same ones recur
	known int              // how many of them are set
}

// space skips white space and returns the next byte; 0 at the end.
func (r *reader) space() byte {
	for ; r.at < len(r.raw); r.at++ {
		switch c := r.raw[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) value(depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch c := r.space(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		raw, plain, ok := r.text()
		if !ok {
			return nil, false
		}
		return decoded(raw, plain)
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	default:
		return r.number()
	}
}

func (r *reader) word(w string) bool {
	if len(r.raw)-r.at < len(w) || string(r.raw[r.at:r.at+len(w)]) != w {
		return false
	}
	r.at += len(w)
	return true
}

// next consumes the separator after a member or an element: a comma, or the end.
func (r *reader) next(end byte) (more, ok bool) {
	switch r.space() {
	case ',':
		r.at++
		return true, true
	case end:
		r.at++
		return false, true
	}
	return false, false
}

func (r *reader) object(depth int) (any, bool) {
	r.at++
	o := map[string]any{}
	if r.space() == '}' {
		r.at++
		return o, true
	}
	for {
		if r.space() != '"' {
			return nil, false
		}
		raw, plain, ok := r.text()
		// A name with an escape is left to encoding/json.
		if !ok || !plain || r.space() != ':' {
			return nil, false
		}
		name := r.name(raw[1 : len(raw)-1])
		r.at++
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		o[name] = v
		if more, ok := r.next('}'); !more {
			return o, ok
		}
	}
}

// name returns a member's name, without a copy if the same name came before.
func (r *reader) name(raw []byte) string {
	for _, n := range r.names[:r.known] {
		if n == string(raw) {
			return n
		}
	}
	n := string(raw)
	if r.known < maxNames {
		r.names[r.known] = n
		r.known++
	}
	return n
}

func (r *reader) array(depth int) (any, bool) {
	r.at++
	a := []any{}
	if r.space() == ']' {
		r.at++
		return a, true
	}
	for {
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		a = append(a, v)
		if more, ok := r.next(']'); !more {
			return a, ok
		}
	}
}

// text finds the end of a string. plain means that it has no escapes.
func (r *reader) text() (raw []byte, plain, ok bool) {
	begin, ascii := r.at, true
	plain = true
	for i := begin + 1; i < len(r.raw); i++ {
		switch c := r.raw[i]; {
		case c == '"':
			r.at = i + 1
			raw = r.raw[begin:r.at]
			// encoding/json replaces invalid bytes, so that such a text is left to it.
			return raw, plain, ascii || utf8.Valid(raw)
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false, false
}

func decoded(raw []byte, plain bool) (any, bool) {
	if plain {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	return s, true
}

// number parses a number by the grammar of JSON.
func (r *reader) number() (any, bool) {
	begin := r.at
	if r.here() == '-' {
		r.at++
	}
	if r.here() == '0' {
		r.at++
	} else if !r.digits() {
		return nil, false
	}
	if r.here() == '.' {
		r.at++
		if !r.digits() {
			return nil, false
		}
	}
	if c := r.here(); c == 'e' || c == 'E' {
		r.at++
		if c := r.here(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return nil, false
		}
	}
	// The grammar was checked first, because ParseFloat also takes Inf, hexadecimal digits and
	// underscores.
	f, err := strconv.ParseFloat(string(r.raw[begin:r.at]), 64)
	return f, err == nil
}

// here returns the next byte; 0 at the end.
func (r *reader) here() byte {
	if r.at == len(r.raw) {
		return 0
	}
	return r.raw[r.at]
}

// digits skips digits and reports whether there was one.
func (r *reader) digits() bool {
	begin := r.at
	for c := r.here(); c >= '0' && c <= '9'; c = r.here() {
		r.at++
	}
	return r.at > begin
}
