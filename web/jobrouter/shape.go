package jobrouter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"weir"
	"weir/internal/plainjson"
)

// form checks one JSON value, which is at a JSON pointer, and converts it to the
// engine's form. The result is meaningless if the value has a mistake.
type form func(in *reading, at string, v any) any

// object has a form for each member. A nil form marks a read-only member: it is
// ignored, because clients send whole resources back.
type object map[string]form

// kinds maps each value of the member kind to its object.
type kinds map[string]object

// reading collects the mistakes of one body.
type reading struct {
	mistakes []weir.FieldError
	// whole is above 0 inside arrays and in actions, where null means absent;
	// elsewhere null means remove.
	whole int
	// redacted reports that the body contains a redacted credential.
	redacted bool
	// brief skips pointers and messages and only sets flawed: few bodies have a
	// mistake, and tracking pointers costs more than all the other checks.
	brief, flawed bool
}

// below returns the pointer to a member of the value at another pointer.
func (in *reading) below(at, name string) string {
	if in.brief {
		return ""
	}
	return at + "/" + escapePointer(name)
}

func (in *reading) wrong(at, code, format string, args ...any) {
	if in.brief {
		in.flawed = true
	} else if len(in.mistakes) <= maxDetails {
		in.mistakes = append(in.mistakes, weir.FieldError{Pointer: at, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

func (in *reading) err() error {
	if len(in.mistakes) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: manyMistakes, Fields: in.mistakes}
}

// decode reads a body as an object. A body with mistakes is checked again to
// collect them.
func (o object) decode(body []byte, in *reading) (map[string]any, error) {
	v, err := parse(body)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("", "type", "the body must be an object")
	}
	brief := reading{whole: in.whole, brief: true}
	out := o.read(&brief, "", m)
	in.redacted = brief.redacted
	if brief.flawed {
		o.read(in, "", m)
	}
	return out, in.err()
}

func (o object) read(in *reading, at string, m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		member, known := o[name]
		here := in.below(at, name)
		switch {
		case !known:
			in.wrong(here, "unknown", "unknown member")
		case member == nil:
		case v == nil && in.whole > 0:
		case v == nil:
			out[name] = nil
		default:
			out[name] = member(in, here, v)
		}
	}
	return out
}

// form implements [form] for an object.
func (o object) form(in *reading, at string, v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		in.wrong(at, "type", "must be an object")
		return nil
	}
	return o.read(in, at, m)
}

// form implements [form] for objects of several kinds. In a patch, a stated kind
// removes the members that only other kinds have.
func (k kinds) form(in *reading, at string, v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		in.wrong(at, "type", "must be an object")
		return nil
	}
	all := object{"kind": text}
	for _, o := range k {
		for name, member := range o {
			all[name] = member
		}
	}
	kind, stated := m["kind"].(string)
	if !stated {
		return all.read(in, at, m)
	}
	o, known := k[kind]
	if !known {
		in.wrong(at+"/kind", "unknown", "unknown kind %q", kind)
		return nil
	}
	own := object{"kind": text}
	for name, member := range o {
		own[name] = member
	}
	out := own.read(in, at, m)
	for name := range all {
		if _, ours := own[name]; !ours && in.whole == 0 {
			out[name] = nil
		}
	}
	return out
}

func list(of form) form {
	return func(in *reading, at string, v any) any {
		items, ok := v.([]any)
		if !ok {
			in.wrong(at, "type", "must be an array")
			return nil
		}
		in.whole++
		defer func() { in.whole-- }()
		out := make([]any, len(items))
		for i, item := range items {
			here := ""
			if !in.brief {
				here = in.below(at, strconv.Itoa(i))
			}
			out[i] = of(in, here, item)
		}
		return out
	}
}

// labels accepts an object with any keys and primitive values.
func labels(in *reading, at string, v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		in.wrong(at, "type", "must be an object")
		return nil
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		if v == nil {
			if in.whole == 0 {
				out[key] = nil
			}
			continue
		}
		out[key] = primitive(in, in.below(at, key), v)
	}
	return out
}

func primitive(in *reading, at string, v any) any {
	switch v.(type) {
	case string, float64, bool:
	default:
		in.wrong(at, "type", "must be a string, a number or a boolean")
	}
	return v
}

func text(in *reading, at string, v any) any {
	if _, ok := v.(string); !ok {
		in.wrong(at, "type", "must be a string")
	}
	return v
}

// short accepts a string that an action copies into a job, up to 16 KiB. The engine
// enforces the same limit on resources.
func short(in *reading, at string, v any) any {
	const most = 16 << 10
	if s, ok := v.(string); ok && len(s) > most {
		in.wrong(at, "length", "at most %d bytes", most)
	}
	return text(in, at, v)
}

func boolean(in *reading, at string, v any) any {
	if _, ok := v.(bool); !ok {
		in.wrong(at, "type", "must be true or false")
	}
	return v
}

func number(in *reading, at string, v any) any {
	if _, ok := v.(float64); !ok {
		in.wrong(at, "type", "must be a number")
	}
	return v
}

// integer accepts a 32-bit number without a fraction, of at least least.
func integer(least int) form {
	return func(in *reading, at string, v any) any {
		f, ok := v.(float64)
		switch {
		case !ok || f != math.Trunc(f):
			in.wrong(at, "type", "must be a whole number")
		case f < float64(least) || f > math.MaxInt32:
			in.wrong(at, "range", "between %d and %d", least, math.MaxInt32)
		}
		return v
	}
}

func oneOf(words ...string) form {
	return func(in *reading, at string, v any) any {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			in.wrong(at, "unknown", "must be one of %s", strings.Join(words, ", "))
		}
		return v
	}
}

func date(in *reading, at string, v any) any {
	s, _ := v.(string)
	t, code, detail := weir.ParseInstant(s)
	if code != "" {
		in.wrong(at, code, "%s", detail)
		return v
	}
	return t.Format(time.RFC3339Nano)
}

func escapePointer(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// parse reads JSON and rejects input that decoding would silently alter.
func parse(body []byte) (any, error) {
	if !utf8.Valid(body) || halfCharacters(body) {
		return nil, weir.Errorf(weir.CodeInvalid, "the body is not UTF-8, or has half of a character")
	}
	if plainjson.TooMany(body) {
		return nil, weir.Errorf(weir.CodeTooLarge, "the body has more than %d objects and arrays or more than %d values", plainjson.MaxContainers, plainjson.MaxValues)
	}
	if v, ok := plainjson.Value(body); ok {
		return v, nil
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, weir.Errorf(weir.CodeInvalid, "the body is not JSON: byte %d: %s", s.Offset, s.Error())
		}
		return nil, weir.Errorf(weir.CodeInvalid, "the body is not JSON, or has a number that is too large")
	}
	return v, nil
}

// halfCharacters reports whether body escapes a surrogate without its other half.
// It would be decoded as U+FFFD, so that two keys could become one.
func halfCharacters(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return false
		}
		body = body[i:]
		unit, ok := escapedUnit(body)
		switch {
		case !ok:
			body = body[min(2, len(body)):]
		case utf16.IsSurrogate(unit):
			low, _ := escapedUnit(body[6:])
			if utf16.DecodeRune(unit, low) == utf8.RuneError {
				return true
			}
			body = body[12:]
		default:
			body = body[6:]
		}
	}
}

// escapedUnit decodes an escape such as \u00e9 at the beginning of b.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n := rune(0)
	for _, c := range b[2:6] {
		if !isHex(c) {
			return 0, false
		}
		n = n<<4 | rune(unhex(c))
	}
	return n, true
}
