package imports

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"weir"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/route"
)

// Media types of an import.
const (
	FormType  = "multipart/form-data"
	MixedType = "multipart/mixed"
)

// Upload is the file of a request, which is read while it arrives.
type Upload struct {
	Format  respondents.Format
	Charset string
	body    route.BodyReader
}

// OpenUpload returns the file of a request, in one of the media types of uploads. before reads the
// parts of a form that may come before its file, by their names.
func OpenUpload(r *http.Request, p *route.Deadlines, uploads []string, before map[string]func(io.Reader) error) (*Upload, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if encoded := r.Header.Get("Content-Encoding"); err != nil || encoded != "" && !strings.EqualFold(encoded, "identity") {
		kind = ""
	}
	u := &Upload{Charset: params["charset"], body: route.BodyReader{Reader: r.Body, Deadlines: p}}
	if kind == FormType {
		r.Body = readCloser{u.body, r.Body}
		return u, u.openForm(r, before)
	}
	var known bool
	if u.Format, known = formatOf(kind); !known {
		return nil, weir.Errorf(weir.CodeContentType, "send the body as %s, not compressed", strings.Join(uploads, ", "))
	}
	return u, nil
}

// Table opens the file in an encoding; empty: as the request or the file says.
func (u *Upload) Table(encoding string) (*Table, error) {
	if encoding == "" {
		encoding = u.Charset
	}
	table, err := Open(u.body, u.Format, encoding)
	if err != nil {
		return nil, route.ReadError(err)
	}
	return table, nil
}

// readCloser closes something else than it reads.
type readCloser struct {
	route.BodyReader
	closer io.Closer
}

// Close implements io.Closer.
func (r readCloser) Close() error { return r.closer.Close() }

// openForm reads a form up to its file.
func (u *Upload) openForm(r *http.Request, before map[string]func(io.Reader) error) error {
	form, err := r.MultipartReader()
	if err != nil {
		return &httpjson.MalformedError{Detail: "the form has no boundary"}
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return &httpjson.MalformedError{Detail: "the form has no part file"}
		}
		if part.FormName() == "file" {
			u.openPart(part)
			return nil
		}
		read := before[part.FormName()]
		if read == nil {
			return weir.Errorf(weir.CodeInvalid, "the form may have the parts contact and file, in this order")
		}
		if err := read(part); err != nil {
			return err
		}
	}
}

// openPart opens the file of a form.
func (u *Upload) openPart(part *multipart.Part) {
	kind, params, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
	format, known := formatOf(kind)
	if u.Format = format; !known {
		u.Format = respondents.CSV
		if ext := strings.ToLower(path.Ext(part.FileName())); ext == ".ndjson" || ext == ".jsonl" {
			u.Format = respondents.NDJSON
		}
	}
	u.Charset, u.body.Reader = params["charset"], part
}

func formatOf(kind string) (respondents.Format, bool) {
	switch kind {
	case route.CSVType:
		return respondents.CSV, true
	case route.NDJSONType:
		return respondents.NDJSON, true
	}
	return "", false
}
