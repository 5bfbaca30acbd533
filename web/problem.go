package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
)

// Problem is the body of every error response (RFC 9457). Code is stable; Title
// and Detail are for people.
type Problem struct {
	Type   string            `json:"type" doc:"always about:blank; see code" example:"about:blank"`
	Title  string            `json:"title" doc:"the name of the HTTP status"`
	Status int               `json:"status" doc:"the HTTP status"`
	Detail string            `json:"detail" doc:"a sentence for people"`
	Code   weir.Code         `json:"code" doc:"stable name of the kind of error" enum:"invalid,not_found,conflict,key_reused,unauthorised,forbidden,too_many_requests,too_large,unsupported_content_type,method_not_allowed,store_unavailable,draining,internal"`
	Errors []weir.FieldError `json:"errors,omitempty" doc:"every mistake in the request, up to 100" nullable:"false"`
}

const (
	problemType = "application/problem+json"
	// mostMistakes is the max number of errors listed in one response.
	mostMistakes = 100
	// retryAfter is the Retry-After of errors that set none.
	retryAfter = 2 * time.Second
)

// statusOf maps error codes to HTTP statuses.
func statusOf(c weir.Code) int {
	switch c {
	case weir.CodeInvalid:
		return http.StatusUnprocessableEntity
	case weir.CodeNotFound:
		return http.StatusNotFound
	case weir.CodeConflict, weir.CodeKeyReused:
		return http.StatusConflict
	case weir.CodeUnauthorised:
		return http.StatusUnauthorized
	case weir.CodeForbidden:
		return http.StatusForbidden
	case weir.CodeLimited:
		return http.StatusTooManyRequests
	case weir.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case weir.CodeContentType:
		return http.StatusUnsupportedMediaType
	case weir.CodeMethod:
		return http.StatusMethodNotAllowed
	case weir.CodeUnavailable, weir.CodeDraining:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// malformed is an error for a body that cannot be decoded: 400, whereas a body
// with invalid content is 422.
type malformed struct{ detail string }

func (m *malformed) Error() string { return m.detail }

// problemOf returns the problem that a client gets for an error, and the time
// after which it may retry. It exposes nothing of an error without a code.
func problemOf(err error) (Problem, time.Duration) {
	p := Problem{Type: "about:blank"}
	var wait time.Duration
	if m, ok := errors.AsType[*malformed](err); ok {
		p.Status, p.Code, p.Detail = http.StatusBadRequest, weir.CodeInvalid, m.detail
	} else if e, ok := errors.AsType[*weir.Error](err); ok {
		p.Status, p.Code, p.Detail, p.Errors, wait = statusOf(e.Code), e.Code, messageOf(e), e.Fields, e.RetryAfter
	} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.Status, p.Code = http.StatusServiceUnavailable, weir.CodeUnavailable
		p.Detail = "the store did not answer in time; it is not known whether the request was carried out"
	} else {
		p.Status, p.Code = http.StatusInternalServerError, weir.CodeInternal
	}
	if p.Status == http.StatusInternalServerError {
		p.Code, p.Errors = weir.CodeInternal, nil
		p.Detail = "something went wrong here; the log has it under this answer's X-Request-Id"
	}
	if p.Status == http.StatusServiceUnavailable && wait <= 0 {
		wait = retryAfter
	}
	if len(p.Errors) > mostMistakes {
		atLeast := ""
		if len(p.Errors) >= weir.MaxMistakes {
			atLeast = "at least "
		}
		p.Detail += fmt.Sprintf(" (%s%d mistakes; the first %d are listed)", atLeast, len(p.Errors), mostMistakes)
		p.Errors = p.Errors[:mostMistakes]
	}
	p.Title = http.StatusText(p.Status)
	return p, wait
}

// messageOf returns the part of an error's message that clients may see. A
// cause wrapped with %w is part of the message, but may quote a query, an
// address or a number.
func messageOf(e *weir.Error) string {
	if e.Cause == nil {
		return e.Message
	}
	cause := e.Cause.Error()
	m := strings.TrimSuffix(strings.TrimSuffix(e.Message, cause), ": ")
	if m == "" || cause != "" && strings.Contains(m, cause) {
		return strings.ReplaceAll(string(e.Code), "_", " ")
	}
	return m
}

// writeProblem writes an error response.
func writeProblem(w http.ResponseWriter, err error) {
	p := problemHead(w, err)
	_ = json.NewEncoder(w).Encode(p) // a disconnected client is not an error
}

// problemHead writes the header of an error response and returns its problem.
func problemHead(w http.ResponseWriter, err error) Problem {
	p, wait := problemOf(err)
	note(w, err)
	h := w.Header()
	h.Set("Content-Type", problemType)
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		challenge := `Bearer realm="weir"`
		if errors.Is(err, errInvalidToken) {
			challenge += `, error="invalid_token"` // RFC 6750
		}
		h.Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(p.Status)
	return p
}

// invalid returns the error of a request with these mistakes; nil if there are
// none.
func invalid(mistakes []weir.FieldError) error {
	if len(mistakes) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "the request has mistakes; nothing was changed", Fields: mistakes}
}
