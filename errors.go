package weir

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the stable name of a kind of error, as clients see it.
type Code string

// The error vocabulary. There is no other.
const (
	CodeInvalid      Code = "invalid"             // a field is wrong; see Fields
	CodeNotFound     Code = "not_found"           // no such thing
	CodeConflict     Code = "conflict"            // the thing's state does not allow it
	CodeKeyReused    Code = "key_reused"          // a key is known with other content; see Fields
	CodeUnavailable  Code = "store_unavailable"   // the store is down or the outcome of a write is not known
	CodeDraining     Code = "draining"            // the process is shutting down
	CodePrecondition Code = "precondition_failed" // the version in a condition is not the current one
	CodeInternal     Code = "internal"

	// Of requests that never get as far as a field.
	CodeUnauthorised Code = "unauthorised"             // no token, or one that is not known
	CodeForbidden    Code = "forbidden"                // the token lacks the scope
	CodeLimited      Code = "too_many_requests"        // sooner than the rate limit allows
	CodeTooLarge     Code = "too_large"                // the body
	CodeContentType  Code = "unsupported_content_type" // of the body
	CodeMethod       Code = "method_not_allowed"       // the path exists, not for this method
)

// Error is an error with a code. Its message is for clients and holds no
// secret and no phone number; the cause is for the log.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError
	RetryAfter time.Duration
	Cause      error
}

// FieldError is one mistake in a request.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON pointer of the field, as in RFC 6901
	Code    string `json:"code"`    // stable: required, unknown, type, range, length, format, …
	Detail  string `json:"detail"`  // a sentence
}

// MaxMistakes bounds how many mistakes of one request are collected.
const MaxMistakes = 5000

// AddMistakes appends to a list of mistakes until it has [MaxMistakes].
func AddMistakes(list []FieldError, more ...FieldError) []FieldError {
	return append(list, more[:min(len(more), max(0, MaxMistakes-len(list)))]...)
}

// maxPrinted is how many mistakes [Error.Error] prints.
const maxPrinted = 100

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Code, e.Message)
	for _, f := range e.Fields[:min(len(e.Fields), maxPrinted)] {
		fmt.Fprintf(&b, "; %s: %s", f.Pointer, f.Detail)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error with a code and a message for clients. It takes no %w:
// a cause is for the log alone and goes into [Error.Cause].
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf is the code of an error; internal when it has none, empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrLeaseLost says that a write carried the epoch of a lease that somebody
// else holds by now. Nothing was written.
var ErrLeaseLost = errors.New("the channel's lease is held by another owner")
