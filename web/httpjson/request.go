// Package httpjson reads requests and writes responses: JSON bodies and query
// parameters with their checks, problems (RFC 9457), JSON pointers.
//
// A request with any error changes nothing, and all of its errors are reported at
// once, each with a pointer and a stable code. No error repeats a value of the
// request: it may be a phone number or a secret.
package httpjson

import (
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/internal/plainjson"
	"weir/internal/validation"
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
// [json.Number].
func ReadJSON(w http.ResponseWriter, r *http.Request, types []string, limit int64) (any, error) {
	if err := checkContentType(r, types); err != nil {
		return nil, err
	}
	raw, err := ReadAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, weir.Errorf(weir.CodeTooLarge, "the body is larger than %d bytes; send less at a time", tooLarge.Limit)
	}
	if err != nil {
		return nil, &MalformedError{Detail: "the body could not be read to its end"}
	}
	return parseJSON(raw)
}

// ReadAll is io.ReadAll with a buffer preallocated from contentLength if that is within the limit.
func ReadAll(body io.Reader, contentLength, limit int64) ([]byte, error) {
	if contentLength <= 0 || contentLength > limit {
		return io.ReadAll(body)
	}
	raw := make([]byte, contentLength)
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

// Query holds the query parameters of a request that are present or have
// a default: string, int64 or bool, by the parameter's kind.
type Query map[string]any

func (q Query) Text(name string) string { v, _ := q[name].(string); return v }
func (q Query) Int(name string) int     { v, _ := q[name].(int64); return int(v) }
func (q Query) Bool(name string) bool   { v, _ := q[name].(bool); return v }

// List splits a comma-separated list.
func (q Query) List(name string) []string {
	if q.Text(name) == "" {
		return nil
	}
	return strings.Split(q.Text(name), ",")
}

// MaxParameter is the max length of a query parameter in bytes, unless it has another.
const MaxParameter = 512

// NameCursor returns the cursor after the row with this name, in a list sorted
// by name.
func NameCursor(list, name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + "/" + name))
}

// Parameter is one query parameter.
type Parameter struct {
	Name, Description string
	Kind              string // string, integer or boolean
	Enum              []string
	Single            bool   // one of enum; otherwise one or more, comma-separated
	Format            string // of a string; the route validates it
	Minimum, Maximum  int64  // of an integer
	Default           any    // the default
	Longest           int    // bytes of a string; 0: MaxParameter
}

// MaxLength returns the max length of a string, in bytes.
func (p *Parameter) MaxLength() int { return cmp.Or(p.Longest, MaxParameter) }

// ReadQuery parses a query string. Errors point at /name, as if the parameters
// were the members of an object.
func ReadQuery(known []Parameter, raw string, errs *validation.Errors) Query {
	values, err := url.ParseQuery(raw)
	if err != nil {
		errs.Add("", "format", "the query string is not well-formed")
	}
	out := Query{}
	for _, p := range known {
		given, ok := values[p.Name]
		delete(values, p.Name)
		switch {
		case !ok && p.Default != nil:
			out[p.Name] = p.Default
		case ok && len(given) > 1:
			errs.Add("/"+p.Name, "duplicate", "may be given once")
		case ok:
			out[p.Name] = p.read(given[0], errs)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		errs.Add("/"+PointerToken(name), "unknown", "there is no such query parameter")
	}
	return out
}

func (p *Parameter) read(s string, errs *validation.Errors) any {
	at := "/" + p.Name
	switch p.Kind {
	case "integer":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			errs.Add(at, "type", "must be a whole number")
		} else if n < p.Minimum || n > p.Maximum {
			errs.Add(at, "range", "must be from %d to %d", p.Minimum, p.Maximum)
		}
		return n
	case "boolean":
		if s != "true" && s != "false" {
			errs.Add(at, "type", "must be true or false")
		}
		return s == "true"
	default:
		if len(s) > p.MaxLength() || !utf8.ValidString(s) {
			errs.Add(at, "length", "must have up to %d bytes of UTF-8", p.MaxLength())
		}
		p.readWords(s, errs)
		return s
	}
}

// readWords checks a comma-separated list against the allowed words.
func (p *Parameter) readWords(s string, errs *validation.Errors) {
	if p.Enum == nil || s == "" {
		return
	}
	if p.Single {
		if !slices.Contains(p.Enum, s) {
			errs.Add("/"+p.Name, "enum", "must be one of %s", strings.Join(p.Enum, ", "))
		}
		return
	}
	for word := range strings.SplitSeq(s, ",") {
		if !slices.Contains(p.Enum, word) {
			errs.Add("/"+p.Name, "enum", "must be one or more of %s, joined by commas", strings.Join(p.Enum, ", "))
			return
		}
	}
}

// Words returns the words of an enumeration, for [Parameter.Enum].
func Words[T ~string](all []T) []string {
	var words []string
	for _, one := range all {
		words = append(words, string(one))
	}
	return words
}
