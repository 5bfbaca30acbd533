package people_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	consent "weir/people"
	"weir/surveys/respondents"
	"weir/web"
	"weir/web/webtest"
)

const ndjson = "application/x-ndjson"

// Scenario 434: a file of consents is recorded in the order of its lines, and lines with mistakes are reported and left out.
func TestConsentFile_IsRecordedInItsOrder(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	later := webtest.Start().Add(time.Hour).Format(time.RFC3339)
	file := strings.Join([]string{
		`{"key":"1","to":"+1 555 010 0001","status":"refused","words":"no more"}`,
		`{"key":"2","to":"+15550100002","status":"given","source":"import"}`,
		``,
		`{"key":"3","to":"0100003","status":"refused"}`,
		`{"key":"4","to":"+15550100004","status":"maybe"}`,
		`not json`,
		`{"key":"5","to":"+15550100005","status":"refused","at":"` + later + `"}`,
		`{"key":"6","to":"+15550100006","status":"refused","purpose":"nobody knows it"}`,
		`["a list"]`,
		`{"key":"7","to":"+15550100001","status":"given"}`,
		`{"key":"8","to":"+15550100007","status":"refused","at":"2026-01-01T00:00:00Z"}`,
		`{"key":"9","to":"+15550100007","status":"given","at":"2025-01-01T00:00:00Z"}`,
	}, "\n")
	got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", file, "Content-Type", ndjson), 200)
	if got.File == nil || len(got.States) > 0 {
		t.Fatalf("%+v", got)
	}
	var places []string
	for _, e := range got.File.Errors {
		if e.Reason == "" || strings.Contains(e.Reason, "0100") {
			t.Errorf("%+v", e)
		}
		places = append(places, fmt.Sprint(e.Line, " ", e.Column))
	}
	if d := cmp.Diff([]string{"4 to", "5 status", "6 ", "7 at", "8 purpose", "9 "}, places); d != "" {
		t.Errorf("wrong lines (-want +got):\n%s", d)
	}
	want := api.ConsentFile{ConsentFigures: api.ConsentFigures{Rows: 11, Refused: 2, Given: 3, Superseded: 1, ImportRejects: api.ImportRejects{Rejected: 6}}, Errors: got.File.Errors}
	if d := cmp.Diff(want, *got.File); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for to, refused := range map[string]bool{"+15550100001": false, "+15550100007": true} {
		if found := webtest.Into[api.PersonConsents](t, r.Do("POST", "/v1/consents:search", `{"to":"`+to+`"}`), 200); found.Refused != refused || len(found.Consents) != 2 {
			t.Errorf("%s: %+v", to, found)
		}
	}
	again := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", file, "Content-Type", ndjson), 200)
	if said := r.Said(); len(said) != 5 || again.File.Rejected != 6 {
		t.Errorf("repeated: %+v, %d consents", again.File, len(said))
	}
	if strings.Contains(r.Logs.String(), "01000") {
		t.Error("a number is in the log")
	}
}

// breaking is a body that ends with an error.
type breaking struct{ io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("the connection is gone")
	}
	return n, err
}

// Scenario 435: of a file that breaks off, what was read is recorded, and the answer says up to which line.
func TestConsentFile_ThatBreaksOffIsRecordedSoFar(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/consents", breaking{strings.NewReader(consentLine(1) + consentLine(2))})
	req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
	req.Header.Set("Content-Type", ndjson)
	g := r.Serve(req)
	var p api.ConsentProblem
	if err := json.Unmarshal([]byte(g.Body), &p); err != nil || g.Status != 400 {
		t.Fatalf("%d %s (%v)", g.Status, g.Body, err)
	}
	if d := cmp.Diff(&api.ConsentFile{ConsentFigures: api.ConsentFigures{Rows: 2, Refused: 2, ImportRejects: api.ImportRejects{LastLine: 2}}, Errors: []respondents.RowError{}}, p.File); d != "" || len(r.Said()) != 2 {
		t.Errorf("%d consents (-want +got):\n%s", len(r.Said()), d)
	}
}

func consentLine(n int) string {
	return fmt.Sprintf(`{"key":"%d","to":"+1555010%04d","status":"refused"}`+"\n", n, n)
}

// A line that is too long is rejected as others are, and the next ones are recorded.
func TestConsentFile_RejectsALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	long := `{"to":"+15550100002","status":"refused","words":"` + strings.Repeat("x", 2<<20) + `"}` + "\n"
	got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", consentLine(1)+long+consentLine(3), "Content-Type", ndjson), 200)
	if f := got.File; f == nil || f.Refused != 2 || f.Rejected != 1 || len(f.Errors) != 1 || f.Errors[0].Line != 2 || len(r.Said()) != 2 {
		t.Errorf("%+v", got.File)
	}
}

// fullStore is a store that takes no more lists.
type fullStore struct{ consent.Store }

func (fullStore) ImportConsents(context.Context, []consent.Consent) ([]consent.State, error) {
	return nil, weir.Errorf(weir.CodeUnavailable, "the store is down")
}

// A file that cannot be recorded is answered with why, however much of it is still to come.
func TestConsentFile_AnswersThatTheStoreIsDown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.People = fullStore{o.People} })
	file := strings.Repeat(`{"to":"+15550100001","status":"refused"}`+"\n", 120_000)
	g := r.Do("POST", "/v1/consents", file, "Content-Type", ndjson)
	var p api.ConsentProblem
	if err := json.Unmarshal([]byte(g.Body), &p); err != nil || g.Status != 503 || p.File == nil || p.File.LastLine != 0 || p.File.Refused != 0 {
		t.Errorf("%d %s (%v)", g.Status, g.Body, err)
	}
}

// Scenario 436: a file that is longer than a part is recorded whole, and what it says of one person in its order, also across
// parts.
func TestConsentFile_OfSeveralPartsIsRecordedWhole(t *testing.T) {
	t.Parallel()
	const lines, persons = 50_500, 50_400
	r := webtest.New(t)
	var file strings.Builder
	for n := range lines {
		status := "refused"
		if n >= persons {
			status = "given"
		}
		fmt.Fprintf(&file, `{"key":"%d","to":"+15551%06d","status":"%s"}`+"\n", n, n%persons, status)
	}
	got := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents", file.String(), "Content-Type", ndjson), 200)
	if d := cmp.Diff(&api.ConsentFile{ConsentFigures: api.ConsentFigures{Rows: lines, Refused: persons, Given: lines - persons}, Errors: []respondents.RowError{}}, got.File); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for n, refused := range map[int]bool{0: false, lines - persons - 1: false, lines - persons: true, persons - 1: true} {
		states, _, err := r.Store.Consents(t.Context(), consent.Canonical(fmt.Sprintf("+15551%06d", n)), 1)
		if is, _ := consent.Decide(states, consent.AllPurposes); err != nil || is != refused {
			t.Errorf("person %d: refused %v (%v), want %v", n, is, err, refused)
		}
	}
}

// Scenario 295: a list in CSV is previewed, recorded once however often it is sent, and its refused rows come back as a file that can be mended.
func TestConsentFile_OfCSVIsMappedAndRecordedOnce(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	const file = "Cell;opted out;weir_line\n+52 1 55 1234 5678;true;\n5.25512E+12;true;\n+15550100234;false;\nana@example.org;yes;\n"
	columns := "?columns=" + url.QueryEscape("cell=to,opted out=status")
	for _, x := range []struct{ query, pointer, code string }{
		{"", "/columns/1", "required"}, {"?columns=x=to", "/columns", "unknown"}, {columns + "&header=0123", "/header", "changed"},
	} {
		var p api.ConsentProblem
		g := r.Do("POST", "/v1/consents"+x.query, file, "Content-Type", "text/csv")
		if err := json.Unmarshal([]byte(g.Body), &p); err != nil || g.Status != 422 || !slices.ContainsFunc(p.Errors, func(e weir.FieldError) bool { return e.Pointer == x.pointer && e.Code == x.code }) || len(p.File.Columns) != 3 {
			t.Errorf("%s: %d %s", x.query, g.Status, g.Body)
		}
	}
	said := webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents"+columns+"&dry_run=true", file, "Content-Type", "text/csv"), 200).File
	want := api.ConsentFigures{Rows: 4, Refused: 2, Silent: 1, NoNumbers: 1, ImportRejects: api.ImportRejects{Rejected: 1}}
	if d := cmp.Diff(want, said.ConsentFigures); d != "" || len(said.First) != 2 || said.First[0].To != "+525512345678" || said.First[0].Line != 2 || said.Columns[1].Field != "status" || len(r.Said()) != 0 {
		t.Errorf("%+v (-want +got):\n%s", said, d)
	}
	masked := r.Do("POST", "/v1/consents"+columns+"&dry_run=true", file, "Content-Type", "text/csv", "Authorization", "Bearer "+r.Token("people:admin"))
	if masked.Status != 200 || strings.Contains(masked.Body, "1234") || strings.Contains(masked.Body, "ana@") {
		t.Errorf("%d %s", masked.Status, masked.Body)
	}
	for range 2 {
		g := r.Do("POST", "/v1/consents"+columns+"&header="+said.Header, file, "Content-Type", "text/csv", "Accept", "text/csv")
		if want := "weir_line;weir_column;weir_reason;Cell;opted out\n3;Cell;\"is a number that a spreadsheet has rounded; export the column as text\";5.25512E+12;true\n"; g.Status != 200 || g.Body != want {
			t.Errorf("%d %s", g.Status, g.Body)
		}
		var told api.ConsentFigures
		if err := json.Unmarshal([]byte(g.Header.Get("Weir-Import")), &told); err != nil || told != said.ConsentFigures {
			t.Errorf("%v %+v", err, told)
		}
	}
	if n := len(r.Said()); n != 2 {
		t.Errorf("%d consents", n)
	}
	webtest.Into[api.StateList](t, r.Do("POST", "/v1/consents?dry_run=true", `{"consents":[{"to":"+15550100001","status":"refused"}]}`), 200)
	if n := len(r.Said()); n != 2 {
		t.Errorf("%d consents after a dry run", n)
	}
}
