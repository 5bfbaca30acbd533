package people

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/internal/plainjson"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/route"
)

const ndjsonType = "application/x-ndjson"

const (
	// filePart is how many lines of a file are recorded together: sorted, as many change far fewer
	// pages of the store than one by one. While a part is recorded, the next one is read.
	filePart = 50_000
	// maxFileDelay is how long lines of a slow client wait for more before they are recorded.
	maxFileDelay = 10 * time.Second
	maxFileLine  = 64 << 10
	// maxFileWrong is after how many wrong lines a file is given up, and maxFileListed how many of
	// them a response lists.
	maxFileWrong  = 1_000_000
	maxFileListed = 1000
)

// ConsentFile is what became of a file.
type ConsentFile struct {
	Refused    int `json:"refused" doc:"refusals that are recorded"`
	Given      int `json:"given" doc:"consents that are recorded"`
	Superseded int `json:"superseded" doc:"of both, those that change nothing, because something else counts of the person"`
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

// consentFile is a file that is being recorded.
type consentFile struct {
	*consentRoutes
	by       string
	check    *httpjson.Checker
	known    map[string]*people.Purpose
	deadline *route.Deadlines
	read     int                    // lines
	wrong    []respondents.RowError // of the lines that were read since the last part
	parts    chan filePartOf
	result   ConsentFile // of the parts that are recorded
	inFlight int
}

// filePartOf is a part of a file.
type filePartOf struct {
	list  []people.Consent
	wrong []respondents.RowError
	last  int // line
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
	f := &consentFile{
		consentRoutes: r, by: c.Principal.ID(), check: rt.Check, known: r.purposes.Purposes(), deadline: route.NewDeadlines(w), parts: make(chan filePartOf),
		result: ConsentFile{Errors: []respondents.RowError{}},
	}
	f.deadline.ExtendRead()
	lines := bufio.NewScanner(route.BodyReader{Reader: http.MaxBytesReader(w, c.Request.Body, r.maxImport), Deadlines: f.deadline})
	lines.Buffer(nil, maxFileLine)
	// The context of a request ends when reading fails, before all that was received is recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c), route.TransferTime)
	defer cancel()
	err = f.load(ctx, lines)
	if err != nil {
		f.deadline.LastRead = time.Time{} // so that reading extends the deadline for the rest
		f.deadline.ExtendRead()
		httpjson.Discard(c.Request.Body)
	}
	if rec, ok := w.(*route.Recorder); ok {
		rec.Changes = recorded(f.result.Refused, f.result.Given)
	}
	return f.answer(w, err)
}

// load reads all lines, and records them: while one part is recorded, the next one is read.
func (f *consentFile) load(ctx context.Context, lines *bufio.Scanner) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		var err error
		for p := range f.parts {
			if err = f.record(ctx, p); err != nil {
				stop()
				break
			}
		}
		done <- err
	}()
	err := f.readAll(reading, lines)
	close(f.parts)
	return cmp.Or(<-done, err)
}

// readAll reads the lines into parts. What was read before an error is recorded, too.
func (f *consentFile) readAll(stopped context.Context, lines *bufio.Scanner) error {
	var list []people.Consent
	begun := time.Now()
	flush := func() {
		f.deadline.ClearRead() // it may take long until the part before is recorded
		select {
		case f.parts <- filePartOf{list, f.wrong, f.read}:
		case <-stopped.Done(): // the error is that of the recording
		}
		list, f.wrong, begun = nil, nil, time.Now()
		f.deadline.LastRead = time.Time{}
		f.deadline.ExtendRead()
	}
	rejected := 0
	for stopped.Err() == nil && lines.Scan() {
		f.deadline.ExtendRead()
		f.read++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		one, wrong := f.consent(lines.Bytes())
		if wrong != nil {
			if rejected++; rejected > maxFileWrong {
				return weir.Errorf(weir.CodeInvalid, "more than %d lines have mistakes; check that the file contains consents", maxFileWrong)
			}
			f.wrong = append(f.wrong, *wrong)
		} else {
			list = append(list, one)
		}
		if len(list) == filePart || len(f.wrong) == filePart || f.deadline.LastRead.Sub(begun) > maxFileDelay {
			flush()
		}
	}
	f.deadline.ClearRead()
	flush()
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return weir.Errorf(weir.CodeInvalid, "line %d is longer than %d bytes", f.read+1, maxFileLine)
	case err != nil:
		return route.ReadError(err)
	}
	return stopped.Err()
}

// consent returns the consent of a line, or what is wrong with it.
func (f *consentFile) consent(line []byte) (people.Consent, *respondents.RowError) {
	v, err := plainjson.Parse(line)
	if err != nil {
		return people.Consent{}, &respondents.RowError{Line: f.read, Reason: "is not JSON: " + err.Error()}
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
	column := strings.TrimPrefix(strings.TrimPrefix(m[0].Pointer, at), "/")
	return people.Consent{}, &respondents.RowError{Line: f.read, Column: column, Reason: m[0].Detail}
}

// record records a part.
func (f *consentFile) record(ctx context.Context, p filePartOf) error {
	if f.downloads.Ending() {
		return route.ErrDraining()
	}
	states, err := f.consents.ImportConsents(ctx, p.list)
	if err != nil {
		return err
	}
	n := refusals(p.list)
	f.result.Refused, f.result.Given = f.result.Refused+n, f.result.Given+len(p.list)-n
	for i := range states {
		if states[i].Status != p.list[i].Status {
			f.result.Superseded++
		}
	}
	f.result.Rejected += len(p.wrong)
	f.result.Errors = append(f.result.Errors, p.wrong[:min(len(p.wrong), maxFileListed-len(f.result.Errors))]...)
	f.result.LastLine = p.last
	f.inFlight += f.callOff(ctx, p.list, states)
	return nil
}

// answer writes what became of the file.
func (f *consentFile) answer(w http.ResponseWriter, err error) error {
	if err != nil && f.read == 0 {
		return err
	}
	f.deadline.ExtendWrite()
	if err == nil {
		f.result.LastLine = 0
		httpjson.WriteJSON(w, http.StatusOK, StateList{States: []StateView{}, InFlight: f.inFlight, File: &f.result})
		return nil
	}
	_ = json.NewEncoder(w).Encode(ConsentProblem{httpjson.WriteProblemHead(w, err), &f.result}) // a disconnected client is not an error
	return nil
}
