package route

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"weir"
	"weir/web/httpjson"
)

// Limits of imports and downloads. They may exceed the server's timeouts and a
// route's, as long as they make progress.
const (
	MaxImport            = 1 << 30          // bytes of a body, unless the options set another bound
	IdleTime             = 30 * time.Second // max time without a row, or without the client reading anything
	TransferTime         = 4 * time.Hour
	AcquireTime          = 10 * time.Second // max wait until a transfer may begin
	MaxTransfers         = 8                // concurrent
	MaxTransfersPerToken = 4                // of them with one token
	// PageRows and PageBytes bound the memory of an import or a download.
	PageRows  = 1000
	PageBytes = 1 << 20
)

func ErrDraining() error {
	return weir.Errorf(weir.CodeDraining, "this process is shutting down")
}

// StepTimeout bounds one step of a transfer by the time limit of a whole request.
func StepTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTime)
}

// Deadlines extends the deadlines of a connection as long as a transfer makes
// progress. They are real time, so it calls time.Now. Connections without
// deadlines, as in tests, are left unchanged.
type Deadlines struct {
	out      http.ResponseWriter
	conn     *http.ResponseController
	LastRead time.Time
	arrived  int
}

func NewDeadlines(w http.ResponseWriter) *Deadlines {
	return &Deadlines{out: w, conn: http.NewResponseController(w)}
}

// ExtendRead gives the client time to send its next row.
func (p *Deadlines) ExtendRead() {
	if now := time.Now(); now.Sub(p.LastRead) > time.Second {
		p.LastRead = now
		_ = p.conn.SetReadDeadline(now.Add(IdleTime))
	}
}

// ClearRead clears the read deadline after the body was read. A deadline that
// remained would end the request while its response is still being produced.
func (p *Deadlines) ClearRead() { _ = p.conn.SetReadDeadline(time.Time{}) }

// ExtendWrite gives the client time to read something.
func (p *Deadlines) ExtendWrite() { _ = p.conn.SetWriteDeadline(time.Now().Add(IdleTime)) }

// Flush sends what was written to the client.
func (p *Deadlines) Flush() error { return p.conn.Flush() }

// Write implements io.Writer.
func (p *Deadlines) Write(b []byte) (int, error) {
	p.ExtendWrite()
	return p.out.Write(b)
}

// BodyReader is a request body. It extends the read deadline for every extendEvery
// bytes, so that a long row may take its time.
type BodyReader struct {
	io.Reader
	Deadlines *Deadlines
}

const extendEvery = 16 << 10

// Read implements io.Reader.
func (a BodyReader) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if a.Deadlines.arrived += n; a.Deadlines.arrived >= extendEvery {
		a.Deadlines.arrived = 0
		a.Deadlines.ExtendRead()
	}
	return n, err
}

// ReadError converts an error that ended the reading of a body to an error for the
// client.
func ReadError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes; send less at a time", tooLarge.Limit)
	}
	if _, ok := errors.AsType[*weir.Error](err); ok {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &httpjson.MalformedError{Detail: "no row came for " + IdleTime.String()}
	}
	return &httpjson.MalformedError{Detail: "the body could not be read to its end"}
}
