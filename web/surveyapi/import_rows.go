package surveyapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/route"
	"weir/web/wire"
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

// importer is one import in progress.
type importer struct {
	*Service
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

func (s *Service) importRows(c *route.Call, w http.ResponseWriter, v surveys.Survey, format respondents.Format, encoding string) error {
	if c.Request.ContentLength > s.MaxImport {
		wire.Discard(c.Request.Body)
		return route.ReadError(&http.MaxBytesError{Limit: s.MaxImport})
	}
	l := &importer{
		Service: s, survey: v, result: ImportView{Errors: []respondents.RowError{}},
		strict: c.Query.Text("on_error") != "skip", distinct: c.Query.Text("duplicates") == "error", update: c.Query.Text("duplicates") == "update",
	}
	if l.update && l.strict {
		wire.Discard(c.Request.Body)
		c.Errors.Add("/duplicates", "content", "update requires on_error=skip: respondents are corrected before the whole file is read")
		return c.Invalid()
	}
	release, err := s.acquireTransfer(c)
	if err != nil {
		return err
	}
	defer release()
	p := route.NewDeadlines(w)
	p.ExtendRead()
	rows, err := respondents.NewReader(route.BodyReader{Reader: http.MaxBytesReader(w, c.Request.Body, s.MaxImport), Deadlines: p}, format, encoding, v.Definition.Region)
	if err != nil {
		err = route.ReadError(err)
	} else {
		err = l.load(c, rows, p)
	}
	if l.result.Added+l.result.Updated > 0 {
		s.Surveys.Changed(v.ID)
	}
	if err != nil {
		p.LastRead = time.Time{} // so that reading extends the deadline for the rest, however recent the last row was
		p.ExtendRead()
		wire.Discard(c.Request.Body)
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
	l.id, err = l.Importer.BeginImport(ctx, l.survey.ID)
	return err
}

// read reads rows and stores them in batches, except the last batch.
func (l *importer) read(ctx context.Context, rows *respondents.Reader, p *route.Deadlines) error {
	l.stored = time.Now()
	for end := l.stored.Add(route.TransferTime); ; {
		p.ExtendRead()
		row, err := rows.Next()
		if p.LastRead.After(end) {
			return &wire.MalformedError{Detail: "the import took longer than " + route.TransferTime.String()}
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
	if l.Ending() {
		return route.ErrDraining()
	}
	ctx, cancel := route.StepTimeout(ctx)
	defer cancel()
	v, err := l.SurveyStore.SurveyByID(ctx, l.survey.ID)
	if err == nil {
		err = checkAcceptsRespondents(v)
	}
	if err != nil {
		return err
	}
	if rows, err = l.complete(v, rows); err != nil {
		return err
	}
	added, err := l.Importer.Add(ctx, v.ID, l.id, l.respondents(v, rows))
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
	now := l.Now().UTC()
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
	v, err := l.SurveyStore.SurveyByID(ctx, l.survey.ID)
	if err == nil && v.State != l.survey.State && l.survey.State == surveys.Draft {
		err = weir.Errorf(weir.CodeConflict, "survey %s was launched during the import; import the rows again", v.Name)
	}
	if err != nil {
		return err
	}
	imp := l.id
	l.id = 0 // from here on it must not be aborted, whatever the result
	return l.Importer.CommitImport(ctx, l.survey.ID, imp)
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
	if err := l.Importer.AbortImport(ctx, l.survey.ID, l.id); err != nil {
		l.Logger.WarnContext(ctx, "import rollback failed; its rows are deleted later", slog.Any("error", err))
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
		wire.WriteJSON(w, http.StatusOK, l.result)
		return nil
	}
	_ = json.NewEncoder(w).Encode(ImportProblem{wire.WriteProblemHead(w, err), &l.result}) // a disconnected client is not an error
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
