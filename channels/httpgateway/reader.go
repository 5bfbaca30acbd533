package httpgateway

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
)

// mistakes are what is wrong in a template, collected while it is read.
type mistakes []weir.FieldError

// fail adds a mistake. Reading goes on with a usable value, so that one attempt to store a
// channel shows every mistake of its template.
func (m *mistakes) fail(at, code, format string, args ...any) {
	*m = weir.AddMistakes(*m, weir.FieldError{Pointer: at, Code: code, Detail: fmt.Sprintf(format, args...)})
}

// object is a JSON object of the template and its pointer.
type object struct {
	wrong  *mistakes
	at     string
	fields map[string]any
}

// readObject returns a value as an object with some of the given keys; nil keys: any.
func readObject(wrong *mistakes, v any, at string, keys ...string) object {
	o := object{wrong: wrong, at: at}
	fields, ok := v.(map[string]any)
	if !ok {
		wrong.fail(at, "type", "must be an object")
		return o
	}
	o.fields = fields
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if keys != nil && !slices.Contains(keys, key) {
			wrong.fail(o.under(key), "unknown", "there is no such field; there are %s", strings.Join(keys, ", "))
		}
	}
	return o
}

// object returns a field that is an object with some of the given keys; ok is false if it
// is absent.
func (o object) object(key string, keys ...string) (_ object, ok bool) {
	if !o.has(key) {
		return object{}, false
	}
	return readObject(o.wrong, o.fields[key], o.under(key), keys...), true
}

// under returns the pointer of a field.
func (o object) under(key string) string { return o.at + "/" + channels.Escape(key) }

func (o object) has(key string) bool { _, ok := o.fields[key]; return ok }

// keys returns the names of all fields, in order.
func (o object) keys() []string { return slices.Sorted(maps.Keys(o.fields)) }

// text returns a text field; empty if it is absent.
func (o object) text(key string) string {
	v, ok := o.fields[key]
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText || s == "" {
		o.wrong.fail(o.under(key), "type", "must be a text that is not empty")
	}
	return s
}

// choice returns a text field that has to be one of a few; the first one if it is absent.
func (o object) choice(key string, allowed ...string) string {
	if !o.has(key) {
		return allowed[0]
	}
	s := o.text(key)
	if s != "" && !slices.Contains(allowed, s) {
		o.wrong.fail(o.under(key), "value", "must be one of %s", strings.Join(allowed, ", "))
	}
	return s
}

// need reports a field that is absent.
// need says nothing about something that is no object: that was reported already.
func (o object) need(key, why string) {
	if o.fields != nil && !o.has(key) {
		o.wrong.fail(o.under(key), "required", "%s", why)
	}
}

// list returns a list field; nil if it is absent.
func (o object) list(key string) []any {
	v, ok := o.fields[key]
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		o.wrong.fail(o.under(key), "type", "must be a list")
	}
	return list
}

// pointer returns a field that holds a JSON pointer.
func (o object) pointer(key string) pointer {
	if !o.has(key) {
		return nil
	}
	s, _ := o.fields[key].(string)
	p, ok := parsePointer(s)
	if !ok {
		o.wrong.fail(o.under(key), "format", "must be a JSON pointer (RFC 6901) that begins with /, such as /messages/0/id")
	}
	return p
}

// pointer is a parsed JSON pointer, without the empty one.
type pointer []string

// The empty pointer, the whole document, is not accepted: a nil pointer means that the template
// has none.
func parsePointer(s string) (pointer, bool) {
	if !strings.HasPrefix(s, "/") {
		return nil, false
	}
	tokens := strings.Split(s[1:], "/")
	for i, t := range tokens {
		// In this order, as RFC 6901 has it: ~01 stands for ~1, not for a slash.
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, true
}

// find returns the value that a pointer leads to.
func (p pointer) find(v any) (any, bool) {
	for _, step := range p {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			// RFC 6901 allows no sign and no leading zero in an index.
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) || strconv.Itoa(i) != step {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// text returns a scalar that a pointer leads to as text; empty if there is none.
func (p pointer) text(v any) string {
	if p == nil {
		return ""
	}
	found, _ := p.find(v)
	return scalar(found)
}

// scalar writes a text, number or boolean of JSON as text; anything else is empty.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case interface{ String() string }: // json.Number
		return v.String()
	}
	return ""
}
