package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/plainjson"
	"weir/operators"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/imports"
	"weir/web/route"
)

// maxDefaults bounds the part contact of an import, in bytes.
const maxDefaults = 256 << 10

func (r *acceptRoutes) importRoute(post *route.Route) *route.Route {
	rt := &route.Route{
		Method: "POST", Path: "/v1/channels/{channel}/contacts:import", ID: "import-contacts", Tag: "contacts",
		Summary: "Queue the contacts of a file on a channel",
		Description: "A file of any length, read row by row: text/csv (the first line names the columns; commas, semicolons or tabs separate them), an Excel workbook, or application/x-ndjson (one contact a line, as in POST …/contacts). " +
			"Or as multipart/form-data: first a part contact, JSON with the fields that rows leave out, then a part file. " +
			"Rows are queued up to 1000 at a time. Those that cannot be are rejected, and the others queued. A row without a key gets one of its content, its channel and the run, so that the same file can be sent again, after an interruption or mended, and nobody is contacted twice. " +
			"The import ends when the connection does; what was queued stays. If it stops early, import in the problem says how far it came. " +
			"Accept: text/csv, or application/x-ndjson for such a file, answers with the rejected rows, each with its reason, in the format of the file, at most 64 MiB; the header Weir-Import has the figures as JSON. Accept: multipart/mixed answers with both. Whoever mends the rows can send them as they are: the columns weir_line, weir_column and weir_reason are ignored. " +
			imports.XLSXHelp() +
			"The connection is closed when no row has come for 30 seconds. Bounds: 100 columns, 64 kB a row of CSV, 1 MB a line of NDJSON.",
		Query: []httpjson.Parameter{
			{Name: "dry_run", Kind: "boolean", Description: "queue nothing: check the rows, and show what the columns are and what the first rows become"},
			{Name: "columns", Kind: "string", Longest: 16 << 10, Description: "what columns of CSV are, as COLUMN=FIELD, separated by commas; quoted as in CSV if it has one. COLUMN is the name in the file, or #3 for the third column; FIELD is " + strings.Join(api.ContactColumns(), ", ") + " or label.NAME, or empty: the column is left out. *= leaves out all whose names are not understood, which are refused otherwise. The other columns are what their names say"},
			{Name: "header", Kind: "string", Description: "refuse a file of CSV with other columns than those of the dry run that has answered this header: columns by number would be others"},
			{Name: "encoding", Kind: "string", Enum: respondents.Encodings(), Single: true, Description: "of the file; absent: the charset of the content type, else as the file says, UTF-8, or windows-1252 of CSV"},
			imports.SheetParameter(),
			{Name: "run", Kind: "string", Description: "name of the run: under another one the same rows are queued again"},
			{Name: "from_line", Kind: "integer", Minimum: 0, Maximum: 1 << 40, Description: "leave out the rows of earlier lines"},
		},
		BodyLimit: route.MaxImport, Uploads: imports.Types(),
		Answers:  []route.Answer{{Status: http.StatusOK, Description: "what came of the rows", Body: route.TypeOf[api.ContactImport]()}},
		OnDemand: []string{route.CSVType, route.NDJSONType, imports.MixedType},
		Refusal:  route.TypeOf[api.ContactImportProblem](),
		Codes:    []weir.Code{weir.CodeNotFound, weir.CodeConflict},
	}
	rt.Serve = func(c *route.Call, w http.ResponseWriter) error {
		i := &contactImport{r: r, post: post, call: c, dry: c.Query.Bool("dry_run"), reached: map[string]reached{}}
		err := i.serve(w, rt)
		route.Note(w, i.dry, i.changes())
		return err
	}
	return rt
}

// ContactFields are what columns of a file of contacts can be.
func ContactFields() []imports.Field {
	usual := respondents.ContactHeaders()
	list := []imports.Field{{Name: "label.", Many: true}}
	for _, name := range api.ContactColumns() {
		headers := append([]string{respondents.PlainHeader(name)}, usual[name]...)
		list = append(list, imports.Field{Name: name, Headers: headers, Required: name == "to", Many: name == "message"})
	}
	return list
}

// contactImport is an import of contacts on its way.
type contactImport struct {
	r       *acceptRoutes
	post    *route.Route // whose schema and handler take the rows
	call    *route.Call
	dry     bool
	rows    contactKind
	reached map[string]reached // by purpose
	report  *imports.Report[importedContact]
	told    api.ContactImport
}

// serve imports the file of the request, and answers.
func (i *contactImport) serve(w http.ResponseWriter, rt *route.Route) error {
	c := i.call
	var release func()
	err := i.check()
	if err == nil {
		release, err = route.AcquireTransfer(c, i.r.downloads.Transfers)
	}
	if err != nil {
		httpjson.Discard(c.Request.Body)
		return err
	}
	defer release()
	p := route.NewDeadlines(w)
	p.ExtendRead()
	c.Request.Body = http.MaxBytesReader(w, c.Request.Body, rt.BodyLimit)
	refused, err := i.run(p, rt)
	if refused != nil {
		defer func() { _ = refused.Close() }()
	}
	if err != nil {
		p.LastRead = p.LastRead.Add(-route.IdleTime) // so that the rest gets time, however recent the last row was
		p.ExtendRead()
		httpjson.Discard(c.Request.Body)
		p.ExtendWrite()
		if i.report == nil && i.told.Columns == nil {
			return err
		}
		_ = json.NewEncoder(w).Encode(api.ContactImportProblem{Problem: httpjson.WriteProblemHead(w, err), Import: &i.told}) // a disconnected client is not an error
		return nil
	}
	p.ClearRead()
	p.ExtendWrite()
	return i.answer(w, p, refused)
}

// check refuses a channel that takes no contacts before its file is read.
func (i *contactImport) check() error {
	ctx, cancel := route.StepTimeout(i.call)
	defer cancel()
	ch, err := i.r.lookup.named(ctx, i.call.Request.PathValue("channel"))
	if err == nil && ch.Deleting {
		err = weir.Errorf(weir.CodeConflict, "channel %s is being deleted and takes no contacts", ch.Name)
	}
	return err
}

// run reads the file to its end. An answer may have the refused rows, which the caller closes.
func (i *contactImport) run(p *route.Deadlines, rt *route.Route) (refused *imports.Refused, err error) {
	c := i.call
	var defaults map[string]any
	u, err := imports.OpenUpload(c.Request, p, rt.Uploads, map[string]func(io.Reader) error{"contact": func(part io.Reader) (err error) {
		defaults, err = readDefaults(part)
		return err
	}})
	if err != nil {
		return nil, err
	}
	table, err := u.Table(c.Query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = table.Close() }()
	if u.Format == respondents.NDJSON && c.Query.Text("columns") != "" {
		return nil, weir.Errorf(weir.CodeInvalid, "columns are those of a file in CSV")
	}
	i.rows = contactKind{channel: c.Request.PathValue("channel"), run: c.Query.Text("run"), defaults: defaults, take: i.take}
	var columns []imports.Column
	if table.Columns != nil {
		var wrong []weir.FieldError
		if columns, wrong = mapColumns(c, table.Columns); len(wrong) > 0 {
			i.told = api.ContactImport{Errors: []respondents.RowError{}, ImportColumns: api.ImportColumns{Header: imports.Sum(table.Columns), Columns: imports.ColumnsOf(columns, wrong, table.FirstValues(), c.PII(), "to")}}
			return nil, httpjson.Invalid(wrong)
		}
	}
	if !i.dry {
		if refused, err = imports.KeepRefused(c.Request, table); err != nil {
			return nil, err
		}
	}
	i.report, err = imports.Run(c, &i.rows, table, columns, imports.Options{
		From: c.Query.Int("from_line"), Refused: refused, Ready: imports.Ready(c, i.r.downloads.Ending),
		Stored: func() { p.ExtendRead(); p.ExtendWrite() },
	})
	i.summarize(columns)
	if i.dry && table.Columns != nil {
		i.told.Header = imports.Sum(table.Columns)
	}
	if err != nil {
		if refused != nil {
			_ = refused.Close()
		}
		return nil, imports.EndOf(c, err)
	}
	return refused, nil
}

// mapColumns says what the columns of a file are, and what is wrong with them.
func mapColumns(c *route.Call, headers []string) ([]imports.Column, []weir.FieldError) {
	if wrong := imports.CheckHeader(c.Query.Text("header"), headers); wrong != nil {
		columns, _ := imports.Map(ContactFields(), imports.MaxColumns, headers, imports.Rest+"=")
		return columns, wrong
	}
	return imports.Map(ContactFields(), imports.MaxColumns, headers, c.Query.Text("columns"))
}

// summarize makes the answer of the report.
func (i *contactImport) summarize(columns []imports.Column) {
	r := i.report
	i.told = api.ContactImport{
		ImportFigures: api.ImportFigures{Rows: r.Rows, Queued: r.States[stateQueued], Duplicates: r.States[stateDuplicate], ImportRejects: api.ImportRejects{Rejected: r.Rejected, LastLine: r.LastLine}},
		Errors:        imports.Listed(r.Reasons),
	}
	if !i.call.PII() {
		for n := range i.told.Errors { // a column is named by its header, which may be a row in a file without one
			i.told.Errors[n].Column = auth.MaskText(i.told.Errors[n].Column)
		}
	}
	if !i.dry {
		return
	}
	i.told.Columns = imports.ColumnsOf(columns, nil, r.Values, i.call.PII(), "to")
	for n := range r.First {
		i.told.First = append(i.told.First, api.ImportRow{Line: r.First[n].Line, Contact: i.shown(r.First[n].Value)})
	}
}

// shown returns a contact for the preview.
func (i *contactImport) shown(row importedContact) map[string]any {
	body := row.body
	if body["key"] == row.sum { // the row has none
		body = maps.Clone(body)
		delete(body, "key")
	}
	if i.call.PII() {
		return body
	}
	to, _ := body["to"].(string)
	shown, _ := maskedField(body, to).(map[string]any)
	shown["to"] = auth.MaskNumber(to)
	return shown
}

// maskedField returns a value without phone numbers.
func maskedField(v any, own string) any {
	switch x := v.(type) {
	case string:
		return auth.MaskText(auth.MaskOwn(x, own))
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = maskedField(x[i], own)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, value := range x {
			out[auth.MaskText(auth.MaskOwn(name, own))] = maskedField(value, own)
		}
		return out
	}
	return v
}

// changes are those of the audit log.
func (i *contactImport) changes() []operators.FieldChange {
	if i.report == nil {
		return nil
	}
	t := i.told
	return append([]operators.FieldChange{{Field: "contacts", After: fmt.Sprintf("%d queued, %d duplicates, %d rejected", t.Queued, t.Duplicates, t.Rejected)}}, exemptChanges(i.reached)...)
}

// answer writes the result of an import that came to its end.
func (i *contactImport) answer(w http.ResponseWriter, p *route.Deadlines, refused *imports.Refused) error {
	if refused != nil && refused.Kept < i.told.Rejected {
		i.told.Kept = refused.Kept
	}
	return imports.Answer(w, i.call.Request, p, refused, i.told, i.told.ImportFigures)
}

// take queues contacts by the route of POST …/contacts.
func (i *contactImport) take(ctx context.Context, bodies []any) (api.AcceptedList, error) {
	ctx, cancel := route.StepTimeout(context.WithoutCancel(ctx)) // a batch that began is not left in doubt
	defer cancel()
	c := *i.call
	c.Context, c.Body, c.Errors = ctx, map[string]any{"contacts": bodies}, nil
	i.post.Check.Check(c.Body, "", &c.Errors)
	q, err := i.r.queue(&c, i.dry)
	if err != nil {
		return api.AcceptedList{}, err
	}
	for purpose, r := range q.reached {
		i.reached[purpose] = reached{i.reached[purpose].contacts + r.contacts, r.reason}
	}
	return q.list, nil
}

// readDefaults reads what rows of a form leave out.
func readDefaults(part io.Reader) (map[string]any, error) {
	raw, err := httpjson.ReadAll(part, -1, maxDefaults)
	if err != nil {
		return nil, route.ReadError(err)
	}
	v, err := plainjson.Parse(raw)
	fields, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, weir.Errorf(weir.CodeInvalid, "the part contact must be a JSON object")
	}
	if fields = filledFields(fields); fields["to"] != nil || fields["key"] != nil {
		return nil, weir.Errorf(weir.CodeInvalid, "the part contact has what rows leave out, and neither to nor key")
	}
	return fields, nil
}
