package dashboard

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"

	"weir/surveys/respondents"
	"weir/web/dashboard/display"
	surveyapi "weir/web/surveys"
)

// importForm is the data of the page that imports respondents.
type importForm struct {
	Survey     string
	Encoding   string
	Encodings  []string
	Duplicates string
	Columns    []csvUse // nil: no file was chosen yet
	Carried    string   // the file; empty: it has to be chosen once more
	Wrong      []string // with the mapping
	Problem    *problem
	Result     *importResult
}

// importResult is what came of an import.
type importResult struct {
	Added, Updated, Unchanged int
	Refused                   *refusedRows
	File                      string // the refused rows
	Cut                       *problem
	LastLine                  int // of an import that broke off
}

// Uses returns what a column can be.
func (*importForm) Uses() []option {
	return []option{{respondents.FieldPhone, "phone number"}, {csvAttribute, "attribute"}, {csvSkip, "not imported"}}
}

// DuplicateChoices returns what can become of numbers that the survey has.
func (*importForm) DuplicateChoices() []option {
	return []option{{"skip", "keep the respondent as it is"}, {"update", "update its attributes, if it was not contacted yet"}}
}

// phoneColumns maps usual headers to the field of an import.
func phoneColumns() map[string]string {
	fields := map[string]string{}
	for _, name := range []string{"phone", "phone_number", "telephone", "mobile", "msisdn", "number", "tel", "telefono", "celular"} {
		fields[name] = respondents.FieldPhone
	}
	return fields
}

func newImportForm(survey string) *importForm {
	return &importForm{Survey: survey, Encodings: respondents.Encodings(), Duplicates: "skip"}
}

func (f *importForm) content() *content {
	return &content{title: "Import respondents of " + f.Survey, crumbs: surveyCrumbs(f.Survey, crumb{Text: "Import"}), data: f}
}

func loadImport(v *visit) (*content, error) {
	s, err := readSurvey(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return newImportForm(s.Survey).content(), nil
}

// postImport shows the beginning of a file, or imports it.
func postImport(v *visit, w http.ResponseWriter) (*content, error) {
	s, err := readSurvey(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := newImportForm(s.Survey)
	u, err := readUpload(v, w)
	if err != nil {
		return f.failed(err)
	}
	defer u.drain()
	if encoding := u.form.Get("encoding"); slices.Contains(f.Encodings, encoding) {
		f.Encoding = encoding
	}
	if u.form.Get("duplicates") == "update" {
		f.Duplicates = "update"
	}
	if u.file == nil {
		return f.failed(&problem{Status: http.StatusUnprocessableEntity, Detail: "choose a file"})
	}
	if u.form.Get("step") == "import" {
		return f.run(v, u)
	}
	return f.preview(u)
}

func (f *importForm) failed(err error) (*content, error) {
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.Problem = p
	c := f.content()
	c.status = status
	return c, nil
}

// preview shows the first rows and proposes a mapping.
func (f *importForm) preview(u *upload) (*content, error) {
	head, err := io.ReadAll(io.LimitReader(u.file, maxCarried+1))
	if err != nil {
		return f.failed(errCut(err))
	}
	table, err := openTable(bytes.NewReader(head), f.Encoding)
	if err != nil {
		return f.failed(err)
	}
	first := previewOf(table)
	f.Columns = guessUses(first.Header, phoneColumns())
	f.show(first)
	if len(head) <= maxCarried && u.form.Get("partial") == "" {
		f.Carried = base64.StdEncoding.EncodeToString(head)
	}
	return f.content(), nil
}

// show adds the first values of each column.
func (f *importForm) show(first *csvPreview) {
	for i := range f.Columns {
		for _, row := range first.Rows {
			f.Columns[i].Values = append(f.Columns[i].Values, row[i])
		}
	}
}

// run imports a file in requests of at most batchRows rows. Since a number is in a survey once,
// the import can be repeated after a cut.
func (f *importForm) run(v *visit, u *upload) (*content, error) {
	var carried []byte
	if u.carried {
		var err error
		if carried, err = io.ReadAll(io.LimitReader(u.file, maxCarried)); err != nil {
			return f.failed(uploadError(err))
		}
		u.file = bytes.NewReader(carried)
	}
	table, err := openTable(u.file, f.Encoding)
	if err != nil {
		return f.failed(err)
	}
	header, _ := table.Header()
	uses, wrong := readUses(header, u.form, respondents.FieldPhone)
	if len(wrong) > 0 {
		f.Columns, f.Wrong, f.Carried = uses, wrong, base64.StdEncoding.EncodeToString(carried)
		f.show(previewOf(table))
		c := f.content()
		c.status = http.StatusUnprocessableEntity
		return c, nil
	}
	r := &importResult{Refused: newRefusedRows(table)}
	f.Result = r
	path := apiPath("v1", "surveys", f.Survey, "respondents") + "?" + url.Values{"on_error": {"skip"}, "duplicates": {f.Duplicates}}.Encode()
	err = csvBatches(table, uses, r.Refused.add, func(batch []csvRecord) error {
		u.deadlines.ExtendRead()
		u.deadlines.ExtendWrite()
		return r.send(v.caller, path, batch)
	})
	if err != nil {
		var status int
		if status, r.Cut = statusOf(err); status == http.StatusUnauthorized {
			return nil, err
		}
	}
	r.File, err = r.Refused.File()
	c := f.content()
	c.flash = &flash{Text: r.Text(), Bad: r.Cut != nil}
	if r.Cut != nil {
		c.status = r.Cut.Status
	}
	return c, err
}

// send imports the rows of a batch.
func (r *importResult) send(c *caller, path string, batch []csvRecord) error {
	rows, err := ndjsonOf(batch)
	if err != nil {
		return err
	}
	var done surveyapi.ImportView
	if err := c.upload(path, surveyapi.NDJSONType, rows, &done); err != nil {
		return err
	}
	r.Added, r.Updated = r.Added+done.Added, r.Updated+done.Updated
	// A duplicate that could not be updated is among the rejected rows, too.
	rejectedDuplicates := done.Added + done.Duplicates + done.Rejected - len(batch)
	r.Unchanged += done.Duplicates - done.Updated - rejectedDuplicates
	for _, why := range done.Errors {
		if i := why.Line - 1; i >= 0 && i < len(batch) { // a line for each row
			r.Refused.add(batch[i], why)
		}
	}
	r.LastLine = batch[len(batch)-1].Line
	return nil
}

// Text returns the result as a sentence.
func (r *importResult) Text() string {
	text := display.Plural(int64(r.Added), "respondent was added", "respondents were added")
	if r.Updated > 0 {
		text += ", " + display.Plural(int64(r.Updated), "was updated", "were updated")
	}
	if r.Cut != nil {
		return "The import broke off: " + text + "."
	}
	return text + "."
}
