package people

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/internal/plainjson"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys/respondents"
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

// ConsentFile is what became of a file.
type ConsentFile struct {
	Refused    int `json:"refused" doc:"refusals that are recorded"`
	Given      int `json:"given" doc:"consents that are recorded"`
	Superseded int `json:"superseded" doc:"refusals and consents that change nothing, because something else counts for the person; 0 without pii:read"`
	Rejected   int `json:"rejected" doc:"lines with mistakes, whether listed in errors or not"`
	// LastLine is how far a file came that broke off.
	LastLine int                    `json:"last_line,omitempty" doc:"of a file that broke off: the lines up to this one were dealt with"`
	Errors   []respondents.RowError `json:"errors" nullable:"false" doc:"the first 1000 lines with mistakes"`
}

// ConsentProblem is a problem, of a file with how far it came.
type ConsentProblem struct {
	httpjson.Problem
	File *ConsentFile `json:"file,omitempty" doc:"of a file that broke off; absent if no line was read"`
}

// consentFile is a file that is being recorded: the [imports.Kind] of its lines.
type consentFile struct {
	*consentRoutes
	by         string
	check      *httpjson.Checker
	known      map[string]*people.Purpose
	deadline   *route.Deadlines
	superseded int
	inFlight   int
}

// recordFile records a file of consents.
func (r *consentRoutes) recordFile(c *route.Call, w http.ResponseWriter, rt *route.Route) error {
	if encoding := c.Request.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		httpjson.Discard(c.Request.Body)
		return weir.Errorf(weir.CodeContentType, "send the body not compressed")
	}
	if c.Request.ContentLength > r.maxImport {
		httpjson.Discard(c.Request.Body)
		return route.ReadError(&http.MaxBytesError{Limit: r.maxImport})
	}
	release, err := route.AcquireTransfer(c, r.downloads.Transfers)
	if err != nil {
		return err
	}
	defer release()
	f := &consentFile{consentRoutes: r, by: c.Principal.ID(), check: rt.Check, known: r.purposes.Purposes(), deadline: route.NewDeadlines(w)}
	f.deadline.ExtendRead()
	table, err := imports.Open(route.BodyReader{Reader: http.MaxBytesReader(w, c.Request.Body, r.maxImport), Deadlines: f.deadline}, respondents.NDJSON, "utf-8")
	if err != nil {
		return route.ReadError(err)
	}
	// The context of a request ends when reading fails, before all that was received is recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c), route.TransferTime)
	defer cancel()
	report, err := imports.Run(ctx, f, table, nil, imports.Options{BatchRows: filePart, BatchBytes: filePartBytes, Tries: 1, Ready: func() error {
		if f.downloads.Ending() {
			return route.ErrDraining()
		}
		return nil
	}})
	if err != nil {
		f.deadline.LastRead = time.Time{} // so that reading extends the deadline for the rest
		f.deadline.ExtendRead()
		httpjson.Discard(c.Request.Body)
		err = route.ReadError(err)
	}
	result := f.result(report)
	if !c.PII() { // as in [consentRoutes.record]
		result.Superseded, f.inFlight = 0, 0
	}
	if rec, ok := w.(*route.Recorder); ok {
		rec.Changes = recorded(result.Refused, result.Given)
	}
	return f.answer(w, result, report.Rows > 0, err)
}

// Read implements [imports.Kind]. Files of consents name their fields in each line.
func (*consentFile) Read([]imports.Column, []string) (people.Consent, *imports.Mistake) {
	return people.Consent{}, &imports.Mistake{Reason: "a file of consents is NDJSON"}
}

// Object implements [imports.Kind].
func (f *consentFile) Object(line string) (people.Consent, *imports.Mistake) {
	v, err := plainjson.Parse([]byte(line))
	if err != nil {
		return people.Consent{}, &imports.Mistake{Reason: "is not JSON: " + err.Error()}
	}
	var m validation.Errors
	const at = "/consents/0"
	f.check.Check(map[string]any{"consents": []any{v}}, "", &m)
	body, _ := v.(map[string]any)
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
	list := make([]people.Consent, len(rows))
	for i, row := range rows {
		list[i] = row.Value
	}
	states, err := f.consents.ImportConsents(ctx, list)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if row.State = string(list[i].Status); states[i].Status != list[i].Status {
			f.superseded++
		}
	}
	f.inFlight += f.callOff(ctx, list, states)
	return nil
}

// result returns what became of the file.
func (f *consentFile) result(r *imports.Report[people.Consent]) *ConsentFile {
	out := &ConsentFile{
		Refused: r.States[string(people.Refused)], Given: r.States[string(people.Given)], Superseded: f.superseded,
		Rejected: r.Rejected, LastLine: r.LastLine, Errors: r.Reasons,
	}
	if out.Errors == nil {
		out.Errors = []respondents.RowError{}
	}
	return out
}

// answer writes what became of the file, or how far it came.
func (f *consentFile) answer(w http.ResponseWriter, result *ConsentFile, begun bool, err error) error {
	if err != nil && !begun {
		return err
	}
	f.deadline.ExtendWrite()
	if err == nil {
		result.LastLine = 0
		httpjson.WriteJSON(w, http.StatusOK, StateList{States: []StateView{}, InFlight: f.inFlight, File: result})
		return nil
	}
	_ = json.NewEncoder(w).Encode(ConsentProblem{httpjson.WriteProblemHead(w, err), result}) // a disconnected client is not an error
	return nil
}
