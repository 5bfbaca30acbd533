package router

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
)

// fault is the body of an error response.
type fault struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Target  string   `json:"target,omitempty"`
	Details []detail `json:"details,omitempty"`
	Inner   *inner   `json:"innererror,omitempty"`

	status int
	wait   time.Duration
}

type detail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Target  string `json:"target,omitempty"`
}

type inner struct {
	Code string `json:"code"`
}

const (
	// maxDetails is the maximum number of mistakes listed in one response.
	maxDetails = 100
	// retryAfter is the Retry-After of an error that has none of its own.
	retryAfter = 2 * time.Second

	manyMistakes = "One or more validation errors occurred."
)

// faultOf maps an error to its response. The text of an error without a code stays
// private, and causes go only to the log.
func faultOf(err error) fault {
	e, ok := errors.AsType[*weir.Error](err)
	if !ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		e = weir.Errorf(weir.CodeUnavailable, "the store timed out; the request may have been carried out")
	} else if !ok {
		e = weir.Errorf(weir.CodeInternal, "")
	}
	f := fault{Message: e.Message}
	f.status, f.Code = statusOf(e.Code)
	switch f.status {
	case http.StatusInternalServerError:
		f.Message = "internal error; details are in the log under this response's x-ms-request-id"
		return f
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		f.wait = e.RetryAfter
		if f.wait <= 0 {
			f.wait = retryAfter
		}
	case http.StatusUnauthorized:
		for _, m := range e.Fields {
			f.Inner = &inner{Code: m.Code}
			f.Message += ": " + m.Detail
		}
		return f
	case http.StatusBadRequest:
		if len(e.Fields) > 0 {
			f.Message = manyMistakes
		}
		if len(e.Fields) > maxDetails {
			f.Message += " The first " + strconv.Itoa(maxDetails) + " are listed."
		}
	case http.StatusConflict:
		for _, m := range e.Fields {
			f.Message += "\n" + m.Detail // clients read the reasons from the message
		}
	}
	for _, m := range e.Fields[:min(maxDetails, len(e.Fields))] {
		f.Details = append(f.Details, detail{Code: camel(m.Code), Message: sentence(m), Target: m.Pointer})
	}
	return f
}

// statusOf maps an error code to the HTTP status and the API's name for it, which is
// the status in words.
func statusOf(c weir.Code) (int, string) {
	status, ok := map[weir.Code]int{
		weir.CodeInvalid: http.StatusBadRequest, weir.CodeNotFound: http.StatusNotFound, weir.CodeConflict: http.StatusConflict,
		weir.CodePrecondition: http.StatusPreconditionFailed, weir.CodeUnauthorised: http.StatusUnauthorized, weir.CodeForbidden: http.StatusForbidden,
		weir.CodeLimited: http.StatusTooManyRequests, weir.CodeTooLarge: http.StatusRequestEntityTooLarge, weir.CodeMethod: http.StatusMethodNotAllowed,
		weir.CodeContentType: http.StatusUnsupportedMediaType, weir.CodeUnavailable: http.StatusServiceUnavailable, weir.CodeDraining: http.StatusServiceUnavailable,
	}[c]
	if !ok {
		status = http.StatusInternalServerError
	}
	return status, strings.ReplaceAll(http.StatusText(status), " ", "")
}

// sentence puts the field before the detail: some clients show only the message.
func sentence(m weir.FieldError) string {
	if m.Pointer == "" {
		return m.Detail
	}
	return strings.TrimPrefix(m.Pointer, "/") + ": " + m.Detail
}

// camel converts not_found to NotFound.
func camel(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(code, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// invalid returns the error of a request with one mistake.
func invalid(pointer, code, detail string) error {
	return invalidFor([]weir.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// invalidFor returns the error of a request with these mistakes; nil if there are none.
func invalidFor(mistakes []weir.FieldError) error {
	if len(mistakes) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: manyMistakes, Fields: mistakes}
}
