package files

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"weir/operators"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/imports"
	"weir/web/route"
)

// Limits of a file.
const (
	maxUploads = 8 // at once
	shownRows  = 10
)

// Use is what an uploaded file is for.
type Use interface {
	// About returns the words of the page.
	About() *Words
	// Columns returns what columns can be.
	Columns() *Rules
	// Fields returns the fields of the form that are shown first, and those beside the columns.
	Fields(c *page.Caller) (first, more []Field, err error)
	// Mistakes returns what is wrong with the fields.
	Mistakes() []string
	// Request returns where the file is sent, with parameters beside those of every file, and what its
	// rows leave out; an empty path: that is not known yet.
	Request() (path string, query url.Values, defaults map[string]any)
	// OfAPI returns the field and the name of a column, by its field in the API, and toAPI the reverse.
	OfAPI(name string) (field, own string)
	ToAPI(field, own string) string
	// Row returns a row of the preview.
	Row(told *AnswerRow) map[string]any
	// Notes returns what to know before the rows are sent that were checked: all of them, or the first ones.
	Notes(f *Form, told *Answer, whole bool) []string
	// Outcome returns what came of the rows that were sent, as figures and in words.
	Outcome(l *locale.Locale, told *Answer) (figures []Figure, text string)
}

// Words are the words of the page of a use.
type Words struct {
	Title  string
	Crumbs []page.Crumb
	Path   string   // of the page
	Verb   string   // of the button, such as Send
	Help   string   // for the choice of a file
	First  string   // that the preview is first
	Shown  []string // fields that the preview shows in a cell each
	Heads  []string // of these cells, and of the one with the other fields
	Again  string   // what happens if the file is sent again
	Whole  string   // what happens if it is sent again with the refused rows mended
	// Titles of the result.
	Done, DoneInPart string
	Named            locale.Message // the name of a named column
	NamedOf          locale.Message // the same, of a column
	Stopped          locale.Message // that a file was not sent to its end, and why
	Next             page.Crumb
	NextScopes       []operators.Scope // who may follow it; nil: everyone
}

// Field is a field of the form beside the file and its columns.
type Field struct {
	Name, Label, Help, Value string
	Choices                  []page.Option // nil: it is typed
	Long                     bool          // in lines
	Required                 bool
	Max                      int // characters
}

// Figure is a figure of the result. The name of its element may be empty.
type Figure struct {
	ID, Text string
	N        int
}

// Row is a row of a file.
type Row struct {
	Line   int
	Column string // that Reason is about; empty: the whole row
	Reason string // why the row is not sent; empty: it can be sent
	Shown  [][]string
}

// Form is the form that sends a file, as it was filled in.
type Form struct {
	*locale.Locale
	use         Use
	About       *Words
	Rules       *Rules
	First, More []Field
	Encoding    string
	Sheet       string // of a workbook; empty: the first one
	text        bool   // the file that was previewed has no sheets
	Name        string // of the file
	Header      string // identifies the columns of the file that was previewed
	Columns     []Column
	Carried     string   // the whole file, in base64; empty: it is chosen again
	Rows        []Row    // the first ones
	Total       int      // rows of a file that is carried
	Wrong       []string // mistakes
	Notes       []string // what to know before it is sent
	Result      *Result
	Once        string  // random, by which the page of the progress knows it
	told        *Answer // what came of it
}

// Result is what came of the rows of a file.
type Result struct {
	Rows    int // that were read
	Figures []Figure
	Stopped *page.Problem // why not all rows were sent; nil: all were
	Last    int           // line up to which everything was sent
	Refused *refusedRows
}

// NewUse makes the use of a file from the fields of its form.
type NewUse func(v *page.Visit, form url.Values) (Use, error)

// Sender sends files. All uses share what it has room for.
type Sender struct {
	uploads  *auth.ConcurrencyLimit // files that are being sent
	sendings sendings
}

// NewSender returns what sends the files of all uses.
func NewSender() *Sender {
	return &Sender{uploads: auth.NewConcurrencyLimit(maxUploads, maxUploads/2)}
}

// Pages returns the pages that preview and send a file for a use.
func (s *Sender) Pages(at string, scopes []operators.Scope, start NewUse) []*page.Page {
	load := func(v *page.Visit) (*page.Content, error) {
		f, err := newFileForm(v, v.Request.URL.Query(), start)
		if err != nil {
			return nil, err
		}
		return f.content(), f.addFields(v.Caller)
	}
	return []*page.Page{
		{Name: "file_import", Path: at, Scopes: scopes, Load: load, Uploaded: start.upload((*Form).preview)},
		{Name: "file_import", Path: at + "/send", Scopes: scopes, Load: load, Uploaded: start.upload(s.send)},
		{Name: "file_progress", Path: at + "/progress", Scopes: scopes, Load: s.progress(start), Posted: s.stop(start), Live: []string{"state"}},
	}
}

func newFileForm(v *page.Visit, form url.Values, start NewUse) (*Form, error) {
	use, err := start(v, form)
	if err != nil {
		return nil, err
	}
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return &Form{Locale: v.Locale, use: use, About: use.About(), Rules: use.Columns(), Encoding: field("encoding"), Sheet: field("sheet"), Header: field("header"), Name: field("name"), Once: rand.Text()}, nil
}

// upload returns what shows the page for a posted file. A mistake shows its form again.
func (start NewUse) upload(step func(*Form, *page.Visit, *upload) error) func(*page.Visit, http.ResponseWriter) (*page.Content, error) {
	return func(v *page.Visit, w http.ResponseWriter) (*page.Content, error) {
		u, err := readUpload(v, w)
		if err != nil {
			return nil, err
		}
		defer u.drain()
		f, err := newFileForm(v, u.form, start)
		if err != nil {
			return nil, err
		}
		for _, text := range f.use.Mistakes() {
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
			c.Status = http.StatusUnprocessableEntity
		}
		return c, f.addFields(v.Caller)
	}
}

func (f *Form) content() *page.Content {
	c := &page.Content{Title: f.About.Title, Crumbs: f.About.Crumbs, Data: f}
	if f.Result == nil {
		return c
	}
	_, text := f.use.Outcome(f.Locale, f.told)
	c.Title, c.Flash = f.About.Done, &page.Flash{Text: text, Bad: f.Result.Stopped != nil}
	if n := f.Result.Refused.Count; n > 0 {
		c.Flash.Text += " " + f.T("%d rows are refused.", n)
	}
	if f.Result.Stopped != nil {
		c.Title = f.About.DoneInPart
		c.Status = f.Result.Stopped.Status
	}
	c.Crumbs[len(c.Crumbs)-1].Text = c.Title
	return c
}

func (f *Form) addFields(c *page.Caller) (err error) {
	f.First, f.More, err = f.use.Fields(c)
	encodings := []page.Option{{Value: "", Text: f.T("as the file says, or UTF-8")}}
	for _, e := range respondents.Encodings() {
		encodings = append(encodings, page.Option{Value: e, Text: e})
	}
	f.First = append(f.First, Field{Name: "encoding", Label: f.T("Encoding"), Value: f.Encoding, Choices: encodings})
	if f.text && f.Sheet == "" {
		return err
	}
	f.First = append(f.First,
		Field{Name: imports.SheetParameter().Name, Label: f.T("Sheet"), Value: f.Sheet, Max: imports.SheetParameter().Longest, Help: f.T("Of an Excel workbook: the name of the sheet with the rows. Left empty, it is the first one that is not hidden.")})
	return err
}

// FileText returns the name of the file, for people.
func (f *Form) FileText() string { return display.Truncate(100, cmp.Or(f.Name, f.T("the file"))) }

// RefusedName returns the name of the file of refused rows.
func (f *Form) RefusedName() string {
	return "refused-" + cmp.Or(strings.TrimSuffix(f.Name, path.Ext(f.Name)), "rows") + ".csv"
}

// MayNext reports whether the token may follow the link of the result.
func (f *Form) MayNext(v *page.View) bool { return v.May(f.About.NextScopes...) }

// refuse adds a mistake that concerns the whole file.
func (f *Form) refuse(text string) { f.Wrong = append(f.Wrong, display.Sentence(text)) }

// preview shows what the rows become. It sends nothing.
func (f *Form) preview(v *page.Visit, u *upload) error {
	head, err := io.ReadAll(io.LimitReader(u.file, maxCarried+1))
	if err != nil {
		return uploadError(err)
	}
	f.text = !imports.IsPacked(head)
	whole := len(head) <= maxCarried && u.form.Get("partial") == "" // a script sends the beginning only
	if !whole && !f.text {                                          // it cannot be read from its beginning
		return f.previewFile(v, u, nil, io.MultiReader(bytes.NewReader(head), u.file))
	}
	if !whole {
		return f.previewHead(v, u, head)
	}
	return f.previewFile(v, u, head, bytes.NewReader(head))
}

// previewHead shows what the rows of the beginning of a file become. Its last line may be cut off; the preview needs none that long.
func (f *Form) previewHead(v *page.Visit, u *upload, head []byte) error {
	return f.previewFile(v, u, nil, bytes.NewReader(head[:bytes.LastIndexByte(head, '\n')+1]))
}

// previewFile shows what the rows of a file become. carried is the whole file, if the form can have it.
func (f *Form) previewFile(v *page.Visit, u *upload, carried []byte, file io.Reader) error {
	if path, _, _ := f.use.Request(); path == "" {
		return nil // said already
	}
	chosen := f.chosen(u.form)
	told, err := f.post(v, u, file, chosen, true)
	again, ok := file.(*bytes.Reader)
	if chosen.Get("header") != "" && changed(err) && ok { // another file is chosen now
		_, _ = again.Seek(0, io.SeekStart) // in memory
		f.Header = ""
		told, err = f.post(v, u, again, f.chosen(url.Values{}), true)
	}
	f.showColumns(told, u.form)
	if carried != nil && len(told.Columns) > 0 {
		f.Carried, f.Total = base64.StdEncoding.EncodeToString(carried), told.Rows
	}
	if err != nil {
		return f.refuseFile(err, len(told.Columns))
	}
	f.showRows(told)
	f.Notes = append(f.Notes, f.use.Notes(f, told, carried != nil)...)
	return nil
}

// chosen returns the parameters that say what the columns are: as the form says, or as they are guessed.
func (f *Form) chosen(fields url.Values) url.Values {
	names := fields["column_name"]
	columns := make([]imports.Column, len(fields["column"]))
	for i, field := range fields["column"] {
		own := ""
		if len(names) == len(columns) {
			own = strings.TrimSpace(names[i])
		}
		columns[i].Field = f.use.ToAPI(field, own)
	}
	if len(columns) == 0 {
		return url.Values{"columns": {imports.Rest + "="}}
	}
	q := url.Values{"columns": {imports.Choices(columns)}}
	if f.Header != "" {
		q.Set("header", f.Header)
	}
	return q
}

// post sends a file to the API. The answer is also that of an error, as far as there is one.
func (f *Form) post(v *page.Visit, u *upload, file io.Reader, query url.Values, dry bool) (*Answer, error) {
	path, own, defaults := f.use.Request()
	maps.Copy(query, own)
	if f.Encoding != "" {
		query.Set("encoding", f.Encoding)
	}
	if f.Sheet != "" {
		query.Set(imports.SheetParameter().Name, f.Sheet)
	}
	if dry {
		query.Set("dry_run", "true")
	}
	return sendToAPI(v.Caller, u, path+"?"+query.Encode(), defaults, file)
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
func (s *Sender) send(f *Form, v *page.Visit, u *upload) error {
	release, ok := s.uploads.Acquire(v.Request.Context(), v.Who.Token, route.AcquireTime)
	if !ok {
		return &page.Problem{Status: http.StatusServiceUnavailable, Detail: v.T("too many files are being sent at once; try again"), Wait: "10"}
	}
	defer release()
	var end func()
	u.sending, end = s.sendings.begin(sendingKey(v, u.form.Get("once")))
	defer end()
	var carried []byte
	if u.carried {
		var err error
		if carried, err = io.ReadAll(io.LimitReader(u.file, maxCarried)); err != nil {
			return uploadError(err)
		}
		u.file = bytes.NewReader(carried)
	}
	return f.sendFile(v, u, carried)
}

// sendFile sends the file, and notes what came of it. carried is the whole file, if the form has it.
func (f *Form) sendFile(v *page.Visit, u *upload, carried []byte) error {
	if u.form["column"] == nil {
		f.refuse(f.T("this file has other columns than the one of the preview; choose it and show the preview first"))
	}
	if len(f.Wrong) > 0 {
		if carried == nil {
			var err error
			if carried, err = io.ReadAll(io.LimitReader(u.file, maxCarried)); err != nil {
				return uploadError(err)
			}
			return f.previewHead(v, u, carried)
		}
		return f.previewFile(v, u, carried, bytes.NewReader(carried))
	}
	told, err := f.post(v, u, u.file, f.chosen(u.form), false)
	if told.Rows > 0 || !refusedWhole(err) {
		f.told = told
		f.end(&Result{Rows: told.Rows, Last: told.LastLine, Refused: told.refused(f.Locale)}, err)
		return nil
	}
	if changed(err) {
		u.form.Del("column")
	} else if carried != nil {
		return f.previewFile(v, u, carried, bytes.NewReader(carried))
	}
	f.showColumns(told, u.form)
	if carried != nil {
		f.Carried = base64.StdEncoding.EncodeToString(carried)
	}
	return f.refuseFile(err, len(told.Columns))
}

// end shows the result; err ended the upload, if it is not nil.
func (f *Form) end(r *Result, err error) {
	f.Result = r
	f.Result.Figures, _ = f.use.Outcome(f.Locale, f.told)
	if err == nil {
		return
	}
	_, p := page.StatusOf(err)
	r.Stopped = p.In(f.Locale)
	if p.Status == http.StatusUnauthorized {
		r.Stopped.Detail = f.T("the session has ended")
	}
}
