package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"
)

// idempotent reports whether a POST or PATCH with this body may be repeated: whether the body contains
// keys by which the server recognizes the repetition.
func idempotent(body any) bool {
	switch b := body.(type) {
	case ContactsBody:
		return !slices.ContainsFunc(b.Contacts, func(c ContactBody) bool { return c.Key == "" })
	case ConsentsBody:
		return !slices.ContainsFunc(b.Consents, func(c ConsentBody) bool { return c.Key == "" })
	case HearingBody:
		return len(b.Messages) == 0 || b.Key != ""
	default:
		return false
	}
}

func (r Request) idempotent() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
		return true
	default:
		return r.Idempotent
	}
}

// sendWithRetry makes a request and retries it while that is safe and may succeed.
func (c *Client) sendWithRetry(ctx context.Context, r Request, body []byte) ([]byte, error) {
	inDoubt := false // an earlier try may have been executed
	for try := 1; ; try++ {
		text, err := c.sendOnce(ctx, r, body)
		if err == nil || r.Method == http.MethodDelete && inDoubt && StatusOf(err) == http.StatusNotFound {
			return text, nil
		}
		if try >= c.maxTries || ctx.Err() != nil || !retryable(err) || !r.idempotent() && !notExecuted(err) {
			return nil, err
		}
		inDoubt = inDoubt || !notExecuted(err)
		if sleep(ctx, c.backoff(try, err)) != nil {
			return nil, err
		}
	}
}

// codeDraining is the error code of a server that is shutting down. It has not
// executed the request.
const codeDraining = "draining"

// notExecuted reports whether the server certainly did not execute the request.
func notExecuted(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == codeDraining || e.Status == http.StatusTooManyRequests)
}

// retryable reports whether another try may succeed.
func retryable(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		default:
			return false
		}
	}
	_, ok := errors.AsType[*noResponseError](err)
	return ok
}

// backoff returns the delay after a try, with a jitter of ±25 %.
func (c *Client) backoff(try int, err error) time.Duration {
	d := min(c.retryDelay<<(try-1), maxRetryDelay)
	d = time.Duration(float64(d) * (0.75 + rand.Float64()/2))
	if e := (*Error)(nil); errors.As(err, &e) {
		d = max(d, min(e.RetryAfter, maxRetryDelay))
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
