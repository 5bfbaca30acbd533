package dashboard

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys/respondents"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/imports"
	"weir/web/route"
)

// A file is sent in two steps: the first one shows what its rows become, the second one sends them.
// Nothing of it is stored in between: a small file travels in the form of the second step, a larger
// one is chosen again. The second step passes the file on to the API while it arrives, whole
// ([fileTarget]) or in requests of bounded size ([rowTarget]), so that its memory does not depend on
// the length of the file. Rows that were sent are recognized when they are sent again, and so the
// whole file can be repeated after an interruption of any kind.

// Limits of a file.
const (
	maxUploads  = 8    // at once
	batchRows   = 1000 // of one request
	batchBytes  = 768 << 10
	shownRows   = 10
	shownValues = 5 // of a column
	maxRepeats  = 8 // of a request that the API asks to repeat
	maxPause    = 10 * time.Second
)

// fileUse is what an uploaded file is for.
type fileUse interface {
	// about returns the words of the page.
	about() *fileWords
	// columns returns what columns can be.
	columns() *columnRules
	// fields returns the fields of the form that are shown first, and those beside the columns.
	fields(c *caller) (first, more []fileField, err error)
	// mistakes returns what is wrong with the fields.
	mistakes() []string
	// outcome returns what came of the rows that were sent, as figures and in words.
	outcome(l *locale.Locale) (figures []fileFigure, text string)
}

// fileTarget passes a file on as it is.
type fileTarget interface {
	fileUse
	// previewFile shows what the rows of the beginning of a file become, or of a whole one.
	previewFile(f *fileForm, v *visit, u *upload, file []byte, whole bool) error
	// sendFile sends the file, and notes what came of it. carried is the whole file, if the form has it.
	sendFile(f *fileForm, v *visit, u *upload, carried []byte) error
}

// rowTarget is the kind of record that the rows of an uploaded file create.
type rowTarget interface {
	fileUse
	// row sets what is sent for a row, or why it is refused. body is for people.
	row(columns []column, r *fileRow) (body map[string]any)
	// check refuses a row in the preview that the API would refuse, and gives body the values that
	// the API will store.
	check(r *fileRow, body map[string]any)
	// notes returns what to know before the rows are sent that were checked: all of them, or the
	// first ones.
	notes(columns []column, whole bool) []string
	// send sends rows, and refuses those that the API refuses. An error concerns all of them.
	send(post fileRequest, columns []column, rows []*fileRow) error
}

// fileRequest sends a request with rows to the API.
type fileRequest func(at, kind string, rows []byte, into any) error

// fileWords are the words of the page of a use.
type fileWords struct {
	title  string
	crumbs []crumb
	Path   string   // of the page
	Verb   string   // of the button, such as Send
	Help   string   // for the choice of a file
	First  string   // that the preview is first
	Shown  []string // fields that the preview shows in a cell each
	Heads  []string // of these cells, and of the one with the other fields
	Again  string   // what happens if the file is sent again
	Whole  string   // what happens if it is sent again with the refused rows mended
	// Titles of the result.
	done, doneInPart string
	Named            locale.Message // the name of a named column
	NamedOf          locale.Message // the same, of a column
	Stopped          locale.Message // that a file was not sent to its end, and why
	Next             crumb
	next             []operators.Scope // who may follow it; nil: everyone
}

// fileField is a field of the form beside the file and its columns.
type fileField struct {
	Name, Label, Help, Value string
	Choices                  []option // nil: it is typed
	Long                     bool     // in lines
	Required                 bool
	Max                      int // characters
}

// fileFigure is a figure of the result. The name of its element may be empty.
type fileFigure struct {
	ID, Text string
	N        int
}

// fileRow is a row of a file.
type fileRow struct {
	Line   int
	cells  []string // as in the file
	raw    []byte   // what is sent
	Column string   // that Reason is about; empty: the whole row
	Reason string   // why the row is not sent; empty: it can be sent
	Shown  [][]string
}

func (r *fileRow) refuse(column, reason string) { r.Column, r.Reason = column, reason }

// size returns a bound for the bytes of what is sent and of what is kept of it.
func (r *fileRow) size() int { return max(len(r.raw), len(strings.Join(r.cells, ","))) }

// fileForm is the form that sends a file, as it was filled in.
type fileForm struct {
	*locale.Locale
	use         fileUse
	About       *fileWords
	Rules       *columnRules
	First, More []fileField
	Encoding    string
	Name        string // of the file
	Header      string // identifies the columns of the file that was previewed
	Columns     []column
	Carried     string    // the whole file, in base64; empty: it is chosen again
	Rows        []fileRow // the first ones
	Total       int       // rows of a file that is carried
	Wrong       []string  // mistakes
	Notes       []string  // what to know before it is sent
	Result      *fileResult
}

// fileResult is what came of the rows of a file.
type fileResult struct {
	Rows    int // that were read
	Figures []fileFigure
	Stopped *problem // why not all rows were sent; nil: all were
	Last    int      // line up to which everything was sent
	Refused *refusedRows
}

// newFileUse makes the use of a file from the fields of its form.
type newFileUse func(v *visit, form url.Values) (fileUse, error)

// filePages returns the pages that preview and send a file.
func filePages(at string, scopes []operators.Scope, start newFileUse) []*page {
	load := func(v *visit) (*content, error) {
		f, err := newFileForm(v, v.r.URL.Query(), start)
		if err != nil {
			return nil, err
		}
		return f.content(), f.addFields(v.caller)
	}
	return []*page{
		{name: "file_import", path: at, scopes: scopes, load: load, uploaded: start.upload((*fileForm).preview)},
		{name: "file_import", path: at + "/send", scopes: scopes, load: load, uploaded: start.upload((*fileForm).send)},
	}
}

func newFileForm(v *visit, form url.Values, start newFileUse) (*fileForm, error) {
	use, err := start(v, form)
	if err != nil {
		return nil, err
	}
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &fileForm{Locale: v.Locale, use: use, About: use.about(), Rules: use.columns(), Encoding: field("encoding"), Header: field("header"), Name: field("name")}, nil
}

// upload returns what shows the page for a posted file. A mistake shows its form again.
func (start newFileUse) upload(step func(*fileForm, *visit, *upload) error) func(*visit, http.ResponseWriter) (*content, error) {
	return func(v *visit, w http.ResponseWriter) (*content, error) {
		u, err := readUpload(v, w)
		if err != nil {
			return nil, err
		}
		defer u.drain()
		f, err := newFileForm(v, u.form, start)
		if err != nil {
			return nil, err
		}
		for _, text := range f.use.mistakes() {
			f.refuse(text)
		}
		if u.file == nil {
			f.refuse(f.T("choose a file"))
		} else if f.Name, err = u.name, step(f, v, u); err != nil {
			return nil, err
		}
		c := f.content()
		if f.Result != nil {
			return c, nil
		}
		if len(f.Wrong) > 0 {
			c.status = http.StatusUnprocessableEntity
		}
		return c, f.addFields(v.caller)
	}
}

func (f *fileForm) content() *content {
	c := &content{title: f.About.title, crumbs: f.About.crumbs, data: f}
	if f.Result == nil {
		return c
	}
	_, text := f.use.outcome(f.Locale)
	c.title, c.flash = f.About.done, &flash{Text: text, Bad: f.Result.Stopped != nil}
	if n := f.Result.Refused.Count; n > 0 {
		c.flash.Text += " " + f.T("%d rows are refused.", n)
	}
	if f.Result.Stopped != nil {
		c.title = f.About.doneInPart
		c.status = f.Result.Stopped.Status
	}
	c.crumbs[len(c.crumbs)-1].Text = c.title
	return c
}

func (f *fileForm) addFields(c *caller) (err error) {
	f.First, f.More, err = f.use.fields(c)
	encodings := []option{{"", f.T("as the file says, or UTF-8")}}
	for _, e := range respondents.Encodings() {
		encodings = append(encodings, option{e, e})
	}
	f.First = append(f.First, fileField{Name: "encoding", Label: f.T("Encoding"), Value: f.Encoding, Choices: encodings})
	return err
}

// FileText returns the name of the file, for people.
func (f *fileForm) FileText() string { return display.Truncate(100, cmp.Or(f.Name, f.T("the file"))) }

// RefusedName returns the name of the file of refused rows.
func (f *fileForm) RefusedName() string {
	return "refused-" + cmp.Or(strings.TrimSuffix(f.Name, path.Ext(f.Name)), "rows") + ".csv"
}

// MayNext reports whether the token may follow the link of the result.
func (f *fileForm) MayNext(v *view) bool { return v.May(f.About.next...) }

// refuse adds a mistake that concerns the whole file.
func (f *fileForm) refuse(text string) { f.Wrong = append(f.Wrong, asSentence(text)) }

// open begins to read the file, and gives each column a field: as it was chosen for a file with the
// same columns, or else as its header suggests. asChosen reports the former; a form that names no
// file of before is taken as it is. A file that cannot be read is a mistake, and there is no table.
func (f *fileForm) open(from io.Reader, form url.Values) (table *respondents.Reader, asChosen bool) {
	table, err := respondents.NewTable(from, f.Encoding)
	if known, ok := errors.AsType[*weir.Error](err); ok {
		err = errors.New(known.Message)
	}
	if err != nil {
		f.refuse(err.Error())
		return nil, false
	}
	headers, _ := table.Header()
	if len(headers) > f.Rules.max {
		f.refuse(f.T("the file has %d columns; at most %d are allowed", len(headers), f.Rules.max))
		return nil, false
	}
	f.Columns = f.Rules.guess(headers)
	sum := imports.Sum(headers)
	asChosen = (f.Header == "" || f.Header == sum) && f.Rules.choose(f.Columns, form)
	f.Header = sum
	return table, asChosen
}

// nextRow reads the next row of a file. The error is io.EOF after the last one, and otherwise one
// after which nothing more can be read.
func (f *fileForm) nextRow(use rowTarget, from *respondents.Reader) (r fileRow, body map[string]any, err error) {
	cells, line, err := from.Fields()
	r = fileRow{Line: line, cells: slices.Clone(cells)}
	if bad, ok := errors.AsType[*respondents.RowError](err); ok {
		r.refuse(bad.Column, bad.Reason)
		return r, nil, nil
	}
	if err == nil {
		body = use.row(f.Columns, &r)
	}
	return r, body, err
}

// preview shows what the rows become. It sends nothing.
func (f *fileForm) preview(v *visit, u *upload) error {
	head, err := io.ReadAll(io.LimitReader(u.file, maxCarried+1))
	if err != nil {
		return uploadError(err)
	}
	whole := len(head) <= maxCarried && u.form.Get("partial") == "" // a script sends the beginning only
	if !whole {
		// The last line may be cut off. The preview needs none that long.
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	switch use := f.use.(type) {
	case fileTarget:
		return use.previewFile(f, v, u, head, whole)
	case rowTarget:
		if table, _ := f.open(bytes.NewReader(head), u.form); table != nil {
			f.Wrong = append(f.Wrong, f.Rules.mistakes(f.Locale, f.Columns)...)
			f.show(use, table, head, whole)
		}
	}
	return nil
}

// show adds the first rows, and carries the file if it is whole.
func (f *fileForm) show(use rowTarget, table *respondents.Reader, file []byte, whole bool) {
	mapped := len(f.Rules.mistakes(f.Locale, f.Columns)) == 0
	rows, refused := 0, 0
	for ; whole || rows < shownRows; rows++ {
		r, body, err := f.nextRow(use, table)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.refuse(err.Error())
			}
			break
		}
		if mapped && r.Reason == "" {
			use.check(&r, body)
		}
		if mapped && r.Reason != "" {
			if refused++; refused <= shownRows && rows >= shownRows {
				f.Rows = append(f.Rows, r)
			}
		}
		if rows >= shownRows {
			continue
		}
		for i := range f.Columns {
			if c := &f.Columns[i]; len(r.cells) == len(f.Columns) && len(c.Values) < shownValues {
				c.Values = append(c.Values, r.cells[i])
			}
		}
		if mapped {
			r.Shown = shownCells(body, f.About.Shown)
			f.Rows = append(f.Rows, r)
		}
	}
	if whole && refused > 0 {
		f.Notes = append(f.Notes, f.T("%d rows will be refused; the reasons are in the preview.", refused))
	}
	if mapped {
		f.Notes = append(f.Notes, use.notes(f.Columns, whole)...)
	}
	if whole {
		f.Carried, f.Total = base64.StdEncoding.EncodeToString(file), rows
	}
}

// shownCells returns the values of fields for people, and all others in the last cell.
func shownCells(body map[string]any, fields []string) (cells [][]string) {
	for _, name := range fields {
		switch value := body[name].(type) {
		case string:
			cells = append(cells, []string{value})
		case []any:
			var texts []string
			for _, v := range value {
				text, _ := v.(string)
				texts = append(texts, text)
			}
			cells = append(cells, texts)
		default:
			cells = append(cells, nil)
		}
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains(fields, name) {
			raw, _ := json.Marshal(body[name]) // texts and numbers cannot fail
			others = append(others, name+": "+strings.Trim(string(raw), `"`))
		}
	}
	return append(cells, []string{strings.Join(others, "; ")})
}

// send sends the rows, and notes what came of them.
func (f *fileForm) send(v *visit, u *upload) error {
	release, ok := v.d.uploads.Acquire(v.r.Context(), v.Who.Token, route.AcquireTime)
	if !ok {
		return &problem{Status: http.StatusServiceUnavailable, Detail: v.T("too many files are being sent at once; try again"), wait: "10"}
	}
	defer release()
	var carried []byte
	if u.carried {
		var err error
		if carried, err = io.ReadAll(io.LimitReader(u.file, maxCarried)); err != nil {
			return uploadError(err)
		}
		u.file = bytes.NewReader(carried)
	}
	switch use := f.use.(type) {
	case fileTarget:
		return use.sendFile(f, v, u, carried)
	case rowTarget:
		f.sendRows(use, v, u, carried)
	}
	return nil
}

// sendRows sends the rows, and notes what came of them.
func (f *fileForm) sendRows(use rowTarget, v *visit, u *upload, carried []byte) {
	table, asChosen := f.open(u.file, u.form)
	if table == nil {
		return
	}
	if !asChosen {
		f.refuse(f.T("this file has other columns than the one of the preview; choose it and show the preview first"))
	}
	if f.Wrong = append(f.Wrong, f.Rules.mistakes(f.Locale, f.Columns)...); len(f.Wrong) > 0 {
		f.show(use, table, carried, u.carried)
		return
	}
	s := &fileSender{use: use, v: v, fileForm: f, deadlines: u.deadlines, out: &fileResult{Refused: newRefusedRows(table.Header())}}
	f.end(s.out, s.run(table))
}

// end shows the result; err ended the upload, if it is not nil.
func (f *fileForm) end(r *fileResult, err error) {
	f.Result = r
	f.Result.Figures, _ = f.use.outcome(f.Locale)
	if err == nil {
		return
	}
	_, p := statusOf(err)
	r.Stopped = p.in(f.Locale)
	if p.Status == http.StatusUnauthorized {
		r.Stopped.Detail = f.T("the session has ended")
	}
}

// fileSender sends the rows of one file.
type fileSender struct {
	*fileForm
	use       rowTarget
	v         *visit
	deadlines *route.Deadlines
	batch     []fileRow
	bytes     int
	out       *fileResult
}

// run sends all rows. What was sent before an error is sent.
func (s *fileSender) run(table *respondents.Reader) error {
	for {
		r, _, err := s.nextRow(s.use, table)
		if err != nil { // the rows before it are sent all the same
			if flushed := s.flush(); flushed != nil || errors.Is(err, io.EOF) {
				return flushed
			}
			return uploadError(err)
		}
		if len(s.batch) == batchRows || len(s.batch) > 0 && s.bytes+r.size() > batchBytes {
			if err := s.flush(); err != nil {
				return err
			}
		}
		s.batch, s.bytes = append(s.batch, r), s.bytes+r.size()
		s.out.Rows++
	}
}

// flush sends the batch, whose rows that are refused are noted in the order of the file.
func (s *fileSender) flush() (err error) {
	var sound []*fileRow
	for i := range s.batch {
		if s.batch[i].Reason == "" {
			sound = append(sound, &s.batch[i])
		}
	}
	if len(sound) > 0 {
		err = s.use.send(s.post, s.Columns, sound)
	}
	for i := range s.batch {
		if r := &s.batch[i]; r.Reason != "" {
			s.out.Refused.add(r)
		}
		if err == nil {
			s.out.Last = s.batch[i].Line
		}
	}
	clear(s.batch)
	s.batch, s.bytes = s.batch[:0], 0
	s.deadlines.ExtendRead()
	s.deadlines.ExtendWrite()
	return err
}

// post sends one request. It repeats it while the API asks for that: rows are not sent twice.
func (s *fileSender) post(at, kind string, rows []byte, into any) error {
	for try := 1; ; try++ {
		err := s.v.upload(at, kind, rows, into)
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
