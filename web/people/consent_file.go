package people

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/internal/plainjson"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/imports"
	"weir/web/route"
)

// Bounds of a part of a file: its lines are recorded together, since of many that are sorted far fewer pages of the store change than
// of one by one.
const (
	filePart      = 50_000
	filePartBytes = 16 << 20
)

// stateSilent is the state of a row that says nothing.
const stateSilent = "not opted out"

// consentFile is a file that is being recorded: the [imports.Kind] of its rows.
type consentFile struct {
	*consentRoutes
	*consentRows
	call     *route.Call
	check    *httpjson.Checker
	deadline *route.Deadlines
	dry      bool
	refused  *imports.Refused // keeps the rejected rows; nil: the answer has none
	told     api.ConsentFile
	inFlight int
}

// recordFile records a file of consents.
func (r *consentRoutes) recordFile(c *route.Call, w http.ResponseWriter, rt *route.Route) error {
	if c.Request.ContentLength > r.maxImport {
		httpjson.Discard(c.Request.Body)
		return route.ReadError(&http.MaxBytesError{Limit: r.maxImport})
	}
	release, err := route.AcquireTransfer(c, r.downloads.Transfers)
	if err != nil {
		return err
	}
	defer release()
	f := &consentFile{
		consentRoutes: r, consentRows: newConsentRows(c.Principal.ID(), c.Query.Text("run"), r.purposes.Purposes(), r.now),
		call: c, check: rt.Check, deadline: route.NewDeadlines(w), dry: c.DryRun(), told: api.ConsentFile{Errors: []respondents.RowError{}},
	}
	f.deadline.ExtendRead()
	c.Request.Body = http.MaxBytesReader(w, c.Request.Body, r.maxImport)
	err = f.load(rt)
	if f.refused != nil {
		defer func() { _ = f.refused.Close() }()
	}
	if err != nil {
		f.deadline.LastRead = time.Time{} // so that reading extends the deadline for the rest
		f.deadline.ExtendRead()
		httpjson.Discard(c.Request.Body)
	}
	route.Note(w, f.dry, recorded(f.told.Refused, f.told.Given))
	return f.answer(w, err)
}

// load reads the file to its end.
func (f *consentFile) load(rt *route.Route) error {
	u, err := imports.OpenUpload(f.call.Request, f.deadline, append([]string{httpjson.JSONType}, rt.Uploads...), nil)
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
	}
	// The context of a request ends when reading fails, before all that was received is recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.call), route.TransferTime)
	defer cancel()
	o := imports.Options{BatchRows: filePart, BatchBytes: filePartBytes, Refused: f.refused, Ready: imports.Ready(f.call, f.downloads.Ending)}
	if table.Columns == nil { // lines may have no keys
		o.Tries = 1
	}
	report, err := imports.Run(ctx, f, table, columns, o)
	f.summarize(report, table, columns)
	if err != nil {
		return route.ReadError(err)
	}
	f.told.LastLine = 0
	return nil
}

// mapColumns says what the columns of a file are.
func (f *consentFile) mapColumns(table *imports.Table) ([]imports.Column, error) {
	q := f.call.Query
	if table.Columns == nil {
		if q.Text("columns") != "" || q.Text("header") != "" || q.Text("run") != "" {
			return nil, weir.Errorf(weir.CodeInvalid, "columns, header and run are of a file in CSV")
		}
		return nil, nil
	}
	columns, wrong := ConsentColumns(table.Columns, q.Text("columns"))
	if changed := imports.CheckHeader(q.Text("header"), table.Columns); changed != nil {
		wrong = changed
	}
	if len(wrong) == 0 {
		return columns, nil
	}
	f.told.Header, f.told.Columns = imports.Sum(table.Columns), imports.ColumnsOf(columns, wrong, table.FirstValues(), f.call.PII(), fieldTo)
	return nil, httpjson.Invalid(wrong)
}

// Read implements [imports.Kind].
func (f *consentFile) Read(columns []imports.Column, cells []string) (people.Consent, *imports.Mistake) {
	return f.consent(columns, cells)
}

// Object implements [imports.Kind].
func (f *consentFile) Object(line string) (people.Consent, *imports.Mistake) {
	v, err := plainjson.Parse([]byte(line))
	if err != nil {
		return people.Consent{}, &imports.Mistake{Reason: "is not JSON: " + err.Error()}
	}
	body, _ := v.(map[string]any)
	maps.DeleteFunc(body, func(name string, _ any) bool { return respondents.IsRemark(name) })
	var m validation.Errors
	const at = "/consents/0"
	f.check.Check(map[string]any{"consents": []any{v}}, "", &m)
	var one people.Consent
	if len(m) == 0 {
		one = f.consentOf(body, f.by, f.known, at, &m)
	}
	if len(m) == 0 {
		return one, nil
	}
	return people.Consent{}, &imports.Mistake{Column: strings.TrimPrefix(strings.TrimPrefix(m[0].Pointer, at), "/"), Reason: m[0].Detail}
}

// Store implements [imports.Kind].
func (f *consentFile) Store(ctx context.Context, rows []*imports.Row[people.Consent]) error {
	f.deadline.ClearRead() // it may take long
	defer func() {
		f.deadline.LastRead = time.Time{}
		f.deadline.ExtendRead()
	}()
	rows = slices.Clone(rows)
	rows = slices.DeleteFunc(rows, func(r *imports.Row[people.Consent]) bool {
		if r.Value.Status == "" {
			r.State = stateSilent
		}
		return r.State != ""
	})
	list := make([]people.Consent, len(rows))
	for i, row := range rows {
		list[i] = row.Value
	}
	var states []people.State
	if !f.dry && len(list) > 0 {
		var err error
		if states, err = f.consents.ImportConsents(ctx, list); err != nil {
			return err
		}
		f.inFlight += f.callOff(ctx, list, states)
	}
	for i, row := range rows {
		row.State = string(list[i].Status)
		if !people.IsPossibleNumber(list[i].Address) {
			f.told.NoNumbers++
		}
		if states != nil && states[i].Status != list[i].Status {
			f.told.Superseded++
		}
	}
	return nil
}

// summarize makes the answer of the report.
func (f *consentFile) summarize(r *imports.Report[people.Consent], table *imports.Table, columns []imports.Column) {
	t := &f.told
	t.Rows, t.Rejected, t.LastLine, t.Errors = r.Rows, r.Rejected, r.LastLine, imports.Listed(r.Reasons)
	t.Refused, t.Given, t.Silent = r.States[string(people.Refused)], r.States[string(people.Given)], r.States[stateSilent]
	if f.refused != nil && f.refused.Kept < r.Rejected {
		t.Kept = f.refused.Kept
	}
	pii := f.call.PII()
	if !pii { // as in [consentRoutes.record]
		t.Superseded, f.inFlight = 0, 0
		for n := range t.Errors { // a column is named by its header, which may be a row in a file without one
			t.Errors[n].Column = auth.MaskText(t.Errors[n].Column)
		}
	}
	if !f.dry {
		return
	}
	if table.Columns != nil {
		t.Header, t.Columns = imports.Sum(table.Columns), imports.ColumnsOf(columns, nil, r.Values, pii, fieldTo)
	}
	for i := range r.First {
		if r.First[i].State != stateSilent {
			t.First = append(t.First, consentRow(&r.First[i], pii))
		}
	}
}

// consentRow returns a row for the preview.
func consentRow(r *imports.Row[people.Consent], pii bool) api.ConsentRow {
	c := &r.Value
	out := api.ConsentRow{Line: r.Line, To: plainAddress(c.Address), Status: string(c.Status), Purpose: c.Purpose, Words: c.Words}
	if !c.At.IsZero() {
		out.At = c.At
	}
	if !pii {
		out.To, out.Words = auth.MaskNumber(out.To), auth.MaskText(out.Words)
	}
	return out
}

// answer writes what became of the file, or how far it came.
func (f *consentFile) answer(w http.ResponseWriter, err error) error {
	if err != nil && f.told.Rows == 0 && f.told.Columns == nil {
		return err
	}
	f.deadline.ExtendWrite()
	if err == nil {
		f.deadline.ClearRead()
		return imports.Answer(w, f.call.Request, f.deadline, f.refused, api.StateList{States: []api.StateView{}, InFlight: f.inFlight, File: &f.told}, f.told.ConsentFigures)
	}
	_ = json.NewEncoder(w).Encode(api.ConsentProblem{Problem: httpjson.WriteProblemHead(w, err), File: &f.told}) // a disconnected client is not an error
	return nil
}
