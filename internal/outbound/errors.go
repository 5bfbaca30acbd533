package outbound

import (
	"context"
	"errors"
	"net"
	"net/url"
)

// Kind classifies the failure of a call. It is suitable as a metric label.
type Kind string

// The values of Kind.
const (
	Invalid     Kind = "invalid"     // the URL is invalid
	Refused     Kind = "refused"     // the policy forbids it
	Unresolved  Kind = "unresolved"  // the name cannot be resolved
	Unreachable Kind = "unreachable" // no connection, or it broke
	Timeout     Kind = "timeout"
	TooLarge    Kind = "too_large" // the answer exceeds the limit
	Canceled    Kind = "canceled"  // by the caller
)

// Error is a call without an answer. Its text is safe for logs.
type Error struct {
	Kind    Kind
	Message string
	Cause   error // may contain addresses; not part of the text
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of an error of this package; empty for others.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

func errAddress() *Error {
	return &Error{Kind: Refused, Message: "the host has an address that may not be called"}
}

// named converts an error of net/http to an [Error] with its kind.
func named(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL
	}
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{Kind: Canceled, Message: "the call was given up", Cause: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Kind: Timeout, Message: "the host did not answer in time", Cause: err}
	}
	return &Error{Kind: Unreachable, Message: "the host cannot be reached", Cause: err}
}
