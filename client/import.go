package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"sync"
)

// Import is a file of respondents to load into a survey.
type Import struct {
	Survey      string
	Params      PostRespondentsParams
	ContentType string // text/csv, application/x-ndjson, or that of Excel workbooks
	Body        io.Reader
	Size        int64 // of the body, in bytes; 0: unknown
	// Progress is called with each part of the body that was read for sending; may be
	// nil.
	Progress func(part []byte)
	// Refused receives the rejected rows, in the format of the file, those of a workbook as CSV; nil: only the first reasons are returned.
	// It receives none if the import ends early.
	Refused io.Writer
}

// Import loads respondents. It makes a single try, because the body cannot be read
// again. If the error is an *[Error], the result shows how far the import got.
func (c *Client) Import(ctx context.Context, i Import) (result ImportView, err error) {
	query := url.Values{}
	setQuery(query, "on_error", i.Params.OnError)
	setQuery(query, "duplicates", i.Params.Duplicates)
	setQuery(query, "dry_run", i.Params.DryRun)
	setQuery(query, "encoding", i.Params.Encoding)
	setQuery(query, "phone", i.Params.Phone)
	setQuery(query, "columns", i.Params.Columns)
	setQuery(query, "header", i.Params.Header)
	setQuery(query, "sheet", i.Params.Sheet)
	err = c.importFile(ctx, upload{
		path: "/v1/surveys/" + url.PathEscape(i.Survey) + "/respondents", query: query, contentType: i.ContentType,
		body: i.Body, size: i.Size, progress: i.Progress, refused: i.Refused,
	}, &result)
	return result, err
}

// upload is a file to import.
type upload struct {
	path, contentType string
	query             url.Values
	head, tail        []byte // around the file, in a form
	body              io.Reader
	size              int64 // of the file; 0: unknown
	progress          func(part []byte)
	refused           io.Writer // of the rejected rows; nil: they are not asked for
	// failed has in an error how far the import got, under the name of the member; nil: result, under import.
	failed map[string]any
}

// importFile uploads a file, and decodes the answer, or what an error says of it, into result.
func (c *Client) importFile(ctx context.Context, u upload, result any) error {
	body := &progressReader{from: u.body, report: u.progress}
	r, err := c.newRequest(ctx, http.MethodPost, u.path, u.query, io.MultiReader(bytes.NewReader(u.head), body, bytes.NewReader(u.tail)))
	if err != nil {
		return err
	}
	if u.size > 0 {
		r.ContentLength = int64(len(u.head)+len(u.tail)) + u.size
	}
	r.Header.Set("Content-Type", u.contentType)
	r.Header.Set("Expect", "100-continue") // the server can reject the request before the body is sent
	if u.refused != nil {
		r.Header.Set("Accept", "multipart/mixed, application/json")
	}
	response, err := c.send(r, func(name string, d *json.Decoder) error {
		into := u.failed
		if into == nil {
			into = map[string]any{"import": result}
		}
		switch {
		case into[name] != nil:
			return d.Decode(into[name])
		case name == "file" && u.refused != nil:
			var text string
			if err := d.Decode(&text); err != nil {
				return err
			}
			_, err := io.WriteString(u.refused, text)
			return err
		}
		return d.Decode(&json.RawMessage{})
	})
	failed := body.stop()
	switch {
	case err != nil && failed != nil:
		return fmt.Errorf("read the file to import: %w", failed)
	case err != nil:
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return c.readImport(response, result, u.refused)
}

// readImport reads the result, and the rejected rows if there are any.
func (c *Client) readImport(response *http.Response, result any, refused io.Writer) error {
	kind, params, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "multipart/mixed" {
		if err := json.NewDecoder(response.Body).Decode(result); err != nil {
			return &noResponseError{c.base, fmt.Errorf("incomplete or unexpected response: %w", err)}
		}
		return nil
	}
	parts := multipart.NewReader(response.Body, params["boundary"])
	part, err := parts.NextPart()
	if err == nil {
		err = json.NewDecoder(part).Decode(result)
	}
	if err == nil {
		part, err = parts.NextPart()
	}
	if err == nil {
		if _, err = io.Copy(refused, part); err == nil {
			_, err = parts.NextPart()
		}
	}
	if err != io.EOF { //nolint:errorlint // the mark of a whole response, which a broken one wraps
		return &noResponseError{c.base, fmt.Errorf("incomplete or unexpected response: %w", err)}
	}
	return nil
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
