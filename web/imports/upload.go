package imports

import (
	"bufio"
	"cmp"
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

// Types returns the media types of the files that an import takes.
func Types() []string { return []string{route.CSVType, route.NDJSONType, route.XLSXType, FormType} }

// SheetParameter is the parameter of every import that names the sheet of a workbook.
func SheetParameter() httpjson.Parameter {
	return httpjson.Parameter{Name: "sheet", Kind: "string", Longest: 31, Description: "of an Excel workbook: the name of the sheet with the rows; absent: the first one that is not hidden"}
}

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

// Table opens the file, which the caller closes: in the encoding that the request names, that of its
// content type, or as the file says; of a workbook the sheet that the request names. A file that is
// sent as CSV and begins as a workbook is read as one.
func (u *Upload) Table(q httpjson.Query) (*Table, error) {
	in := bufio.NewReader(u.body)
	head, _ := in.Peek(4) // an error comes again
	sheet := q.Text(SheetParameter().Name)
	var table *Table
	var err error
	switch {
	case u.Format == XLSX || u.Format == respondents.CSV && IsPacked(head):
		table, err = openWorkbook(in, sheet)
	case sheet != "":
		err = weir.Errorf(weir.CodeInvalid, "sheet is one of an Excel workbook (.xlsx)")
	default:
		table, err = Open(in, u.Format, cmp.Or(q.Text("encoding"), u.Charset))
	}
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
		switch strings.ToLower(path.Ext(part.FileName())) {
		case ".ndjson", ".jsonl":
			u.Format = respondents.NDJSON
		case ".xlsx", ".xlsm":
			u.Format = XLSX
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
	case route.XLSXType:
		return XLSX, true
	}
	return "", false
}
