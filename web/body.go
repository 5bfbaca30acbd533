package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"weir"
)

// Bounds of request bodies. A batch of 1,000 contacts with a text each needs
// more than the rest of the API.
const (
	mostBody         = 1 << 20
	mostContactsBody = 4 << 20
	mostCallbackBody = 64 << 10
)

const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// readJSON reads a request's body as JSON: objects as map[string]any, numbers
// as float64.
func readJSON(w http.ResponseWriter, r *http.Request, types []string, most int64) (any, error) {
	if err := checkContentType(r, types); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes; send less at a time", tooLarge.Limit)
	}
	if err != nil {
		return nil, &malformed{"the body could not be read to its end"}
	}
	return parseJSON(raw)
}

func parseJSON(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, &malformed{"the body is not UTF-8"}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, &malformed{fmt.Sprintf("the body is not JSON: byte %d: %s", s.Offset, s.Error())}
		}
		return nil, &malformed{"the body is not JSON, or has a number that is too large"}
	}
	return v, nil
}

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
