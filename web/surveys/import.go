package surveys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

const (
	// maxRejected is the number of bad rows after which an import fails: the
	// file is not one of respondents.
	maxRejected = 1_000_000
	// maxListed is how many bad rows a response lists; it counts all.
	maxListed = 1000
	// maxBatchDelay is how long rows of a slow client wait for more before they are
	// stored.
	maxBatchDelay = 10 * time.Second
)

// importStore reads a survey again during an import.
type importStore interface {
	SurveyByID(ctx context.Context, id int64) (surveys.Survey, error)
}

// importTarget is where the rows of an import go.
type importTarget struct {
	store    importStore
	importer surveys.Importer
	now      func() time.Time
	ending   func() bool // imports end now
	logger   *slog.Logger
}

// importRoute serves the import of respondents.
type importRoute struct {
	finder
	maxImport int64                  // bytes of one import
	transfers *auth.ConcurrencyLimit // limits imports and downloads
	changed   func(survey int64)     // tells the broker
	into      importTarget
}

func (s importRoute) routes() []*route.Route {
	post := &route.Route{
		Method: "POST", Path: Path + "/respondents", ID: "post-respondents", Tag: "respondents",
		Summary: "Add respondents",
		Description: "As JSON: 1 to 1000, all or none. As text/csv (the first line names the columns, one of them phone) or application/x-ndjson (one flat object a line): a file of any length, read row by row. " +
			"Numbers are normalised to E.164; one that the survey has is a duplicate. Respondents of a survey that was launched must have every value that its texts use. Numbers of another import that is in progress or being rolled back are a conflict. Of a file the first 1000 bad rows are reported with their lines; the columns weir_line, weir_column and weir_reason, with which weir survey import --errors notes why it writes a row, are ignored. " +
			"A file that breaks off leaves nothing with on_error=none, and with skip the rows up to last_line of the answer. " +
			"The connection is closed when no row has come for 30 seconds. Bounds: 64 kB a line, 100 attributes of 500 characters a row, a million bad rows.",
		Query: []httpjson.Parameter{
			{Name: "on_error", Kind: "string", Enum: []string{"none", "skip"}, Single: true, Default: "none", Description: "of a file: load nothing if a row is bad, or skip bad rows"},
			{Name: "duplicates", Kind: "string", Enum: []string{"skip", "error", "update"}, Single: true, Default: "skip", Description: "skip rows whose number the survey has, reject them, or update the attributes of the respondent if it was not contacted yet; of a file, update requires on_error=skip"},
			{Name: "phone", Kind: "string", Description: "of a file in CSV: the column with the phone number; absent: phone"},
			{Name: "columns", Kind: "string", Description: "of a file in CSV: the other columns to read, separated by commas, each as COLUMN or COLUMN=ATTRIBUTE; absent: all, under their names"},
			{Name: "encoding", Kind: "string", Enum: respondents.Encodings(), Single: true, Description: "of a file; absent: the charset of the content type, else UTF-16 if the file begins with its mark, else UTF-8"},
		},
		Body: route.TypeOf[RespondentsBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBatchBody, Uploads: []string{route.CSVType, route.NDJSONType},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "what came of them", Body: route.TypeOf[ImportView]()}},
		Refusal: route.TypeOf[ImportProblem](),
		Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
	}
	post.Serve = func(c *route.Call, w http.ResponseWriter) error { return s.postRespondents(c, w, post) }
	return []*route.Route{post}
}

// postRespondents adds respondents: a few as JSON, or a file of any length row
// by row.
func (s importRoute) postRespondents(c *route.Call, w http.ResponseWriter, rt *route.Route) error {
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	v, err := s.survey(ctx, c.Request.PathValue("survey"))
	if err == nil {
		err = checkAcceptsRespondents(v)
	}
	if err != nil {
		httpjson.Discard(c.Request.Body)
		return err
	}
	format, encoding, err := formatOf(c.Request, rt)
	if err != nil {
		httpjson.Discard(c.Request.Body)
		return err
	}
	columns := respondents.Columns{Phone: c.Query.Text("phone"), Only: c.Query.List("columns")}
	if format != respondents.CSV && (columns.Phone != "" || columns.Only != nil) {
		httpjson.Discard(c.Request.Body)
		return weir.Errorf(weir.CodeInvalid, "phone and columns name columns of a file in CSV")
	}
	if format == "" {
		short := *c
		short.Context = ctx
		return s.importJSON(&short, w, v, rt)
	}
	if given := c.Query.Text("encoding"); given != "" {
		encoding = given
	}
	return s.importRows(c, w, v, format, encoding, columns)
}

// formatOf returns the format by Content-Type; it is empty for JSON.
func formatOf(r *http.Request, rt *route.Route) (_ respondents.Format, encoding string, err error) {
	got, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	compression := r.Header.Get("Content-Encoding")
	known := compression == "" || strings.EqualFold(compression, "identity")
	switch {
	case err == nil && known && got == route.CSVType:
		return respondents.CSV, params["charset"], nil
	case err == nil && known && got == route.NDJSONType:
		return respondents.NDJSON, params["charset"], nil
	case err == nil && got == httpjson.JSONType:
		return "", "", nil // ReadJSON reports its errors
	}
	return "", "", weir.Errorf(weir.CodeContentType, "send the body as %s, not compressed", strings.Join(append([]string{httpjson.JSONType}, rt.Uploads...), ", "))
}

// importer is one import in progress.
type importer struct {
	importTarget
	survey   surveys.Survey
	id       int64 // 0: rows are visible at once
	strict   bool  // nothing is loaded if any row is bad
	distinct bool  // a number twice is a bad row
	update   bool  // a number that the survey has corrects its respondent
	rows     []respondents.Row
	size     int
	line     int // of the last row read
	stored   time.Time
	result   ImportView
}

// importJSON adds up to 1,000 respondents, all or none.
func (s importRoute) importJSON(c *route.Call, w http.ResponseWriter, v surveys.Survey, rt *route.Route) error {
	body, err := httpjson.ReadJSON(w, c.Request, rt.BodyTypes, rt.BodyLimit)
	if err != nil {
		httpjson.Discard(c.Request.Body)
		return err
	}
	rt.Check.Check(body, "", &c.Errors)
	l := &importer{importTarget: s.into, survey: v, distinct: c.Query.Text("duplicates") == "error", update: c.Query.Text("duplicates") == "update"}
	object, _ := body.(map[string]any)
	l.readJSON(c, object)
	if err := c.Invalid(); err != nil {
		return err
	}
	added, err := l.addJSON(c)
	if err != nil {
		return err
	}
	corrected := make([]surveys.Corrected, len(added))
	if l.update {
		if corrected, err = l.correctDuplicates(c, l.rows, added); err != nil {
			return err
		}
	}
	told := ImportView{Errors: []respondents.RowError{}, Respondents: make([]AddedView, 0, len(added))}
	for i, a := range added {
		view := AddedView{ID: a.ID.String(), Duplicate: a.Duplicate, Updated: corrected[i].Changed}
		if err := corrected[i].Err; err != nil {
			view.Reason = err.Error()
		}
		if view.Updated {
			told.Updated++
		}
		told.Respondents = append(told.Respondents, view)
		if a.Duplicate {
			told.Duplicates++
		} else {
			told.Added++
		}
	}
	if told.Added+told.Updated > 0 {
		s.changed(v.ID)
	}
	httpjson.WriteJSON(w, http.StatusOK, told)
	return nil
}

func (l *importer) readJSON(c *route.Call, body map[string]any) {
	list, _ := body["respondents"].([]any)
	if len(list) > route.PageRows {
		return // reported by the schema
	}
	lacks := missingAttributes(l.survey)
	for i, v := range list {
		o, _ := v.(map[string]any)
		phone, ok := o["phone"].(string)
		if !ok {
			continue // reported by the schema
		}
		attributes, _ := o["attributes"].(map[string]any)
		row, wrong := respondents.RowOf(phone, attributes, l.survey.Definition.Region)
		c.Errors.AddPart("/respondents/"+strconv.Itoa(i), wrong)
		if !slices.ContainsFunc(wrong, func(f weir.FieldError) bool { return strings.Contains(f.Pointer, "/attributes") }) {
			for _, name := range lacks(row.Attributes) {
				c.Errors.Add("/respondents/"+strconv.Itoa(i)+"/attributes/"+name, "required", "%s", errMissingAttribute(name))
			}
		}
		l.rows = append(l.rows, row)
	}
}

// addJSON stores the rows at once. If duplicates are an error, it uses an
// import that is committed only if there are none.
func (l *importer) addJSON(ctx context.Context) ([]surveys.Added, error) {
	if !l.distinct {
		added, err := l.importer.Add(ctx, l.survey.ID, 0, l.respondents(l.survey, l.rows))
		if err == nil && slices.ContainsFunc(added, func(a surveys.Added) bool { return a.Unsure }) {
			err = errOtherImport()
		}
		return added, err
	}
	imp, err := l.importer.BeginImport(ctx, l.survey.ID)
	if err != nil {
		return nil, err
	}
	l.id = imp
	added, err := l.importer.Add(ctx, l.survey.ID, imp, l.respondents(l.survey, l.rows))
	if err == nil {
		taken := &weir.Error{Code: weir.CodeConflict, Message: "the survey has some of the numbers, or they are there twice; nothing was added"}
		for i, a := range added {
			if a.Duplicate {
				taken.Fields = append(taken.Fields, weir.FieldError{Pointer: fmt.Sprintf("/respondents/%d/phone", i), Code: "duplicate", Detail: duplicateNumber})
			}
		}
		if len(taken.Fields) == 0 {
			return added, l.importer.CommitImport(ctx, l.survey.ID, imp)
		}
		err = taken
	}
	l.abort(ctx)
	return nil, err
}

func (s importRoute) importRows(c *route.Call, w http.ResponseWriter, v surveys.Survey, format respondents.Format, encoding string, columns respondents.Columns) error {
	if c.Request.ContentLength > s.maxImport {
		httpjson.Discard(c.Request.Body)
		return route.ReadError(&http.MaxBytesError{Limit: s.maxImport})
	}
	l := &importer{
		importTarget: s.into, survey: v, result: ImportView{Errors: []respondents.RowError{}},
		strict: c.Query.Text("on_error") != "skip", distinct: c.Query.Text("duplicates") == "error", update: c.Query.Text("duplicates") == "update",
	}
	if l.update && l.strict {
		httpjson.Discard(c.Request.Body)
		c.Errors.Add("/duplicates", "content", "update requires on_error=skip: respondents are corrected before the whole file is read")
		return c.Invalid()
	}
	release, err := route.AcquireTransfer(c, s.transfers)
	if err != nil {
		return err
	}
	defer release()
	p := route.NewDeadlines(w)
	p.ExtendRead()
	rows, err := respondents.NewColumnReader(route.BodyReader{Reader: http.MaxBytesReader(w, c.Request.Body, s.maxImport), Deadlines: p}, format, encoding, v.Definition.Region, columns)
	if err != nil {
		err = route.ReadError(err)
	} else {
		err = l.load(c, rows, p)
	}
	if l.result.Added+l.result.Updated > 0 {
		s.changed(v.ID)
	}
	if err != nil {
		p.LastRead = time.Time{} // so that reading extends the deadline for the rest, however recent the last row was
		p.ExtendRead()
		httpjson.Discard(c.Request.Body)
	}
	return l.answer(w, p, err)
}

// load reads to the end, then commits a strict import or rolls it back.
func (l *importer) load(ctx context.Context, rows *respondents.Reader, p *route.Deadlines) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	// The request's context ends when reading fails, before all received rows
	// are processed: storing them must not depend on it.
	ctx = context.WithoutCancel(ctx)
	err := l.read(ctx, rows, p)
	if err == nil {
		p.ClearRead()
		if err = l.flush(ctx); err == nil {
			err = l.commit(ctx)
		}
	} else if !l.strict && len(l.rows) > 0 {
		_ = l.flush(ctx) // LastLine reports how far it came; err is the cause
	}
	if err != nil && l.id != 0 {
		l.abort(ctx)
	}
	return err
}

func (l *importer) begin(ctx context.Context) (err error) {
	if !l.strict {
		return nil
	}
	ctx, cancel := route.StepTimeout(ctx)
	defer cancel()
	l.id, err = l.importer.BeginImport(ctx, l.survey.ID)
	return err
}

// read reads rows and stores them in batches, except the last batch.
func (l *importer) read(ctx context.Context, rows *respondents.Reader, p *route.Deadlines) error {
	l.stored = time.Now()
	for end := l.stored.Add(route.TransferTime); ; {
		p.ExtendRead()
		row, err := rows.Next()
		if p.LastRead.After(end) {
			return &httpjson.MalformedError{Detail: "the import took longer than " + route.TransferTime.String()}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, ok := errors.AsType[*respondents.RowError](err); ok {
			if l.line, err = bad.Line, l.reject(*bad); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return route.ReadError(err)
		}
		l.line = row.Line
		l.rows = append(l.rows, row)
		for name, value := range row.Attributes {
			l.size += len(name) + len(value)
		}
		if len(l.rows) == route.PageRows || l.size > route.PageBytes || p.LastRead.Sub(l.stored) > maxBatchDelay {
			if err := l.flush(ctx); err != nil {
				return err
			}
		}
	}
}

func (l *importer) reject(bad respondents.RowError) error {
	if l.result.Rejected++; l.result.Rejected > maxRejected {
		return weir.Errorf(weir.CodeInvalid, "more than %d rows are invalid; check that the file contains respondents", maxRejected)
	}
	if len(l.result.Errors) < maxListed {
		l.result.Errors = append(l.result.Errors, bad)
	}
	return nil
}

// flush stores the rows read so far. It reads the survey again: meanwhile it
// may have ended, or its quotas may have changed.
func (l *importer) flush(ctx context.Context) error {
	rows := l.rows
	l.rows, l.size, l.stored = l.rows[:0], 0, time.Now()
	doomed := l.strict && l.result.Rejected > 0 && !l.distinct
	if len(rows) == 0 || doomed {
		l.result.LastLine = l.line
		return nil
	}
	if l.ending() {
		return route.ErrDraining()
	}
	ctx, cancel := route.StepTimeout(ctx)
	defer cancel()
	v, err := l.store.SurveyByID(ctx, l.survey.ID)
	if err == nil {
		err = checkAcceptsRespondents(v)
	}
	if err != nil {
		return err
	}
	if rows, err = l.complete(v, rows); err != nil {
		return err
	}
	added, err := l.importer.Add(ctx, v.ID, l.id, l.respondents(v, rows))
	corrected := make([]surveys.Corrected, len(added))
	if err == nil && l.update {
		corrected, err = l.correctDuplicates(ctx, rows, added)
	}
	if err == nil {
		err = l.count(rows, added, corrected)
	}
	if err == nil {
		l.result.LastLine = l.line
	}
	return err
}

// complete rejects rows that lack an attribute used by the content of a
// launched survey: the launch would have been refused because of them.
func (l *importer) complete(v surveys.Survey, rows []respondents.Row) ([]respondents.Row, error) {
	lacks := missingAttributes(v)
	out := rows[:0]
	for _, row := range rows {
		names := lacks(row.Attributes)
		if len(names) == 0 {
			out = append(out, row)
			continue
		}
		if err := l.reject(respondents.RowError{Line: row.Line, Column: names[0], Reason: errMissingAttribute(names[0])}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// missingAttributes returns a function that lists the attributes that the survey's
// content uses and a respondent lacks. For a draft it lists none: its content
// may still change.
func missingAttributes(v surveys.Survey) func(attributes map[string]string) []string {
	if v.State != surveys.Draft {
		if plan, _ := v.Definition.Compile(surveys.Defaults{}); plan != nil {
			return plan.MissingAttributes
		}
	}
	return func(map[string]string) []string { return nil }
}

func errMissingAttribute(name string) string {
	return fmt.Sprintf("no value for {{%s}}, which the texts of the survey use", name)
}

// count counts the results of rows.
func (l *importer) count(rows []respondents.Row, added []surveys.Added, corrected []surveys.Corrected) error {
	unsure := false
	for i, a := range added {
		unsure = unsure || a.Unsure
		if !a.Duplicate {
			l.result.Added++
			continue
		}
		l.result.Duplicates++
		if corrected[i].Changed {
			l.result.Updated++
		}
		if err := corrected[i].Err; err != nil {
			if err := l.reject(respondents.RowError{Line: rows[i].Line, Column: "phone", Reason: err.Error()}); err != nil {
				return err
			}
		}
		if l.distinct {
			if err := l.reject(respondents.RowError{Line: rows[i].Line, Column: "phone", Reason: duplicateNumber}); err != nil {
				return err
			}
		}
	}
	if unsure {
		return errOtherImport()
	}
	return nil
}

// errOtherImport is returned instead of counting a duplicate of a number that the
// survey may lose again.
func errOtherImport() error {
	return weir.Errorf(weir.CodeConflict, "another import that is in progress or being rolled back has some of these numbers; retry in a few minutes")
}

func (l *importer) respondents(v surveys.Survey, rows []respondents.Row) []surveys.Respondent {
	now := l.now().UTC()
	out := make([]surveys.Respondent, 0, len(rows))
	for _, row := range rows {
		out = append(out, surveys.Respondent{
			Survey: v.ID, Phone: row.Phone, Attributes: row.Attributes,
			Bucket: v.Definition.Quotas.Of(row.Attributes), Progress: surveys.NewProgress(), Added: now,
		})
	}
	return out
}

// commit makes a strict import visible if no row was bad.
func (l *importer) commit(ctx context.Context) error {
	if !l.strict {
		return nil
	}
	if l.result.Rejected > 0 {
		return weir.Errorf(weir.CodeInvalid, "%s invalid; nothing was loaded", rowsAre(l.result.Rejected))
	}
	ctx, cancel := context.WithTimeout(ctx, route.TransferTime)
	defer cancel()
	v, err := l.store.SurveyByID(ctx, l.survey.ID)
	if err == nil && v.State != l.survey.State && l.survey.State == surveys.Draft {
		err = weir.Errorf(weir.CodeConflict, "survey %s was launched during the import; import the rows again", v.Name)
	}
	if err != nil {
		return err
	}
	imp := l.id
	l.id = 0 // from here on it must not be aborted, whatever the result
	return l.importer.CommitImport(ctx, l.survey.ID, imp)
}

func rowsAre(n int) string {
	if n == 1 {
		return "1 row is"
	}
	return fmt.Sprintf("%d rows are", n)
}

// abort rolls a strict import back. What it leaves undone is swept later.
func (l *importer) abort(ctx context.Context) {
	ctx, cancel := route.StepTimeout(context.WithoutCancel(ctx))
	defer cancel()
	l.result.Added, l.result.LastLine = 0, 0
	if err := l.importer.AbortImport(ctx, l.survey.ID, l.id); err != nil {
		l.logger.WarnContext(ctx, "import rollback failed; its rows are deleted later", slog.Any("error", err))
	}
}

// answer writes the result of the import.
func (l *importer) answer(w http.ResponseWriter, p *route.Deadlines, err error) error {
	if err != nil && l.line == 0 {
		return err
	}
	p.ExtendWrite()
	if err == nil {
		l.result.LastLine = 0
		httpjson.WriteJSON(w, http.StatusOK, l.result)
		return nil
	}
	_ = json.NewEncoder(w).Encode(ImportProblem{httpjson.WriteProblemHead(w, err), &l.result}) // a disconnected client is not an error
	return nil
}

const duplicateNumber = "duplicate phone number (already in the survey or in an earlier row)"

// checkAcceptsRespondents rejects respondents of a survey that is ending or being
// deleted.
func checkAcceptsRespondents(v surveys.Survey) error {
	if v.Deleting || v.State == surveys.Stopping || v.State == surveys.Done {
		return weir.Errorf(weir.CodeConflict, "survey %s is %s and accepts no respondents", v.Name, v.State)
	}
	return nil
}

// correctDuplicates corrects the respondents whose numbers the survey has. results has
// an entry for each row; those of new respondents are zero.
func (l *importer) correctDuplicates(ctx context.Context, rows []respondents.Row, added []surveys.Added) (results []surveys.Corrected, _ error) {
	results = make([]surveys.Corrected, len(rows))
	var list []surveys.Correction
	var at []int
	for i, a := range added {
		if a.Duplicate && !a.Unsure {
			list, at = append(list, surveys.Correction{ID: a.ID, Attributes: rows[i].Attributes}), append(at, i)
		}
	}
	if len(list) == 0 {
		return results, nil
	}
	corrected, err := l.importer.Correct(ctx, l.survey.ID, list)
	for i, r := range corrected {
		results[at[i]] = r
	}
	return results, err
}
