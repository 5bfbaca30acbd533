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

// Error is an unsuccessful answer, with Weir's problem details.
type Error struct {
	Status     int
	Code       string // stable; empty if the answer was not from Weir
	Detail     string // a sentence for people
	Fields     []FieldError
	RetryAfter time.Duration
	RequestID  string // id of the request in Weir's log
}

// Error returns all details, with one line per mistake.
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

// codeDraining is the code of an answer to a request that was not carried out,
// because the server is shutting down.
const codeDraining = "draining"

// StatusOf returns the HTTP status of an unsuccessful answer; 0 if there was no
// answer, or no error.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// problem reads an unsuccessful answer. It passes members that not every problem
// has to other, which reads their value; nil skips them.
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

// members reads an object; each is called with a member's name and reads its value.
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

// unansweredError is the error of a request without an answer.
type unansweredError struct {
	base  string
	cause error
}

func (u *unansweredError) Error() string {
	return fmt.Sprintf("no answer from Weir at %s: %v", u.base, u.cause)
}

func (u *unansweredError) Unwrap() error { return u.cause }

// Unanswered reports whether the outcome of a request is unknown, or the server was
// unreachable.
func Unanswered(err error) bool {
	_, ok := errors.AsType[*unansweredError](err)
	return ok
}

// neverArrived reports whether the server certainly did not carry out the request.
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

// passing reports whether another try may succeed.
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
