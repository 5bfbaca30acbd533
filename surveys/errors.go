package surveys

import (
	"fmt"
	"strings"

	"weir"
)

// fieldErrors collects the validation failures of a definition. Pointers are
// relative to the part that is checked; in prefixes them with a parent pointer.
type fieldErrors []weir.FieldError

func (m *fieldErrors) add(pointer, code, format string, args ...any) {
	if len(*m) < weir.MaxMistakes {
		*m = append(*m, weir.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

// in adds the validation failures of a part.
func (m *fieldErrors) in(pointer string, part []weir.FieldError) {
	for _, f := range part {
		f.Pointer = pointer + f.Pointer
		*m = weir.AddMistakes(*m, f)
	}
}

// token escapes a key for a JSON pointer (RFC 6901).
func token(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(clip(key), "~", "~0"), "/", "~1")
}

// clip bounds the length of foreign text in an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Invalid returns one error for the validation failures of a definition; nil if
// there are none.
func Invalid(fields []weir.FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "the survey cannot be run as it is described", Fields: fields}
}
