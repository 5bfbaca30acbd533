// Package wire reads requests and writes responses: JSON bodies and query
// parameters with their checks, problems (RFC 9457), JSON pointers.
//
// A request with any error changes nothing, and all of its errors are reported at
// once, each with a pointer and a stable code. No error repeats a value of the
// request: it may be a phone number or a secret.
package wire

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"weir"
	"weir/internal/plainjson"
)

// Limits of request bodies. A batch of 1,000 contacts with one text each needs
// more than the rest of the API.
const (
	MaxBody         = 1 << 20
	MaxBatchBody    = 4 << 20
	MaxCallbackBody = 64 << 10
	// MaxMessage is the max number of characters of a text message.
	MaxMessage = 1600
	// maxDiscarded is the max number of bytes read from a rejected body.
	maxDiscarded = 16 << 20
)

// ReadJSON reads a request body as JSON: objects as map[string]any, numbers as
// float64.
func ReadJSON(w http.ResponseWriter, r *http.Request, types []string, most int64) (any, error) {
	if err := checkContentType(r, types); err != nil {
		return nil, err
	}
	raw, err := ReadAll(http.MaxBytesReader(w, r.Body, most), r.ContentLength, most)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes; send less at a time", tooLarge.Limit)
	}
	if err != nil {
		return nil, &MalformedError{Detail: "the body could not be read to its end"}
	}
	return parseJSON(raw)
}

// ReadAll is io.ReadAll with a buffer preallocated from told, the
// Content-Length, if that is within the limit.
func ReadAll(body io.Reader, told, most int64) ([]byte, error) {
	if told <= 0 || told > most {
		return io.ReadAll(body)
	}
	raw := make([]byte, told)
	n, err := io.ReadFull(body, raw)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return raw[:n], err
}

func parseJSON(raw []byte) (any, error) {
	v, err := plainjson.Parse(raw)
	if errors.Is(err, plainjson.ErrTooMany) {
		return nil, weir.Errorf(weir.CodeTooLarge, "%v; send less at a time", err)
	}
	if err != nil {
		return nil, &MalformedError{Detail: err.Error()}
	}
	return v, nil
}

// Discard drains a rejected body up to maxDiscarded, so that a client that is
// still sending receives the response and not a broken connection.
func Discard(body io.Reader) { _, _ = io.CopyN(io.Discard, body, maxDiscarded) }

func checkContentType(r *http.Request, types []string) error {
	got, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	encoding := r.Header.Get("Content-Encoding")
	if err != nil || !slices.Contains(types, got) ||
		charset != "" && !strings.EqualFold(charset, "utf-8") ||
		encoding != "" && !strings.EqualFold(encoding, "identity") {
		return weir.Errorf(weir.CodeContentType, "send the body as %s in UTF-8, not compressed", strings.Join(types, " or "))
	}
	return nil
}
