package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"weir/api"
	"weir/surveys/respondents"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/imports"
	"weir/web/route"
)

// Answer is the answer of the API to a file.
type Answer struct {
	Rows       int                    `json:"rows"`
	Rejected   int                    `json:"rejected"`
	Duplicates int                    `json:"duplicates"`
	LastLine   int                    `json:"last_line"`
	Errors     []respondents.RowError `json:"errors"`
	Header     string                 `json:"header"`
	Columns    []api.ImportColumn     `json:"columns"`
	First      []AnswerRow            `json:"first"`

	Queued int `json:"queued"` // contacts

	Added   int            `json:"added"` // respondents
	Updated int            `json:"updated"`
	Missing map[string]int `json:"missing"`

	file []byte // the refused rows, or the first ones
}

// AnswerRow is a row of the preview: a contact, or a respondent.
type AnswerRow struct {
	Line       int               `json:"line"`
	Contact    map[string]any    `json:"contact"`
	Phone      string            `json:"phone"`
	Attributes map[string]string `json:"attributes"`
}

// sendToAPI uploads a file to the API while it arrives, with what its rows leave out; nil: they leave out nothing.
func sendToAPI(c *page.Caller, u *upload, path string, defaults map[string]any, file io.Reader) (*Answer, error) {
	req, err := c.NewRequest(c.Context(), http.MethodPost, path, nil)
	if err != nil {
		return &Answer{}, err
	}
	if u.sending != nil {
		req = req.WithContext(imports.WithProgress(req.Context(), u.sending.note))
		file = u.sending.reader(file)
	}
	from := &watched{Reader: file}
	req.Body, req.ContentLength = io.NopCloser(from), -1
	req.Header.Set("Content-Type", route.CSVType)
	if defaults != nil {
		var form bytes.Buffer
		parts := multipart.NewWriter(&form)
		raw, _ := json.Marshal(defaults)             // texts cannot fail
		_ = parts.WriteField("contact", string(raw)) // to memory
		_, _ = parts.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="contacts.csv"`}, "Content-Type": {route.CSVType}})
		head := form.Len()
		_ = parts.Close()
		req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(form.Bytes()[:head]), from, bytes.NewReader(form.Bytes()[head:])))
		req.Header.Set("Content-Type", parts.FormDataContentType())
	}
	req.Header.Set("Accept", "multipart/mixed, application/json")
	res := &importAnswer{ResponseBuffer: page.ResponseBuffer{Fields: http.Header{}}, browser: u.answer}
	c.Answer(res, req)
	told, err := res.read(c.Locale)
	if err != nil && from.failed != nil {
		err = uploadError(from.failed)
	}
	if err != nil && u.sending.isStopped() {
		err = uploadError(errStopped)
	}
	return told, err
}

// watched remembers why a file could not be read to its end.
type watched struct {
	io.Reader
	failed error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}

// importAnswer keeps the answer to a file, of bounded size: its figures come first, and of the
// refused rows a page has room for the first ones. The deadlines of the browser's connection are
// those of the import.
type importAnswer struct {
	page.ResponseBuffer
	browser http.ResponseWriter
}

// maxImportAnswer is the room for the figures with their reasons, and for the refused rows.
const maxImportAnswer = 1<<20 + maxRefusedBytes

// Write implements http.ResponseWriter.
func (a *importAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	_, err := a.Body.Write(b[:min(len(b), max(0, maxImportAnswer-a.Body.Len()))])
	return len(b), err
}

// Unwrap leads http.ResponseController to the connection.
func (a *importAnswer) Unwrap() http.ResponseWriter { return a.browser }

// read reads the answer.
func (a *importAnswer) read(l *locale.Locale) (*Answer, error) {
	a.WriteHeader(http.StatusOK) // for a handler that has not
	told := &Answer{}
	if a.Status >= http.StatusBadRequest {
		var said struct {
			Import *Answer `json:"import"`
		}
		if err := json.Unmarshal(a.Body.Bytes(), &said); err == nil && said.Import != nil {
			*told = *said.Import
		}
		return told, page.ProblemOf(l, &a.ResponseBuffer)
	}
	kind, params, _ := mime.ParseMediaType(a.Fields.Get("Content-Type"))
	if kind != "multipart/mixed" {
		return told, json.Unmarshal(a.Body.Bytes(), told)
	}
	parts := multipart.NewReader(&a.Body, params["boundary"])
	part, err := parts.NextPart()
	if err == nil {
		err = json.NewDecoder(part).Decode(told)
	}
	if err == nil {
		if part, err = parts.NextPart(); err == nil {
			told.file, _ = io.ReadAll(part) // it may be cut off
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return told, err
}

// refused returns the refused rows, whole ones only.
func (t *Answer) refused(l *locale.Locale) *refusedRows {
	r := &refusedRows{Count: t.Rejected}
	for _, why := range t.Errors[:min(len(t.Errors), shownRefused)] {
		r.First = append(r.First, Row{Line: why.Line, Column: why.Column, Reason: l.Mistake(why.Reason)})
	}
	end, quoted := 0, false
	for i, b := range t.file[:min(len(t.file), maxRefusedBytes)] {
		switch {
		case b == '"':
			quoted = !quoted
		case b == '\n' && !quoted:
			end = i + 1
			r.Kept++
		}
	}
	r.Kept = max(0, r.Kept-1) // the names of the columns
	r.text.WriteString(strings.TrimPrefix(string(t.file[:end]), "\ufeff"))
	return r
}

// showColumns shows what the columns are: as the form says of the same file, or as the API has understood them.
func (f *Form) showColumns(told *Answer, form url.Values) {
	if len(told.Columns) == 0 || len(told.Columns) > f.Rules.Max {
		return
	}
	same := f.Header == "" || f.Header == told.Header
	f.Header, f.Columns = told.Header, make([]Column, len(told.Columns))
	for i, c := range told.Columns {
		f.Columns[i] = Column{Header: c.Header, Field: c.Field, Name: f.Rules.NameOf(c.Header), Values: c.Values}
		field, name := f.use.OfAPI(c.Field)
		if f.Columns[i].Field = field; name != "" {
			f.Columns[i].Name = name
		}
	}
	if same {
		f.Rules.choose(f.Columns, form)
	}
}

// showRows shows the first rows, and the first ones that are refused.
func (f *Form) showRows(told *Answer) {
	for i := range told.First {
		row := &told.First[i]
		f.Rows = append(f.Rows, Row{Line: row.Line, Shown: shownCells(f.use.Row(row), f.About.Shown)})
	}
	for _, why := range told.Errors[:min(len(told.Errors), shownRows)] {
		f.Rows = append(f.Rows, Row{Line: why.Line, Column: why.Column, Reason: f.Mistake(why.Reason)})
	}
	slices.SortFunc(f.Rows, func(a, b Row) int { return a.Line - b.Line })
	if told.Rejected > 0 {
		f.Notes = append(f.Notes, f.T("%d rows will be refused; the reasons are in the preview.", told.Rejected))
	}
}

// refuseFile adds the mistakes that the API found in a file as a whole, in the words of the page as
// far as it has them. columns is how many the file has. Another error is returned.
func (f *Form) refuseFile(err error, columns int) error {
	if !refusedWhole(err) {
		return err
	}
	var wrong []string
	if columns > 0 {
		wrong = f.Rules.mistakes(f.Locale, f.Columns)
	}
	_, p := page.StatusOf(err)
	for _, e := range p.Errors {
		switch {
		case e.Code == "changed":
			wrong = []string{display.Sentence(f.T("this file has other columns than the one of the preview; choose it and show the preview first"))}
		case e.Code == "length" && e.Pointer == "/columns":
			wrong = []string{display.Sentence(f.T("the file has %d columns; at most %d are allowed", columns, f.Rules.Max))}
		}
	}
	if len(wrong) == 0 {
		f.refuse(p.Detail)
	}
	f.Wrong = append(f.Wrong, wrong...)
	return nil
}

// refusedWhole reports whether the API refused a file as a whole.
func refusedWhole(err error) bool {
	status, p := page.StatusOf(err)
	return err != nil && status == http.StatusUnprocessableEntity && p.Words == ""
}

// changed reports whether the API found other columns than those of the preview.
func changed(err error) bool {
	if err == nil {
		return false
	}
	_, p := page.StatusOf(err)
	for _, e := range p.Errors {
		if e.Code == "changed" {
			return true
		}
	}
	return false
}
