package weir

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/api"
)

// Code is the stable name of a kind of error, as clients see it.
type Code = api.Code

// The error vocabulary. It is complete.
const (
	CodeInvalid      Code = "invalid"             // a field is invalid; see Fields
	CodeNotFound     Code = "not_found"           // the resource does not exist
	CodeConflict     Code = "conflict"            // the state of the resource does not allow it
	CodeLocked       Code = "locked"              // a user has locked the resource against changes
	CodeKeyReused    Code = "key_reused"          // a key was used before with other content; see Fields
	CodeUnavailable  Code = "store_unavailable"   // the store is down or the outcome of a write is unknown
	CodeDraining     Code = "draining"            // the process is shutting down
	CodePrecondition Code = "precondition_failed" // the version in a condition is not the current one
	CodeInternal     Code = "internal"

	// Codes of requests that fail before their fields are checked.
	CodeUnauthorised Code = "unauthorised"             // no token, or an unknown one
	CodeForbidden    Code = "forbidden"                // the token lacks the scope
	CodeLimited      Code = "too_many_requests"        // the rate limit was exceeded
	CodeTooLarge     Code = "too_large"                // the body is too large
	CodeContentType  Code = "unsupported_content_type" // of the body
	CodeMethod       Code = "method_not_allowed"       // the path exists, but not for this method
)

// Error is an error with a code. Its message is for clients and must hold no
// secret and no phone number; the cause is for the log.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError
	RetryAfter time.Duration
	Cause      error
}

// FieldError is one validation failure of a request, as the API has it.
type FieldError = api.FieldError

// MaxMistakes is the max number of validation failures collected per request.
const MaxMistakes = 5000

// AddMistakes appends validation failures until the list has [MaxMistakes].
func AddMistakes(list []FieldError, more ...FieldError) []FieldError {
	return append(list, more[:min(len(more), max(0, MaxMistakes-len(list)))]...)
}

// maxPrinted is the max number of validation failures that [Error.Error] prints.
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an error with a code and a message for clients. It accepts no
// %w: a cause is for the log alone and belongs in [Error.Cause].
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of an error: internal if it has none, empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrSuperseded is the error of a write of an earlier incarnation, or of a process that no
// longer owns the database. Nothing was written.
var ErrSuperseded = errors.New("another incarnation or process acts now")
