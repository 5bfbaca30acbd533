package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/internal/plainjson"
	"weir/internal/validation"
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
}

// below returns the pointer to a member of the value at another pointer.
func below(at, name string) string { return at + "/" + validation.Escape(name) }

func (in *reading) wrong(at, code, format string, args ...any) {
	if len(in.mistakes) <= maxDetails {
		in.mistakes = append(in.mistakes, weir.FieldError{Pointer: at, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

// typed returns a value of a type, or adds a mistake that says what it must be.
func typed[T any](in *reading, at string, v any, what string) (T, bool) {
	t, ok := v.(T)
	if !ok {
		in.wrong(at, "type", "must be %s", what)
	}
	return t, ok
}

// decode reads a body as an object.
func (o object) decode(body []byte, in *reading) (map[string]any, error) {
	v, err := parse(body)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("", "type", "the body must be an object")
	}
	out := o.read(in, "", m)
	return out, invalidFor(in.mistakes)
}

func (o object) read(in *reading, at string, m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		member, known := o[name]
		here := below(at, name)
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
	if m, ok := typed[map[string]any](in, at, v, "an object"); ok {
		return o.read(in, at, m)
	}
	return nil
}

// form implements [form] for objects of several kinds. In a patch, a stated kind
// removes the members that only other kinds have.
func (k kinds) form(in *reading, at string, v any) any {
	m, ok := typed[map[string]any](in, at, v, "an object")
	if !ok {
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
		items, ok := typed[[]any](in, at, v, "an array")
		if !ok {
			return nil
		}
		in.whole++
		defer func() { in.whole-- }()
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = of(in, below(at, strconv.Itoa(i)), item)
		}
		return out
	}
}

// labels accepts an object with any keys and primitive values.
func labels(in *reading, at string, v any) any {
	m, ok := typed[map[string]any](in, at, v, "an object")
	if !ok {
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
		out[key] = primitive(in, below(at, key), v)
	}
	return out
}

func primitive(in *reading, at string, v any) any {
	switch v.(type) {
	case string, bool:
		return v
	case json.Number:
		return number(in, at, v)
	}
	in.wrong(at, "type", "must be a string, a number or a boolean")
	return v
}

func text(in *reading, at string, v any) any {
	typed[string](in, at, v, "a string")
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
	typed[bool](in, at, v, "true or false")
	return v
}

func number(in *reading, at string, v any) any {
	n, ok := weir.ExactNumber(v)
	if !ok {
		in.wrong(at, "type", "must be a number of at most 15 digits")
	}
	return n
}

// integer accepts a 32-bit number without a fraction, of at least least.
func integer(least int) form {
	return func(in *reading, at string, v any) any {
		f, ok := weir.ExactNumber(v)
		switch {
		case !ok || f != math.Trunc(f):
			in.wrong(at, "type", "must be a whole number")
		case f < float64(least) || f > math.MaxInt32:
			in.wrong(at, "range", "between %d and %d", least, math.MaxInt32)
		}
		return f
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

// parse reads JSON and rejects input that decoding would silently alter.
func parse(body []byte) (any, error) {
	v, err := plainjson.Parse(body)
	if errors.Is(err, plainjson.ErrTooMany) {
		return nil, weir.Errorf(weir.CodeTooLarge, "%v", err)
	}
	if err != nil {
		return nil, weir.Errorf(weir.CodeInvalid, "%v", err)
	}
	return v, nil
}
