package surveys

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/imports"
	"weir/web/route"
)

// fileImport is an import of a file on its way: the [imports.Kind] of its rows.
type fileImport struct {
	importer
	call    *route.Call
	strict  bool // nothing is loaded if any row is bad
	dry     bool
	whole   bool // the file was read to its end
	rows    *respondents.Rows
	names   []string // of the columns, as attributes or phone; empty: it is ignored
	told    api.ImportView
	refused *imports.Refused // nil: the answer has none
}

// importFile adds the respondents of a file of any length, row by row.
func (s importRoute) importFile(c *route.Call, w http.ResponseWriter, v surveys.Survey, rt *route.Route) error {
	f := &fileImport{
		call: c, strict: c.Query.Text("on_error") != "skip", dry: c.Query.Bool("dry_run"), rows: respondents.NewRows(v.Definition.Region), told: api.ImportView{Errors: []respondents.RowError{}},
		importer: importer{importTarget: s.into, survey: v, distinct: c.Query.Text("duplicates") == "error", update: c.Query.Text("duplicates") == "update"},
	}
	var err error
	switch {
	case c.Request.ContentLength > s.maxImport:
		err = route.ReadError(&http.MaxBytesError{Limit: s.maxImport})
	case f.update && f.strict && !f.dry:
		c.Errors.Add("/duplicates", "content", "update requires on_error=skip: respondents are corrected before the whole file is read")
		err = c.Invalid()
	}
	if err != nil {
		httpjson.Discard(c.Request.Body)
		return err
	}
	release, err := route.AcquireTransfer(c, s.transfers)
	if err != nil {
		return err
	}
	defer release()
	p := route.NewDeadlines(w)
	p.ExtendRead()
	c.Request.Body = http.MaxBytesReader(w, c.Request.Body, s.maxImport)
	err = f.load(p, rt)
	if f.refused != nil {
		defer func() { _ = f.refused.Close() }()
	}
	if f.told.Added+f.told.Updated > 0 && !f.dry {
		s.changed(v.ID)
	}
	if err != nil {
		p.LastRead = time.Time{} // so that reading extends the deadline for the rest, however recent the last row was
		p.ExtendRead()
		httpjson.Discard(c.Request.Body)
	}
	return f.answer(w, p, err)
}

// load reads to the end, then commits a strict import or rolls it back.
func (f *fileImport) load(p *route.Deadlines, rt *route.Route) error {
	u, err := imports.OpenUpload(f.call.Request, p, append([]string{httpjson.JSONType}, rt.Uploads...), nil)
	if err != nil {
		return err
	}
	table, err := u.Table(f.call.Query)
	if err != nil {
		return err
	}
	defer func() { _ = table.Close() }()
	columns, err := f.mapColumns(table)
	if err != nil {
		return err
	}
	if !f.dry {
		if f.refused, err = imports.KeepRefused(f.call.Request, table); err != nil {
			return err
		}
		if f.strict && f.refused != nil {
			f.refused.Max = maxProblemFile
		}
		if err := f.begin(f.call); err != nil {
			return err
		}
	}
	// The request's context ends when reading fails, before all received rows
	// are processed: storing them must not depend on it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.call), route.TransferTime)
	defer cancel()
	o := imports.Options{Refused: f.refused, Whole: f.strict && !f.distinct && !f.dry, Ready: f.ready(ctx), Stored: func() { p.ExtendRead(); p.ExtendWrite() }}
	if f.strict || f.distinct { // an answer that is lost must not make duplicates of the same rows
		o.Tries = 1
	}
	report, err := imports.Run(ctx, f, table, columns, o)
	f.summarize(report, table, columns)
	if f.whole = err == nil; f.whole {
		p.ClearRead()
		err = f.commit(ctx)
	} else if weir.CodeOf(err) == weir.CodeInternal { // of the body
		err = route.ReadError(err)
	}
	if err != nil && f.id != 0 {
		f.told.Added, f.told.LastLine = 0, 0
		f.abort(ctx)
	}
	return err
}

// ready returns the check before each batch.
func (f *fileImport) ready(ctx context.Context) func() error {
	ready := imports.Ready(f.call, f.ending)
	return func() error {
		if ctx.Err() != nil {
			return &httpjson.MalformedError{Detail: "the import took longer than " + route.TransferTime.String()}
		}
		return ready()
	}
}

// mapColumns says what the columns of a file are.
func (f *fileImport) mapColumns(table *imports.Table) ([]imports.Column, error) {
	q := f.call.Query
	if table.Columns == nil {
		if q.Text("phone") != "" || q.Text("columns") != "" || q.Text("header") != "" {
			return nil, weir.Errorf(weir.CodeInvalid, "phone, columns and header are of a file in CSV")
		}
		return nil, nil
	}
	columns, wrong := MapColumns(table.Columns, q.Text("phone"), q.Text("columns"))
	if changed := imports.CheckHeader(q.Text("header"), table.Columns); changed != nil {
		wrong = changed
	}
	for _, c := range columns {
		f.names = append(f.names, strings.TrimPrefix(c.Field, attributeField))
	}
	if len(wrong) == 0 {
		return columns, nil
	}
	if f.dry || q.Text("header") != "" {
		f.told.Header, f.told.Columns = imports.Sum(table.Columns), f.columnsOf(columns, wrong, table.FirstValues())
	}
	return nil, &weir.Error{Code: weir.CodeInvalid, Message: columnsError(&wrong[0]), Fields: wrong}
}

// columnsOf returns columns for the answer; the field of an attribute is its name.
func (f *fileImport) columnsOf(columns []imports.Column, wrong []weir.FieldError, values [][]string) []api.ImportColumn {
	list := imports.ColumnsOf(columns, wrong, values, f.call.PII(), respondents.FieldPhone)
	for i := range list {
		list[i].Field = strings.TrimPrefix(list[i].Field, attributeField)
	}
	return list
}

// attributeField is the field of columns that are attributes.
const attributeField = "attribute."

// columnsError returns the error of a file by its first mistake.
func columnsError(e *weir.FieldError) string {
	n, err := strconv.Atoi(strings.TrimPrefix(e.Pointer, "/columns/"))
	if err != nil {
		return e.Detail
	}
	return fmt.Sprintf("column %d: %s", n+1, e.Detail)
}

// MapColumns says what the columns of a file are: attributes of their names, unless phone names that
// of the phone number, or the list chosen says which ones are what; see the parameters of the route.
func MapColumns(headers []string, phone, chosen string) ([]imports.Column, []weir.FieldError) {
	fields := []imports.Field{
		{Name: respondents.FieldPhone, Headers: []string{respondents.FieldPhone}, Required: true, Missing: "the first line must name the columns, one of them phone"},
		{Name: attributeField, Many: true, Wrong: wrongAttribute},
	}
	var items []string
	if phone != "" {
		items = append(items, phone+"="+respondents.FieldPhone)
	}
	list, err := respondents.SplitList(chosen)
	if err != nil {
		return make([]imports.Column, len(headers)), []weir.FieldError{{Pointer: "/columns", Code: "format", Detail: "must be a list of columns, separated by commas: " + err.Error()}}
	}
	named := func(header string) (string, bool) { return respondents.NameOf(header), true }
	switch {
	case chosen == "":
		fields[1].NameOf = named
	case slices.Contains(list, imports.Rest+"="):
		fields[0].Headers, fields[1].NameOf = respondents.PhoneHeaders(), named
		fallthrough
	default:
		items = append(items, imports.Rest+"=")
	}
	for _, item := range list {
		if item == imports.Rest+"=" || chosen == "" {
			continue
		}
		column, name, renamed := strings.Cut(item, "=")
		switch name = respondents.NameOf(cmp.Or(name, column)); {
		case renamed && strings.HasSuffix(item, "="):
			items = append(items, column+"=")
		case name == respondents.FieldPhone:
			items = append(items, column+"="+name)
		default:
			items = append(items, column+"="+attributeField+name)
		}
	}
	limit := respondents.MaxAttributes + 1
	for i, ignored := range respondents.Ignored(headers) { // of the results of another survey
		if ignored {
			items = append(items, "#"+strconv.Itoa(i+1)+"=")
		}
		if ignored || respondents.IsRemark(respondents.NameOf(headers[i])) {
			limit++
		}
	}
	columns, wrong := imports.Map(fields, limit, headers, respondents.JoinList(items))
	for i, e := range wrong {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Pointer, "/columns/"))
		if err == nil && e.Code == "duplicate" { // its name is valid, and may be quoted
			wrong[i].Detail = strings.TrimPrefix(columns[n].Field, attributeField) + " is listed twice"
		}
	}
	return columns, wrong
}

// wrongAttribute returns what is wrong with the name of an attribute. It must not quote the name:
// in a file without a header it may be a phone number.
func wrongAttribute(name string) string {
	switch {
	case !respondents.ValidName(name):
		return respondents.NameRule
	case respondents.BuiltIn(name):
		return name + " is the name of a template field"
	}
	return ""
}

func (f *fileImport) begin(ctx context.Context) (err error) {
	if !f.strict {
		return nil
	}
	ctx, cancel := route.StepTimeout(ctx)
	defer cancel()
	f.id, err = f.importer.importer.BeginImport(ctx, f.survey.ID)
	return err
}

// Read implements [imports.Kind].
func (f *fileImport) Read(_ []imports.Column, cells []string) (respondents.Row, *imports.Mistake) {
	return rowOf(f.rows.OfCells(f.names, cells))
}

// Object implements [imports.Kind].
func (f *fileImport) Object(text string) (respondents.Row, *imports.Mistake) {
	return rowOf(f.rows.OfObject(text))
}

func rowOf(row respondents.Row, bad *respondents.RowError) (respondents.Row, *imports.Mistake) {
	if bad != nil {
		return row, &imports.Mistake{Column: bad.Column, Reason: bad.Reason}
	}
	return row, nil
}

// Store implements [imports.Kind]. It reads the survey again: meanwhile it may have ended, or its
// quotas may have changed.
func (f *fileImport) Store(ctx context.Context, rows []*imports.Row[respondents.Row]) error {
	ctx, cancel := route.StepTimeout(ctx)
	defer cancel()
	v, err := f.store.SurveyByID(ctx, f.survey.ID)
	if err == nil {
		err = checkAcceptsRespondents(v)
	}
	if err != nil {
		return err
	}
	f.complete(v, rows)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r *imports.Row[respondents.Row]) bool { return r.Wrong != nil || r.State != "" })
	list := make([]respondents.Row, len(rows))
	for i, r := range rows {
		list[i] = r.Value
	}
	if len(rows) == 0 {
		return nil
	}
	if f.dry {
		for _, r := range rows {
			r.State = stateAdded
		}
		f.told.Added += len(rows)
		return nil
	}
	added, err := f.importer.importer.Add(ctx, v.ID, f.id, f.respondents(v, list))
	if err != nil {
		return err
	}
	for i, a := range added {
		if !a.Duplicate {
			rows[i].State = stateAdded
			f.told.Added++
		}
	}
	corrected := make([]surveys.Corrected, len(added))
	if f.update {
		if corrected, err = f.correctDuplicates(ctx, list, added); err != nil {
			return err
		}
	}
	return f.duplicates(rows, added, corrected)
}

// States of the rows of an import.
const (
	stateAdded     = "added"
	stateDuplicate = "duplicate"
)

// complete rejects rows that lack an attribute used by the content of a
// launched survey: the launch would have been refused because of them. A dry run
// counts those of a draft.
func (f *fileImport) complete(v surveys.Survey, rows []*imports.Row[respondents.Row]) {
	lacks := missingAttributes(v)
	if f.dry && v.State == surveys.Draft {
		if plan, _ := v.Definition.Compile(surveys.Defaults{}); plan != nil {
			for _, r := range rows {
				for _, name := range plan.MissingAttributes(r.Value.Attributes) {
					if f.told.Missing == nil {
						f.told.Missing = map[string]int{}
					}
					f.told.Missing[name]++
				}
			}
		}
	}
	for _, r := range rows {
		if names := lacks(r.Value.Attributes); len(names) > 0 {
			r.Refuse(names[0], errMissingAttribute(names[0]))
		}
	}
}

// duplicates says of duplicates what came of them.
func (f *fileImport) duplicates(rows []*imports.Row[respondents.Row], added []surveys.Added, corrected []surveys.Corrected) error {
	unsure := false
	for i, a := range added {
		if unsure = unsure || a.Unsure; !a.Duplicate {
			continue
		}
		r := rows[i]
		r.State = stateDuplicate
		f.told.Duplicates++
		if corrected[i].Changed {
			f.told.Updated++
		}
		if err := corrected[i].Err; err != nil {
			r.Refuse(respondents.FieldPhone, err.Error())
		}
		if f.distinct {
			r.Refuse(respondents.FieldPhone, duplicateNumber)
		}
	}
	if unsure {
		return errOtherImport()
	}
	return nil
}

// commit makes a strict import visible if no row was bad.
func (f *fileImport) commit(ctx context.Context) error {
	if f.id == 0 {
		return nil
	}
	if f.told.Rejected > 0 {
		return weir.Errorf(weir.CodeInvalid, "%s invalid; nothing was loaded", rowsAre(f.told.Rejected))
	}
	v, err := f.store.SurveyByID(ctx, f.survey.ID)
	if err == nil && v.State != f.survey.State && f.survey.State == surveys.Draft {
		err = weir.Errorf(weir.CodeConflict, "survey %s was launched during the import; import the rows again", v.Name)
	}
	if err != nil {
		return err
	}
	imp := f.id
	f.id = 0 // from here on it must not be aborted, whatever the result
	return f.importer.importer.CommitImport(ctx, f.survey.ID, imp)
}

func rowsAre(n int) string {
	if n == 1 {
		return "1 row is"
	}
	return fmt.Sprintf("%d rows are", n)
}

// summarize makes the answer of the report.
func (f *fileImport) summarize(r *imports.Report[respondents.Row], table *imports.Table, columns []imports.Column) {
	f.told.Rows, f.told.Rejected, f.told.LastLine, f.told.Errors = r.Rows, r.Rejected, r.LastLine, imports.Listed(r.Reasons)
	if f.refused != nil && f.refused.Kept < r.Rejected {
		f.told.Kept = f.refused.Kept
	}
	if !f.dry {
		return
	}
	if table.Columns != nil {
		f.told.Header, f.told.Columns = imports.Sum(table.Columns), f.columnsOf(columns, nil, r.Values)
	}
	for i := range r.First {
		row := api.RespondentRow{Line: r.First[i].Line, Phone: r.First[i].Value.Phone, Attributes: r.First[i].Value.Attributes}
		if !f.call.PII() {
			row.Phone, row.Attributes = auth.MaskNumber(row.Phone), auth.MaskValues(row.Attributes, row.Phone)
		}
		f.told.First = append(f.told.First, row)
	}
}

// answer writes the result of the import.
func (f *fileImport) answer(w http.ResponseWriter, p *route.Deadlines, err error) error {
	if err != nil && f.told.Rows == 0 && f.told.Columns == nil {
		return err
	}
	p.ExtendWrite()
	t := &f.told
	if err == nil {
		t.LastLine = 0
		return imports.Answer(w, f.call.Request, p, f.refused, t, map[string]int{"rows": t.Rows, "added": t.Added, "duplicates": t.Duplicates, "updated": t.Updated, "rejected": t.Rejected, "kept": t.Kept})
	}
	problem := api.ImportProblem{Problem: httpjson.WriteProblemHead(w, err), Import: t}
	if f.whole && f.refused != nil {
		var file strings.Builder
		_, _ = f.refused.WriteTo(&file) // without it, the first reasons are listed all the same
		problem.File = file.String()
	}
	_ = json.NewEncoder(w).Encode(problem) // a disconnected client is not an error
	return nil
}

// maxProblemFile bounds the rejected rows in a problem, in bytes.
const maxProblemFile = 4 << 20
