package surveys

import (
	"context"
	"fmt"
	"log/slog"
	"mime"
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
		Description: "As JSON: 1 to 1000, all or none. As text/csv (the first line names the columns, one of them phone; commas, semicolons or tabs separate them), as an Excel workbook, or application/x-ndjson (one flat object a line), or as multipart/form-data with such a part file: a file of any length, read row by row. " +
			"Numbers are normalised to E.164; one that the survey has is a duplicate. Respondents of a survey that was launched must have every value that its texts use. Numbers of another import that is in progress or being rolled back are a conflict. " +
			"Of a file the first 1000 bad rows are reported with their lines. Accept: text/csv, or application/x-ndjson for such a file, answers with the rejected rows, each with its reason, in the format of the file, at most 64 MiB; the header Weir-Import has the figures as JSON. Accept: multipart/mixed answers with both. If nothing is loaded because of them, they are in file of the problem. Whoever mends the rows can send them as they are: the columns weir_line, weir_column and weir_reason are ignored. " +
			"A file that breaks off leaves nothing with on_error=none, and with skip the rows up to last_line of the answer. It can be sent again: a number is in a survey once. " +
			imports.XLSXHelp() +
			"The connection is closed when no row has come for 30 seconds. Bounds: 64 kB a row of CSV, 1 MB a line of NDJSON, 100 attributes of 500 characters a row.",
		Query: []httpjson.Parameter{
			{Name: "on_error", Kind: "string", Enum: []string{"none", "skip"}, Single: true, Default: "none", Description: "of a file: load nothing if a row is bad, or skip bad rows"},
			{Name: "duplicates", Kind: "string", Enum: []string{"skip", "error", "update"}, Single: true, Default: "skip", Description: "skip rows whose number the survey has, reject them, or update the attributes of the respondent if it was not contacted yet; of a file, update requires on_error=skip"},
			{Name: "dry_run", Kind: "boolean", Description: "add nothing: check the rows, and show of a file what the columns are and what the first rows become. Numbers are not compared with those of the survey"},
			{Name: "phone", Kind: "string", Description: "of a file in CSV: the column with the phone number; absent: phone"},
			{Name: "columns", Kind: "string", Longest: 16 << 10, Description: "of a file in CSV: the other columns to read, separated by commas and quoted as in CSV if they have one, each as COLUMN, COLUMN=ATTRIBUTE, COLUMN=phone, or COLUMN= for one that is left out; COLUMN is the name in the file, or #3 for the third column; absent: all, under their names. *= reads those whose names are those of a phone number or can be of an attribute, and leaves out the others"},
			{Name: "header", Kind: "string", Description: "refuse a file of CSV with other columns than those of the dry run that has answered this header: columns by number would be others"},
			{Name: "encoding", Kind: "string", Enum: respondents.Encodings(), Single: true, Description: "of a file; absent: the charset of the content type, else as the file says, UTF-8, or windows-1252 of CSV"},
			imports.SheetParameter(),
		},
		Body: route.TypeOf[api.RespondentsBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBatchBody, Uploads: imports.Types(),
		Answers:  []route.Answer{{Status: http.StatusOK, Description: "what came of them", Body: route.TypeOf[api.ImportView]()}},
		OnDemand: []string{route.CSVType, route.NDJSONType, imports.MixedType},
		Refusal:  route.TypeOf[api.ImportProblem](),
		Codes:    []weir.Code{weir.CodeNotFound, weir.CodeConflict},
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
	if kind, _, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type")); err == nil && kind == httpjson.JSONType {
		short := *c
		short.Context = ctx
		return s.importJSON(&short, w, v, rt)
	}
	return s.importFile(c, w, v, rt)
}

// importer is one import in progress.
type importer struct {
	importTarget
	survey   surveys.Survey
	id       int64 // 0: rows are visible at once
	distinct bool  // a number twice is a bad row
	update   bool  // a number that the survey has corrects its respondent
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
	rows := l.readJSON(c, object)
	if err := c.Invalid(); err != nil {
		return err
	}
	if c.Query.Bool("dry_run") {
		httpjson.WriteJSON(w, http.StatusOK, api.ImportView{Added: len(rows), Errors: []respondents.RowError{}})
		return nil
	}
	added, err := l.addJSON(c, rows)
	if err != nil {
		return err
	}
	corrected := make([]surveys.Corrected, len(added))
	if l.update {
		if corrected, err = l.correctDuplicates(c, rows, added); err != nil {
			return err
		}
	}
	told := api.ImportView{Errors: []respondents.RowError{}, Respondents: make([]api.AddedView, 0, len(added))}
	for i, a := range added {
		view := api.AddedView{ID: a.ID.String(), Duplicate: a.Duplicate, Updated: corrected[i].Changed}
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

func (l *importer) readJSON(c *route.Call, body map[string]any) (rows []respondents.Row) {
	list, _ := body["respondents"].([]any)
	if len(list) > route.PageRows {
		return nil // reported by the schema
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
		rows = append(rows, row)
	}
	return rows
}

// addJSON stores the rows at once. If duplicates are an error, it uses an
// import that is committed only if there are none.
func (l *importer) addJSON(ctx context.Context, rows []respondents.Row) ([]surveys.Added, error) {
	if !l.distinct {
		added, err := l.importer.Add(ctx, l.survey.ID, 0, l.respondents(l.survey, rows))
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
	added, err := l.importer.Add(ctx, l.survey.ID, imp, l.respondents(l.survey, rows))
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
			Bucket: surveys.Quotas(v.Definition.Quotas).Of(row.Attributes), Progress: surveys.NewProgress(), Added: now,
		})
	}
	return out
}

// abort rolls a strict import back. What it leaves undone is swept later.
func (l *importer) abort(ctx context.Context) {
	ctx, cancel := route.StepTimeout(context.WithoutCancel(ctx))
	defer cancel()
	if err := l.importer.AbortImport(ctx, l.survey.ID, l.id); err != nil {
		l.logger.WarnContext(ctx, "import rollback failed; its rows are deleted later", slog.Any("error", err))
	}
}

const duplicateNumber = "duplicate phone number (already in the survey or in an earlier row)"

// checkAcceptsRespondents rejects respondents of a survey that is ending or being
// deleted.
func checkAcceptsRespondents(v surveys.Survey) error {
	if of, n := surveys.PilotOf(v.Name); n != 0 {
		return weir.Errorf(weir.CodeConflict, "a pilot has the respondents with which it began; begin another pilot of survey %s", of)
	}
	if v.Deleting || v.State == surveys.Stopping || v.State == surveys.Done {
		return weir.Errorf(weir.CodeConflict, "survey %s is %s and accepts no respondents; a clone of it does", v.Name, v.State)
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
