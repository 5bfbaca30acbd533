package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Error is an answer that is not good: the problem details that Weir gives.
type Error struct {
	Status     int
	Code       string // a stable word; empty if the answer was not Weir's
	Detail     string // a sentence for people
	Fields     []FieldError
	RetryAfter time.Duration
	RequestID  string // under which Weir's log has the request
}

// Error says everything: each mistake has a line of its own.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Weir answered %d", e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	for _, f := range e.Fields {
		at := f.Pointer
		if at == "" {
			at = "(the whole)"
		}
		fmt.Fprintf(&b, "\n  %s: %s", at, f.Detail)
	}
	return b.String()
}

// codeDraining is the code of an answer that says that nothing was done, as the
// server is ending.
const codeDraining = "draining"

// StatusOf is the HTTP status of an answer that is not good; 0 if there was
// no answer, or no error.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// problem reads a bad answer. Members that not every problem has are handed to
// other, which reads their value; nil passes them over.
func problem(r *http.Response, other func(name string, d *json.Decoder) error) error {
	e := &Error{Status: r.StatusCode, RequestID: r.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var title string
	d := json.NewDecoder(r.Body)
	err := members(d, func(name string) error {
		switch name {
		case "title":
			return d.Decode(&title)
		case "detail":
			return d.Decode(&e.Detail)
		case "code":
			return d.Decode(&e.Code)
		case "errors":
			return d.Decode(&e.Fields)
		}
		if other == nil {
			return d.Decode(&json.RawMessage{})
		}
		return other(name, d)
	})
	switch {
	case e.Code == "":
		e.Fields, e.Detail = nil, "this is no answer of Weir's; is the address right?"
	case err != nil:
		return errors.Join(e, err)
	case e.Detail == "":
		e.Detail = title
	}
	return e
}

// members reads an object; each reads the value of the member that it is told.
func members(d *json.Decoder, each func(name string) error) error {
	t, err := d.Token()
	if err == nil && t != json.Delim('{') {
		err = fmt.Errorf("%v where an object is expected", t)
	}
	for err == nil && d.More() {
		if t, err = d.Token(); err == nil {
			name, _ := t.(string)
			err = each(name)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// unansweredError says that no answer came.
type unansweredError struct {
	base  string
	cause error
}

func (u *unansweredError) Error() string {
	return fmt.Sprintf("no answer from Weir at %s: %v", u.base, u.cause)
}

func (u *unansweredError) Unwrap() error { return u.cause }

// Unanswered tells whether nobody knows if a request was carried out, or that
// it was not because nobody listens.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*unansweredError](err)
	return ok
}

// neverArrived tells whether the server certainly did nothing.
func neverArrived(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == codeDraining || e.Status == http.StatusTooManyRequests)
}

// passing tells whether another try may fare better.
func passing(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		default:
			return false
		}
	}
	_, ok := errors.AsType[*unansweredError](err)
	return ok
}
