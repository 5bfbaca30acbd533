// Package validation collects the validation failures of a request, with JSON
// pointers to the fields.
package validation

import (
	"fmt"
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

// AddPart adds the failures of a part.
func (e *Errors) AddPart(pointer string, part []weir.FieldError) {
	for _, f := range part {
		f.Pointer = pointer + f.Pointer
		*e = weir.AddMistakes(*e, f)
	}
}

// Token escapes a key for a JSON pointer (RFC 6901).
func Token(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Clip(key), "~", "~0"), "/", "~1")
}

// Clip bounds the length of untrusted text in an error message.
func Clip(s string) string {
	const maxBytes = 64
	if len(s) > maxBytes {
		return strings.ToValidUTF8(s[:maxBytes], "") + "…"
	}
	return s
}
