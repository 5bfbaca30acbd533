package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Upload is a request with a streamed body.
type Upload struct {
	Path  string
	Query url.Values
	Type  string // content type of the body
	Body  io.Reader
	Size  int64             // of the body; 0: not known
	Sent  func(part []byte) // called with each part that was read for sending; may be nil
	// Answer reads the successful answer, Problem a member of an unsuccessful one that
	// not every problem has.
	Answer  func(d *json.Decoder) error
	Problem func(name string, d *json.Decoder) error
}

// Upload POSTs a body. It makes a single try, because the body cannot be read
// again.
func (c *Client) Upload(ctx context.Context, u Upload) error {
	body := &watched{from: u.Body, seen: u.Sent}
	r, err := c.request(ctx, http.MethodPost, u.Path, u.Query, body)
	if err != nil {
		return err
	}
	if u.Size > 0 {
		r.ContentLength = u.Size
	}
	r.Header.Set("Content-Type", u.Type)
	// The server can then reject the request before the body is sent.
	r.Header.Set("Expect", "100-continue")
	response, err := c.send(r, u.Problem)
	failed := body.end()
	switch {
	case err != nil && failed != nil:
		return fmt.Errorf("read what is to be sent: %w", failed)
	case err != nil:
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := u.Answer(json.NewDecoder(response.Body)); err != nil {
		return &unansweredError{c.base, fmt.Errorf("the answer broke off, or is not Weir's: %w", err)}
	}
	return nil
}

// watched reports everything that is read, until end is called. The transport
// may still be reading when the answer has already arrived.
type watched struct {
	from io.Reader
	seen func([]byte)

	mu     sync.Mutex
	ended  bool
	failed error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended && n > 0 { // io.EOF itself may come after the answer: an error would close the connection under it
		return 0, errors.New("nobody wants to know any more")
	}
	if n > 0 && w.seen != nil {
		w.seen(p[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}

// end stops the reports and returns the read error, if any.
func (w *watched) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	return w.failed
}

// Open GETs a body of any size. The caller closes it. Reading fails if the body ends
// too early.
func (c *Client) Open(ctx context.Context, q Request) (io.ReadCloser, error) {
	r, err := c.request(ctx, q.Method, q.Path, q.Query, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.send(r, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Download is a request with a streamed answer.
type Download struct {
	Path  string
	Query url.Values
	To    io.Writer
	Begun func(size int64)  // called when the answer begins; size is -1 if it is not known; may be nil
	Got   func(part []byte) // called with each part; may be nil
}

// Download GETs a body of any size. It fails if the body ends too early.
func (c *Client) Download(ctx context.Context, d Download) error {
	r, err := c.request(ctx, http.MethodGet, d.Path, d.Query, nil)
	if err != nil {
		return err
	}
	response, err := c.send(r, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if d.Begun != nil {
		d.Begun(response.ContentLength)
	}
	if _, err := io.Copy(d.To, &watched{from: response.Body, seen: d.Got}); err != nil {
		return fmt.Errorf("the answer ended too early: %w", err)
	}
	return nil
}
