package httpjson

import (
	"cmp"
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
	"weir/api"
)

const (
	ProblemType = "application/problem+json"
	// maxListed is the max number of errors listed in one response.
	maxListed = 100
	// RetryAfter is the Retry-After of errors that set none.
	RetryAfter = 2 * time.Second
)

// ErrInvalidToken is the cause of a refusal due to an invalid token.
var ErrInvalidToken = errors.New("invalid token")

// StatusOf maps error codes to HTTP statuses.
func StatusOf(c weir.Code) int {
	return cmp.Or(map[weir.Code]int{
		weir.CodeInvalid:      http.StatusUnprocessableEntity,
		weir.CodeNotFound:     http.StatusNotFound,
		weir.CodeConflict:     http.StatusConflict,
		weir.CodeLocked:       http.StatusConflict,
		weir.CodeKeyReused:    http.StatusConflict,
		weir.CodePrecondition: http.StatusPreconditionFailed,
		weir.CodeUnauthorised: http.StatusUnauthorized,
		weir.CodeForbidden:    http.StatusForbidden,
		weir.CodeLimited:      http.StatusTooManyRequests,
		weir.CodeTooLarge:     http.StatusRequestEntityTooLarge,
		weir.CodeContentType:  http.StatusUnsupportedMediaType,
		weir.CodeMethod:       http.StatusMethodNotAllowed,
		weir.CodeUnavailable:  http.StatusServiceUnavailable,
		weir.CodeDraining:     http.StatusServiceUnavailable,
	}[c], http.StatusInternalServerError)
}

// MalformedError is an error for a body that cannot be decoded: 400, whereas a body
// with invalid content is 422.
type MalformedError struct{ Detail string }

func (m *MalformedError) Error() string { return m.Detail }

// ProblemOf returns the problem that a client gets for an error, and the time
// after which it may retry. It exposes nothing of an error without a code.
func ProblemOf(err error) (api.Problem, time.Duration) {
	p := api.Problem{Type: "about:blank"}
	var wait time.Duration
	if m, ok := errors.AsType[*MalformedError](err); ok {
		p.Status, p.Code, p.Detail = http.StatusBadRequest, weir.CodeInvalid, m.Detail
	} else if e, ok := errors.AsType[*weir.Error](err); ok {
		p.Status, p.Code, p.Detail, p.Errors, wait = StatusOf(e.Code), e.Code, PublicMessage(e), e.Fields, e.RetryAfter
	} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.Status, p.Code = http.StatusServiceUnavailable, weir.CodeUnavailable
		p.Detail = "the store did not respond in time; the outcome of the request is unknown"
	} else {
		p.Status, p.Code = http.StatusInternalServerError, weir.CodeInternal
	}
	if p.Status == http.StatusInternalServerError {
		p.Code, p.Errors = weir.CodeInternal, nil
		p.Detail = "internal error; the log has the details under the X-Request-Id of this response"
	}
	if p.Status == http.StatusServiceUnavailable && wait <= 0 {
		wait = RetryAfter
	}
	if len(p.Errors) > maxListed {
		atLeast := ""
		if len(p.Errors) >= weir.MaxMistakes {
			atLeast = "at least "
		}
		p.Detail += fmt.Sprintf(" (%s%d mistakes; the first %d are listed)", atLeast, len(p.Errors), maxListed)
		p.Errors = p.Errors[:maxListed]
	}
	p.Title = http.StatusText(p.Status)
	return p, wait
}

// PublicMessage returns the part of an error's message that clients may see. A
// cause wrapped with %w is part of the message, but may quote a query, an
// address or a number.
func PublicMessage(e *weir.Error) string {
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

// WriteProblem writes an error response.
func WriteProblem(w http.ResponseWriter, err error) {
	p := WriteProblemHead(w, err)
	_ = json.NewEncoder(w).Encode(p) // a disconnected client is not an error
}

// errorRecorder is a response writer that records errors for the log.
type errorRecorder interface{ NoteError(err error) }

// WriteProblemHead writes the header of an error response and returns its problem.
func WriteProblemHead(w http.ResponseWriter, err error) api.Problem {
	p, wait := ProblemOf(err)
	if rec, ok := w.(errorRecorder); ok {
		rec.NoteError(err)
	}
	h := w.Header()
	h.Set("Content-Type", ProblemType)
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		challenge := `Bearer realm="weir"`
		if errors.Is(err, ErrInvalidToken) {
			challenge += `, error="invalid_token"` // RFC 6750
		}
		h.Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(p.Status)
	return p
}

// Invalid returns the error of a request with these mistakes; nil if there are
// none.
func Invalid(mistakes []weir.FieldError) error {
	if len(mistakes) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "validation failed; nothing was changed", Fields: mistakes}
}

func WriteJSON(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	raw, err := json.Marshal(body)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", JSONType)
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // a disconnected client is not an error
}

// Texts returns the words of a list for a response.
func Texts[T ~string](list []T) []string {
	if list == nil {
		return nil
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return texts
}

// Instant returns an instant for a response: in UTC, to the microsecond.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return weir.InstantOf(t.UnixMicro())
}

const (
	JSONType       = "application/json"
	MergePatchType = "application/merge-patch+json"
)
