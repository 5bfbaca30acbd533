package api

import (
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"weir"
	"weir/internal/plainjson"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/route"
)

// upload is the file of a request.
type upload struct {
	format   respondents.Format
	charset  string
	body     route.BodyReader
	defaults map[string]any
}

// openUpload returns the file of a request, and what its rows leave out.
func openUpload(r *http.Request, p *route.Deadlines, rt *route.Route) (*upload, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if encoded := r.Header.Get("Content-Encoding"); err != nil || encoded != "" && !strings.EqualFold(encoded, "identity") {
		kind = ""
	}
	u := &upload{charset: params["charset"], body: route.BodyReader{Reader: r.Body, Deadlines: p}}
	if kind == formType {
		r.Body = readCloser{u.body, r.Body}
		return u, u.openForm(r)
	}
	var known bool
	if u.format, known = formatOf(kind); !known {
		return nil, weir.Errorf(weir.CodeContentType, "send the body as %s, not compressed", strings.Join(rt.Uploads, ", "))
	}
	return u, nil
}

// readCloser closes something else than it reads.
type readCloser struct {
	route.BodyReader
	closer interface{ Close() error }
}

// Close implements io.Closer.
func (r readCloser) Close() error { return r.closer.Close() }

// openForm reads a form up to its file.
func (u *upload) openForm(r *http.Request) error {
	form, err := r.MultipartReader()
	if err != nil {
		return &httpjson.MalformedError{Detail: "the form has no boundary"}
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return &httpjson.MalformedError{Detail: "the form has no part file"}
		}
		switch part.FormName() {
		case "contact":
			if err := u.readDefaults(part); err != nil {
				return err
			}
		case "file":
			kind, params, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
			format, known := formatOf(kind)
			if u.format = format; !known {
				u.format = respondents.CSV
				if ext := strings.ToLower(path.Ext(part.FileName())); ext == ".ndjson" || ext == ".jsonl" {
					u.format = respondents.NDJSON
				}
			}
			u.charset, u.body.Reader = params["charset"], part
			return nil
		default:
			return weir.Errorf(weir.CodeInvalid, "the form may have the parts contact and file, in this order")
		}
	}
}

func (u *upload) readDefaults(part *multipart.Part) error {
	raw, err := httpjson.ReadAll(part, -1, maxDefaults)
	if err != nil {
		return route.ReadError(err)
	}
	v, err := plainjson.Parse(raw)
	fields, ok := v.(map[string]any)
	if err != nil || !ok {
		return weir.Errorf(weir.CodeInvalid, "the part contact must be a JSON object")
	}
	if fields = filledFields(fields); fields["to"] != nil || fields["key"] != nil {
		return weir.Errorf(weir.CodeInvalid, "the part contact has what rows leave out, and neither to nor key")
	}
	u.defaults = fields
	return nil
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
