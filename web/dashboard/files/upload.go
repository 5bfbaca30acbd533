package files

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"weir/web/dashboard/page"
	"weir/web/route"
)

// Bounds of a posted file.
const (
	maxUpload     = 256 << 20 // bytes of a file
	maxFormFields = 64 << 10  // bytes of the other fields of its form
	maxCarried    = 512 << 10 // bytes of a file that the form carries from the preview on
)

// upload is a posted form with a file, which is read while it arrives: its memory does not depend on
// the length of the file.
type upload struct {
	form      url.Values
	file      io.Reader // nil: there is none
	name      string    // of the file
	carried   bool      // it was in the form
	answer    http.ResponseWriter
	deadlines *route.Deadlines
	body      io.Reader
	sending   *sending // while its rows are sent; nil: they are not
}

// readUpload reads the fields of the form up to the file, which is its last one.
func readUpload(v *page.Visit, w http.ResponseWriter) (_ *upload, err error) {
	u := &upload{form: url.Values{}, answer: w, deadlines: route.NewDeadlines(w)}
	defer func() {
		if err != nil {
			u.drain()
		}
	}()
	u.deadlines.ExtendRead()
	u.body = route.BodyReader{Reader: http.MaxBytesReader(w, v.Request.Body, maxUpload+maxFormFields), Deadlines: u.deadlines}
	v.Request.Body = io.NopCloser(u.body)
	parts, err := v.Request.MultipartReader()
	if err != nil {
		return nil, &page.Problem{Status: http.StatusBadRequest, Detail: v.T("the form is not one with a file")}
	}
	for left := maxFormFields; ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return nil, uploadError(err)
		}
		switch name := part.FormName(); {
		case name == "file" && part.FileName() != "":
			u.file, u.name = part, path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
			return u, nil
		case name == "carried":
			if text := newPeeked(part); !text.empty() {
				u.file, u.name, u.carried = base64.NewDecoder(base64.StdEncoding, text), u.form.Get("name"), true
				return u, nil
			}
		default:
			if left, err = u.field(part, left); err != nil {
				return nil, err
			}
		}
	}
}

// field reads a field of the form of at most left bytes.
func (u *upload) field(part *multipart.Part, left int) (int, error) {
	value, err := io.ReadAll(io.LimitReader(part, int64(left)+1))
	if err != nil {
		return 0, uploadError(err)
	}
	if len(value) > left {
		return 0, &page.Problem{Status: http.StatusBadRequest, Words: "the form is larger than 64 KiB, without its file"}
	}
	u.form.Add(part.FormName(), string(value))
	return left - len(value), nil
}

// drain reads the rest of the body: a browser shows an answer only after it has sent all.
func (u *upload) drain() {
	u.deadlines.LastRead = time.Time{}
	u.deadlines.ExtendRead()
	_, _ = io.Copy(io.Discard, u.body) // what cannot be read is not needed
	u.deadlines.ClearRead()
	u.deadlines.ExtendWrite()
}

// peeked is a reader whose first byte was read.
type peeked struct {
	io.Reader
	none bool
}

func newPeeked(r io.Reader) *peeked {
	first := make([]byte, 1)
	n, _ := io.ReadFull(r, first)
	return &peeked{io.MultiReader(bytes.NewReader(first[:n]), r), n == 0}
}

func (p *peeked) empty() bool { return p.none }

// uploadError returns the error for a form that cannot be read to its end.
func uploadError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &page.Problem{Status: http.StatusRequestEntityTooLarge, Words: "the file is larger than 256 MiB; divide it, or use the command line"}
	}
	if errors.Is(err, errStopped) {
		return &page.Problem{Status: http.StatusConflict, Words: "it was stopped on the page of its progress"}
	}
	return &page.Problem{Status: http.StatusBadRequest, Words: "the file did not arrive whole; choose it and send it again"}
}
