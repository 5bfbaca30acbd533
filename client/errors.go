package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an error response: its HTTP status and Weir's problem details.
type Error struct {
	Status     int
	Code       string // stable; empty if the response was not from Weir
	Detail     string // a sentence for people
	Fields     []FieldError
	RetryAfter time.Duration
	RequestID  string // id of the request in Weir's log
}

// Error returns the details, with one line per invalid field.
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
		fmt.Fprintf(&b, "\n  %s: %s", cmp.Or(f.Pointer, "(body)"), f.Detail)
	}
	return b.String()
}

// StatusOf returns the HTTP status of an error response; 0 if err is no error
// response.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// readError reads an error response. It passes members that are not part of every
// problem to other, which reads their value; if other is nil, they are skipped.
func readError(r *http.Response, other func(name string, d *json.Decoder) error) error {
	e := &Error{Status: r.StatusCode, RequestID: r.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var title string
	d := json.NewDecoder(r.Body)
	err := readObject(d, func(name string) error {
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
		e.Fields, e.Detail = nil, "not a response of Weir; check the address"
	case err != nil:
		return errors.Join(e, err)
	case e.Detail == "":
		e.Detail = title
	}
	return e
}

// readObject reads a JSON object. It calls each with the name of every member; each
// reads the value.
func readObject(d *json.Decoder, each func(name string) error) error {
	t, err := d.Token()
	if err == nil && t != json.Delim('{') {
		err = fmt.Errorf("unexpected %v; want an object", t)
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

// noResponseError is the error of a request without a complete response.
type noResponseError struct {
	base  string
	cause error
}

func (u *noResponseError) Error() string {
	return fmt.Sprintf("no response from Weir at %s: %v", u.base, u.cause)
}

func (u *noResponseError) Unwrap() error { return u.cause }

// NoResponse reports whether err is the error of a request without a complete
// response: the server was unreachable, or the outcome of the request is unknown.
func NoResponse(err error) bool {
	_, ok := errors.AsType[*noResponseError](err)
	return ok
}
