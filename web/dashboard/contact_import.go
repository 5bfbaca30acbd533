package dashboard

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
	"weir/operators"
	"weir/surveys/respondents"
	"weir/web/api"
	"weir/web/dashboard/display"
	"weir/web/route"
)

// A file of contacts is sent in two steps: the first one shows how its rows become contacts, the
// second one sends them. Nothing of it is stored in between: a small file travels in the form of the
// second step, a larger one is chosen again. The second step reads the file while it arrives and
// sends it to the API in requests of bounded size, so that its memory does not depend on the length
// of the file. Each row has an idempotency key, and so the whole file can be sent again after an
// interruption of any kind.

const (
	// importPath and sendFilePath are the paths of no contact: ids begin with a digit.
	importPath   = "/contacts/_import"
	sendFilePath = importPath + "/send"
)

// Limits of a file of contacts.
const (
	maxContactColumns    = 100
	maxUploads           = 8       // at once
	maxBatchRows         = 1000    // of one request
	maxBatchBytes        = 3 << 20 // below the API's limit for a body
	maxRefusedContacts   = 4 << 20 // bytes of the file of refused rows
	shownContacts        = 10
	shownRefusedContacts = 20
	maxRepeats           = 8 // of a request that the API asks to repeat
	maxPause             = 10 * time.Second
)

// contactImport is the form that sends a file, as it was filled in.
type contactImport struct {
	Channel  string
	Name     string // of the file
	Encoding string
	Channels []string // to choose from; nil: they cannot be read, and one is typed
	Purposes []option
	mapping
	Header  string      // of the file that was previewed
	Carried string      // the whole file, in base64; empty: it is chosen again
	Rows    []importRow // the first ones; nil: no file was read yet
	Total   int         // rows of a file that is carried
	Wrong   []string    // mistakes
	Result  *contactImportResult
}

// RowFields returns the choices of a column.
func (*contactImport) RowFields() []option { return rowFields() }

// Priorities returns the choices of the priority.
func (*contactImport) Priorities() []option { return priorityChoices() }

// Encodings returns the encodings of files; empty: UTF-8, or what the file's mark says.
func (*contactImport) Encodings() []option {
	return []option{{"", "UTF-8, or as the file says"}, {"windows-1252", "Windows-1252 (Western European)"}}
}

// Read reports whether a file was read.
func (f *contactImport) Read() bool { return f.Names != nil }

// contactImportResult is what came of the rows of a file.
type contactImportResult struct {
	Rows, Accepted, Duplicates, Refused int
	First                               []importRow // of the refused rows
	Stopped                             string      // why not all rows were sent; empty: all were
	Last                                int         // line up to which everything was sent
	Clipped                             bool        // the file of refused rows has not all of them
	File                                template.URL
	FileName                            string
}

func (f *contactImport) content() *content {
	return &content{title: "Send a file", crumbs: []crumb{{Text: "Contacts", Link: "/contacts"}, {Text: "Send a file"}}, data: f}
}

func (f *contactImport) addChoices(c *caller) (err error) {
	if f.Channels, err = channelNames(c, f.Channel); err == nil {
		f.Purposes, err = purposeChoices(c, f.Purpose)
	}
	return err
}

func loadContactImport(v *visit) (*content, error) {
	f := &contactImport{Channel: v.r.URL.Query().Get("channel")}
	return f.content(), f.addChoices(v.caller)
}

// readImportForm reads the fields beside the file.
func readImportForm(form url.Values) *contactImport {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &contactImport{
		Channel: field("channel"), Encoding: field("encoding"), Header: field("header"), Name: field("name"),
		mapping: mapping{Run: field("run"), Text: strings.TrimSpace(strings.ReplaceAll(form.Get("text"), "\r\n", "\n")), Priority: field("priority"), Purpose: field("purpose"), Fields: form["column"]},
	}
}

// open begins to read the file, and gives each column a field: as it was chosen for a file with the
// same columns, or else as its name suggests. asChosen reports the former.
func (f *contactImport) open(from io.Reader) (table *respondents.Reader, asChosen bool, err error) {
	table, err = respondents.NewTable(from, f.Encoding)
	if err != nil {
		return nil, false, err
	}
	names, _ := table.Header()
	if len(names) > maxContactColumns {
		return nil, false, fmt.Errorf("the file has %d columns; at most %d are allowed", len(names), maxContactColumns)
	}
	f.Names = names
	sum := header(names)
	if asChosen = f.Header == sum && len(f.Fields) == len(names); !asChosen {
		f.Fields, f.Header = guessFields(names), sum
	}
	return table, asChosen, nil
}

// refuse adds a mistake that concerns the whole file.
func (f *contactImport) refuse(text string) { f.Wrong = append(f.Wrong, asSentence(text)) }

// fileError returns why a file cannot be read.
func fileError(err error) string {
	if known, ok := errors.AsType[*weir.Error](err); ok {
		return known.Message
	}
	return err.Error()
}

// previewFile shows how the rows of a file become contacts. It sends nothing.
func previewFile(v *visit, w http.ResponseWriter) (*content, error) {
	u, err := readUpload(v, w)
	if err != nil {
		return nil, err
	}
	defer u.drain()
	f := readImportForm(u.form)
	c := f.content()
	if f.Channel == "" {
		f.refuse("choose a channel")
	}
	if u.file == nil {
		f.Fields = nil
		f.refuse("choose a file")
	} else if err := f.preview(u); err != nil {
		return nil, err
	}
	if len(f.Wrong) > 0 {
		c.status = http.StatusUnprocessableEntity
	}
	return c, f.addChoices(v.caller)
}

// preview reads the first rows.
func (f *contactImport) preview(u *upload) error {
	f.Name = u.name
	beginning, err := io.ReadAll(io.LimitReader(u.file, maxCarried+1))
	if err != nil {
		return uploadError(err)
	}
	whole := len(beginning) <= maxCarried
	if !whole {
		// The last line may be cut off. The preview needs none that long.
		beginning = beginning[:bytes.LastIndexByte(beginning, '\n')+1]
	}
	table, _, err := f.open(bytes.NewReader(beginning))
	if err != nil {
		f.Names, f.Fields = nil, nil
		f.refuse(fileError(err))
		return nil
	}
	f.Wrong = append(f.Wrong, f.mistakes()...)
	if len(f.mistakes()) > 0 {
		f.Rows = nil
	} else if f.Rows, err = f.readRows(table, shownContacts); err != nil {
		f.refuse(fileError(err))
	}
	if !whole {
		return nil
	}
	f.Carried, f.Total = base64.StdEncoding.EncodeToString(beginning), len(f.Rows)
	for err == nil && len(f.Rows) == shownContacts {
		if _, _, err = table.Fields(); err != nil && !isRowError(err) {
			break
		}
		err = nil
		f.Total++
	}
	return nil
}

func isRowError(err error) bool {
	_, ok := errors.AsType[*respondents.RowError](err)
	return ok
}

// sendFile sends the rows of a file, and shows what came of them.
func sendFile(v *visit, w http.ResponseWriter) (*content, error) {
	u, err := readUpload(v, w)
	if err != nil {
		return nil, err
	}
	defer u.drain()
	f := readImportForm(u.form)
	c := f.content()
	c.status = http.StatusUnprocessableEntity
	if f.Channel == "" {
		f.refuse("choose a channel")
	}
	if u.file == nil {
		f.Fields = nil
		f.refuse("choose the file again: its rows are not stored")
		return c, f.addChoices(v.caller)
	}
	release, ok := v.d.uploads.Acquire(v.r.Context(), v.Who.Token, route.AcquireTime)
	if !ok {
		return nil, &problem{Status: http.StatusServiceUnavailable, Detail: "too many files are being sent at once; try again", wait: "10"}
	}
	defer release()
	f.Name = u.name
	table, asChosen, err := f.open(u.file)
	if err != nil {
		f.Names, f.Fields = nil, nil
		f.refuse(fileError(err))
		return c, f.addChoices(v.caller)
	}
	if !asChosen {
		f.refuse("this file has other columns than the one of the preview; choose it and show the preview first")
	}
	if f.Wrong = append(f.Wrong, f.mistakes()...); len(f.Wrong) > 0 {
		return c, f.addChoices(v.caller)
	}
	s := &fileSender{v: v, form: f, deadlines: u.deadlines, keys: map[string]bool{}}
	s.refusedOut = csv.NewWriter(&s.refused)
	f.Result = s.run(table)
	c.title, c.status = "File sent", http.StatusOK
	if f.Result.Stopped != "" {
		c.title, c.status = "File sent in part", s.status
	}
	c.crumbs[1].Text = c.title
	return c, nil
}

// fileSender sends the rows of one file.
type fileSender struct {
	v         *visit
	form      *contactImport
	deadlines *route.Deadlines

	batch []importRow
	bytes int
	keys  map[string]bool // of the rows in batch

	out        contactImportResult
	status     int // of the answer, if the file was not sent to its end
	last       int // line of the last row that was read
	refused    bytes.Buffer
	refusedOut *csv.Writer
}

// run sends all rows. What was sent before an error is sent.
func (s *fileSender) run(table *respondents.Reader) *contactImportResult {
	for {
		r, err := s.form.nextRow(table)
		if errors.Is(err, io.EOF) {
			s.stop(s.flush())
			break
		}
		if err != nil { // the rows before it are sent all the same
			if flushed := s.flush(); flushed != nil {
				err = flushed
			}
			s.stop(err)
			break
		}
		s.out.Rows, s.last = s.out.Rows+1, r.Line
		if err := s.add(r); err != nil {
			s.stop(err)
			break
		}
	}
	s.refusedOut.Flush()
	if s.out.Refused > 0 {
		// A link to the data itself: the rows need no place on the server, and no session.
		s.out.File = template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(s.refused.Bytes())) //nolint:gosec // base64
		s.out.FileName = "refused-" + strings.TrimSuffix(s.form.Name, path.Ext(s.form.Name)) + ".csv"
	}
	return &s.out
}

// stop notes why the file is not sent to its end; nil: it is.
func (s *fileSender) stop(err error) {
	if err == nil {
		return
	}
	status, p := statusOf(err)
	s.status, s.out.Stopped = status, p.Detail
	switch {
	case status == http.StatusUnauthorized:
		s.out.Stopped = "the session has ended"
	case isReadError(err):
		s.status, s.out.Stopped = http.StatusBadRequest, "the file did not arrive whole, or cannot be read any further"
	}
}

// isReadError reports whether an error is of the file, not of the API.
func isReadError(err error) bool {
	_, ok := errors.AsType[*problem](err)
	return !ok
}

// add adds a row to the batch, which it sends first if that is full.
func (s *fileSender) add(r importRow) error {
	if r.Reason != "" {
		s.refuse(r)
		return nil
	}
	if s.keys[r.Key] { // the API refuses a request that has a key twice
		s.out.Duplicates++
		return nil
	}
	if len(s.batch) == maxBatchRows || len(s.batch) > 0 && s.bytes+r.size > maxBatchBytes {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.batch, s.bytes, s.keys[r.Key] = append(s.batch, r), s.bytes+r.size, true
	return nil
}

// flush sends the batch. Rows that the API refuses are noted, and the others sent without them.
func (s *fileSender) flush() error {
	for len(s.batch) > 0 {
		bodies := make([]any, len(s.batch))
		for i := range s.batch {
			bodies[i] = s.batch[i].body
		}
		var list api.AcceptedList
		err := s.post(map[string]any{"contacts": bodies}, &list)
		if err != nil {
			if err = s.drop(err); err != nil {
				return err
			}
			continue
		}
		for i := range list.Contacts {
			if list.Contacts[i].Duplicate {
				s.out.Duplicates++
			} else {
				s.out.Accepted++
			}
		}
		s.batch = s.batch[:0]
	}
	s.bytes, s.out.Last = 0, s.last
	clear(s.keys)
	s.deadlines.ExtendRead()
	return nil
}

// post sends one request. It repeats it while the API asks for that: each row has a key.
func (s *fileSender) post(body, into any) error {
	for try := 1; ; try++ {
		err := s.v.call(http.MethodPost, apiPath("v1", "channels", s.form.Channel, "contacts"), body, into)
		status, p := statusOf(err)
		if err == nil || try == maxRepeats || status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			return err
		}
		seconds, _ := strconv.Atoi(p.wait)
		select {
		case <-time.After(min(maxPause, time.Duration(max(1, seconds))*time.Second)):
		case <-s.v.r.Context().Done():
			return err
		}
	}
}

// drop removes the rows that an error of the API names from the batch. It returns an error that
// names none.
func (s *fileSender) drop(err error) error {
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusConflict {
		return err
	}
	bad := map[int]importRow{}
	for _, e := range p.Errors {
		number, _, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/contacts/"), "/")
		i, wrong := strconv.Atoi(number)
		if wrong != nil || i < 0 || i >= len(s.batch) {
			continue
		}
		if _, known := bad[i]; !known {
			bad[i] = s.batch[i].refused(&s.form.mapping, contactFieldOf(e.Pointer), e.Detail)
		}
	}
	if len(bad) == 0 {
		return err
	}
	kept := s.batch[:0]
	for i, r := range s.batch {
		if why, ok := bad[i]; ok {
			s.refuse(why)
			delete(s.keys, r.Key)
		} else {
			kept = append(kept, r)
		}
	}
	s.batch = kept
	return nil
}

// refuse notes a row that is not sent. The file of refused rows has the columns of the file, after
// those that say why; whoever mends the rows can send it as it is.
func (s *fileSender) refuse(r importRow) {
	s.out.Refused++
	if len(s.out.First) < shownRefusedContacts {
		s.out.First = append(s.out.First, r)
	}
	s.refusedOut.Flush()
	if s.refused.Len() > maxRefusedContacts {
		s.out.Clipped = true
		return
	}
	if s.refused.Len() == 0 {
		_ = s.refusedOut.Write(append([]string{"weir_line", "weir_column", "weir_reason"}, s.own(s.form.Names)...)) // to memory
	}
	_ = s.refusedOut.Write(append([]string{strconv.Itoa(r.Line), r.Column, r.Reason}, s.own(r.cells)...))
}

// own returns the cells that are no remarks of an earlier file of refused rows.
func (s *fileSender) own(cells []string) []string {
	out := make([]string, 0, len(cells))
	for i, cell := range cells {
		if i >= len(s.form.Names) || len(cells) == 1 || !respondents.IsRemark(strings.ToLower(strings.TrimSpace(s.form.Names[i]))) {
			out = append(out, strings.ToValidUTF8(cell, string(utf8.RuneError)))
		}
	}
	return out
}

// Summary describes the result in words.
func (r *contactImportResult) Summary() string {
	text := display.Plural(int64(r.Accepted), "contact is", "contacts are") + " queued."
	if r.Duplicates > 0 {
		text += " " + display.Plural(int64(r.Duplicates), "row was", "rows were") + " sent before: nobody is contacted twice."
	}
	if r.Refused > 0 {
		text += " " + display.Plural(int64(r.Refused), "row is", "rows are") + " refused."
	}
	return text
}

// MayRead reports whether the token may list the contacts.
func (f *contactImport) MayRead(v *view) bool { return v.May(operators.ScopeContactsRead) }

// FileText returns the name of the file, for people.
func (f *contactImport) FileText() string {
	return display.Truncate(100, cmp.Or(f.Name, "the file"))
}

// Column returns the chosen field of a column.
func (f *contactImport) Column(i int) string {
	if i < len(f.Fields) {
		return f.Fields[i]
	}
	return ""
}

// Mapped reports whether a column is among those that are sent.
func (f *contactImport) Mapped(field string) bool { return slices.Contains(f.Fields, field) }
