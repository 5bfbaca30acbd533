package plainhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// Answer is the outcome of a request.
type Answer struct {
	// Response is the head of the answer, without a body; nil: there is none.
	Response *http.Response
	Body     []byte
	// Unwritten, for a request without an answer, means that nothing of it was
	// sent.
	Unwritten bool
	// Err is the reason why there is no answer, or only part of one.
	Err error
}

// Post makes a request, and reads up to most bytes of the answer's body. A longer
// body is cut one byte after that.
func (r *Route) Post(ctx context.Context, body []byte, most int64) Answer {
	h := r.host()
	for {
		if err := ctx.Err(); err != nil {
			return Answer{Unwritten: true, Err: err}
		}
		c := h.take()
		reused := c != nil
		if !reused {
			var err error
			if c, err = r.dial(ctx); err != nil {
				return Answer{Unwritten: true, Err: endOf(ctx, err)}
			}
		}
		answer, stale, kept := r.on(ctx, c, reused, body, most)
		if kept {
			h.put(c, time.Now())
		} else {
			c.close()
		}
		if !stale {
			return answer
		}
	}
}

// on makes a request on a connection. stale means that nothing was written because
// the connection was dead; kept, that it can be used for another request.
func (r *Route) on(ctx context.Context, c *conn, reused bool, body []byte, most int64) (_ Answer, stale, kept bool) {
	deadline, _ := ctx.Deadline()
	if c.raw.SetDeadline(deadline) != nil || reused && c.dead() || !c.watch(ctx) {
		return Answer{Unwritten: true, Err: errStale}, reused, false
	}
	if err := ctx.Err(); err != nil { // its interruption may have preceded SetDeadline
		return Answer{Unwritten: true, Err: err}, false, false
	}
	defer func() { kept = c.undisturbed(ctx) && kept }()
	c.out = r.appendRequest(c.out[:0], body)
	written, err := c.raw.Write(c.out)
	if err != nil {
		// net/http also uses another connection if nothing was written on one that
		// had been idle. On a new one the cause is unknown.
		return Answer{Err: endOf(ctx, err)}, reused && written == 0, false
	}
	response, err := c.readHead() //nolint:bodyclose // the body ends with the connection, or is read to its end
	if err != nil {
		return Answer{Err: endOf(ctx, err)}, false, false
	}
	answer := Answer{Response: response}
	if response.Body != http.NoBody {
		answer.Body, answer.Err = io.ReadAll(io.LimitReader(response.Body, most+1))
		answer.Err = endOf(ctx, answer.Err)
	}
	whole := answer.Err == nil && int64(len(answer.Body)) <= most
	return answer, false, whole && c.reusable(response)
}

var errStale = errors.New("the idle connection was closed by the server")

// endOf returns the reason of an error: the context's end, if it has ended,
// whatever effect that had on the connection.
func endOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if _, bounded := ctx.Deadline(); bounded && errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded // the context is about to end
	}
	return err
}
