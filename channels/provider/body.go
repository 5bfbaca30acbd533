package provider

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
)

// Unpack returns a body as it was before gzip, up to limit bytes; one that was not compressed, as
// it is. Its first bytes decide, which no text has: servers compress what they were not asked to,
// and proxies drop the header that says so.
func Unpack(body []byte, limit int64) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte("\x1f\x8b")) {
		return body, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body, nil //nolint:nilerr // something else that begins alike
	}
	plain, err := io.ReadAll(io.LimitReader(packed, limit+1))
	if int64(len(plain)) > limit {
		return plain[:limit], ErrBodyTooLarge
	}
	return plain, err
}

// WithoutMark returns a text without the byte order mark that Windows begins files with.
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }

// formType is the type of a form, multipartType that of one with files.
const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// Form returns the fields of a body; nil: it is no form. Without a content type it is one if it
// has a name and no sign with which JSON and XML begin.
func Form(contentType string, body []byte) (url.Values, error) {
	kind, parameters, _ := mime.ParseMediaType(contentType)
	text := WithoutMark(body)
	switch {
	case kind == multipartType:
		return parts(body, parameters["boundary"])
	case kind == formType, contentType == "" && bytes.IndexByte(text, '=') > 0 && !bytes.ContainsAny(bytes.TrimSpace(text)[:1], "{[<"):
		return Fields(string(text)), nil
	}
	return nil, nil
}

// parts returns the fields of a multipart form, without its files.
func parts(body []byte, boundary string) (url.Values, error) {
	out := url.Values{}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() != "" && part.FileName() == "" {
			out.Add(part.FormName(), string(value))
		}
	}
}

// Fields returns the fields of a form or a query, as [url.ParseQuery] does, and takes what that
// refuses: % without two hexadecimal digits after it, and a semicolon, stand for themselves, since
// a gateway that does not escape a text would send it the same way again.
func Fields(text string) url.Values {
	if out, err := url.ParseQuery(text); err == nil {
		return out
	}
	out := url.Values{}
	for field := range strings.SplitSeq(text, "&") {
		if name, value, _ := strings.Cut(field, "="); field != "" {
			out.Add(unescape(name), unescape(value))
		}
	}
	return out
}

// unescape is [url.QueryUnescape], with each % that begins no escape as it is.
func unescape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] == '%' && (i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2])) {
			b.WriteString("25")
		}
	}
	out, _ := url.QueryUnescape(b.String()) // no invalid escape is left
	return out
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }
