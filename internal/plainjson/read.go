package plainjson

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Bounds of the texts that are read here.
const (
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
