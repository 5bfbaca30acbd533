package resource

import (
	"math"
	"unicode/utf8"

	"weir/internal/validation"
	"weir/router/label"

	"weir"
)

// Limits of the API, and Weir's own limits where the API has none.
const (
	MinPriority     = -100
	MaxPriority     = 100
	DefaultPriority = 1

	maxID     = 256       // bytes of an id
	maxItems  = 500       // labels, selectors, queues, channels, notes of one resource
	maxText   = 16 << 10  // bytes of a text
	maxSpec   = 128 << 10 // bytes of a resource as JSON: events repeat it
	maxNumber = 1<<31 - 1 // of an int32
)

// Known reports whether a resource exists.
// It is asked in the same step that applies the command, so that its answer cannot be outdated.
type Known func(kind Kind, id string) bool

// fieldErrors collects the validation errors of a specification.
type fieldErrors struct{ validation.Errors }

// Invalid returns a validation error about one field.
func Invalid(pointer, code, format string, args ...any) error {
	var f fieldErrors
	f.Add(pointer, code, format, args...)
	return f.err()
}

func (f fieldErrors) err() error {
	if len(f.Errors) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "one or more validation errors occurred", Fields: f.Errors}
}

func (f *fieldErrors) id(pointer, id string) { f.required(pointer, id, maxID) }

func (f *fieldErrors) required(pointer, text string, limit int) {
	if text == "" {
		f.Add(pointer, "required", "must not be empty")
	}
	f.text(pointer, text, limit)
}

func (f *fieldErrors) text(pointer, text string, limit int) {
	if len(text) > limit {
		f.Add(pointer, "length", "must have at most %d bytes", limit)
	}
	if !utf8.ValidString(text) {
		f.Add(pointer, "format", "must be valid UTF-8") // otherwise the store would return another text
	}
}

func (f *fieldErrors) between(pointer string, n, low, high int) {
	if n < low || n > high {
		f.Add(pointer, "range", "must be between %d and %d", low, high)
	}
}

func (f *fieldErrors) count(pointer string, n int) { f.between(pointer, n, 0, maxItems) }

func (f *fieldErrors) seconds(pointer string, n float64) {
	if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		f.Add(pointer, "range", "must be 0 or more seconds")
	}
}

func (f *fieldErrors) priority(pointer string, p *int) {
	if p != nil {
		f.between(pointer, *p, MinPriority, MaxPriority)
	}
}

// exists checks a reference to another resource; an empty one is allowed.
func (f *fieldErrors) exists(known Known, pointer string, kind Kind, id string) {
	if id != "" && !known(kind, id) {
		f.Add(pointer, "not_found", "there is no %s %q", kind, id)
	}
}

func (f *fieldErrors) labels(pointer string, l label.Set) {
	f.count(pointer, len(l))
	for k, v := range l {
		f.text(pointer, k, maxID)
		at := pointer + "/" + validation.Token(k)
		f.value(at, v)
		if v.IsZero() {
			f.Add(at, "type", mustBeValue)
		}
	}
}

const mustBeValue = "must be a string, a number or a boolean"

func (f *fieldErrors) value(pointer string, v label.Value) {
	text, _ := v.Text()
	f.text(pointer, text, maxText)
	if !v.Valid() {
		f.Add(pointer, "type", mustBeValue)
	}
}

func (f *fieldErrors) selector(pointer, key string, op label.Operator, v label.Value) {
	f.id(pointer+"/key", key)
	if !op.Valid() {
		f.Add(pointer+"/labelOperator", "unknown", "unknown operator %q", op)
	}
	f.value(pointer+"/value", v)
}
