package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"weir"
)

// Limits of imports and downloads. They may exceed the server's timeouts and a
// route's, as long as they make progress.
const (
	mostImport    = 1 << 30          // bytes of a body, unless MostImport is set
	idleTime      = 30 * time.Second // max time without a row, or without the client reading anything
	transferTime  = 4 * time.Hour
	seatTime      = 10 * time.Second // max wait for a seat
	maxTransfers  = 8                // concurrent
	transferShare = 4                // of them with one token
	// pageRows and pageBytes bound the memory of an import or a download.
	pageRows  = 1000
	pageBytes = 1 << 20
)

// transfer serves a route that writes its response itself.
func (s *service) transfer(rt *route, w http.ResponseWriter, r *http.Request) error {
	who, err := s.admit(w, r, rt.scopes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), transferTime)
	defer cancel()
	c := &call{Context: ctx, r: r, who: who}
	c.query = readQuery(rt.query, r.URL.RawQuery, &c.wrong)
	if err := c.refuse(); err != nil {
		return err
	}
	return rt.serve(c, w)
}

// seat waits for a seat, so that memory stays bounded however many clients
// connect at once.
func (s *service) seat(c *call) (leave func(), err error) {
	leave, ok := s.seats.Take(c, c.who.id(), seatTime)
	if ok {
		return leave, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nil, &weir.Error{
		Code: weir.CodeUnavailable, RetryAfter: seatTime,
		Message: fmt.Sprintf("too many imports and downloads at once (at most %d, %d with one token); try again later", maxTransfers, transferShare),
	}
}

func errDraining() error {
	return weir.Errorf(weir.CodeDraining, "this process is shutting down")
}

// brief bounds one step of a transfer by the time limit of a whole request.
func brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTime)
}

// pace extends the deadlines of a connection as long as a transfer makes
// progress. They are real time, so it calls time.Now. Connections without
// deadlines, as in tests, are left unchanged.
type pace struct {
	out     http.ResponseWriter
	conn    *http.ResponseController
	moved   time.Time
	arrived int
}

func newPace(w http.ResponseWriter) *pace {
	return &pace{out: w, conn: http.NewResponseController(w)}
}

// reading gives the client time to send its next row.
func (p *pace) reading() {
	if now := time.Now(); now.Sub(p.moved) > time.Second {
		p.moved = now
		_ = p.conn.SetReadDeadline(now.Add(idleTime))
	}
}

// read clears the read deadline after the body was read. A deadline that
// remained would end the request while its response is still being produced.
func (p *pace) read() { _ = p.conn.SetReadDeadline(time.Time{}) }

// writing gives the client time to read something.
func (p *pace) writing() { _ = p.conn.SetWriteDeadline(time.Now().Add(idleTime)) }

// Write implements io.Writer.
func (p *pace) Write(b []byte) (int, error) {
	p.writing()
	return p.out.Write(b)
}

// arriving is a request body. It extends the read deadline for every goodPart
// bytes, so that a long row may take its time.
type arriving struct {
	io.Reader
	pace *pace
}

const goodPart = 16 << 10

// Read implements io.Reader.
func (a arriving) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if a.pace.arrived += n; a.pace.arrived >= goodPart {
		a.pace.arrived = 0
		a.pace.reading()
	}
	return n, err
}

// broken converts an error that ended the reading of a body to an error for the
// client.
func broken(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes; send less at a time", tooLarge.Limit)
	}
	if _, ok := errors.AsType[*weir.Error](err); ok {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &malformed{"no row came for " + idleTime.String()}
	}
	return &malformed{"the body could not be read to its end"}
}
