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

// Import is a file of respondents to load into a survey.
type Import struct {
	Survey      string
	Params      PostRespondentsParams
	ContentType string // text/csv or application/x-ndjson
	Body        io.Reader
	Size        int64 // of the body, in bytes; 0: unknown
	// Progress is called with each part of the body that was read for sending; may be
	// nil.
	Progress func(part []byte)
}

// ImportResult is the result of an import.
type ImportResult struct {
	Added      int64 `json:"added"`
	Duplicates int64 `json:"duplicates"`
	Updated    int64 `json:"updated,omitempty"` // duplicates that changed the respondent
	Rejected   int64 `json:"rejected"`
	// LastLine is the last processed line of an import that ended early.
	LastLine int64      `json:"last_line,omitempty"`
	Errors   []RowError `json:"errors"` // the first rejected rows
}

// Import loads respondents. It makes a single try, because the body cannot be read
// again. If the error is an *[Error], the result shows how far the import got.
func (c *Client) Import(ctx context.Context, i Import) (result ImportResult, err error) {
	query := url.Values{}
	setQuery(query, "on_error", i.Params.OnError)
	setQuery(query, "duplicates", i.Params.Duplicates)
	setQuery(query, "encoding", i.Params.Encoding)
	setQuery(query, "phone", i.Params.Phone)
	setQuery(query, "columns", i.Params.Columns)
	body := &progressReader{from: i.Body, report: i.Progress}
	r, err := c.newRequest(ctx, http.MethodPost, "/v1/surveys/"+url.PathEscape(i.Survey)+"/respondents", query, body)
	if err != nil {
		return result, err
	}
	if i.Size > 0 {
		r.ContentLength = i.Size
	}
	r.Header.Set("Content-Type", i.ContentType)
	r.Header.Set("Expect", "100-continue") // the server can reject the request before the body is sent
	response, err := c.send(r, func(name string, d *json.Decoder) error {
		if name == "import" {
			return d.Decode(&result)
		}
		return d.Decode(&json.RawMessage{})
	})
	failed := body.stop()
	switch {
	case err != nil && failed != nil:
		return result, fmt.Errorf("read the file to import: %w", failed)
	case err != nil:
		return result, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		return result, &noResponseError{c.base, fmt.Errorf("incomplete or unexpected response: %w", err)}
	}
	return result, nil
}

// progressReader reports everything that is read, until stop is called. The
// transport may still be reading when the response has already arrived.
type progressReader struct {
	from   io.Reader
	report func([]byte)

	mu      sync.Mutex
	stopped bool
	failed  error
}

// Read implements io.Reader.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped && n > 0 { // not io.EOF: an error would close the connection of a response in progress
		return 0, errors.New("the response arrived before the end of the body")
	}
	if n > 0 && r.report != nil {
		r.report(p[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

// stop stops the reports and returns the read error, if any.
func (r *progressReader) stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	return r.failed
}
