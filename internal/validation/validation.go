// Package validation collects the validation failures of a request, with JSON
// pointers to the fields.
package validation

import (
	"fmt"
	"slices"
	"strings"

	"weir"
)

// Errors is a list of validation failures, at most [weir.MaxMistakes]. Pointers
// are relative to the part that is checked; AddPart prefixes them.
type Errors []weir.FieldError

// Add adds a failure.
func (e *Errors) Add(pointer, code, format string, args ...any) {
	if len(*e) < weir.MaxMistakes {
		*e = append(*e, weir.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

// Append adds failures.
func (e *Errors) Append(more ...weir.FieldError) { *e = weir.AddMistakes(*e, more...) }

// AddPart adds the failures of a part.
func (e *Errors) AddPart(pointer string, part []weir.FieldError) {
	for _, f := range part {
		f.Pointer = pointer + f.Pointer
		e.Append(f)
	}
}

// Without returns the mistakes, except those of fields of which one is known already.
func Without(mistakes, known []weir.FieldError) []weir.FieldError {
	pointers := map[string]bool{}
	for _, e := range known {
		pointers[e.Pointer] = true
	}
	return slices.DeleteFunc(mistakes, func(e weir.FieldError) bool { return pointers[e.Pointer] })
}

// Token escapes a key from a client, clipped, for a JSON pointer.
func Token(key string) string { return Escape(Clip(key)) }

// Escape escapes a key for a JSON pointer (RFC 6901).
func Escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// Clip bounds the length of untrusted text in an error message.
func Clip(s string) string {
	const maxBytes = 64
	if len(s) > maxBytes {
		return strings.ToValidUTF8(s[:maxBytes], "") + "…"
	}
	return s
}
