package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

const surveyToken = "s3cret-token"

// fakeWeir is a fake Weir with set responses by method and path. It records the
// requests.
type fakeWeir struct {
	t       *testing.T
	url     string
	answers map[string]http.HandlerFunc

	mu    sync.Mutex
	asked []string
}

func newFakeWeir(t *testing.T, answers map[string]http.HandlerFunc) *fakeWeir {
	t.Helper()
	f := &fakeWeir{t: t, answers: answers}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fakeWeir) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+surveyToken {
		answers(http.StatusUnauthorized, `{"code":"unauthorised","detail":"who are you?"}`)(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Errorf("read %s: %v", r.URL, err)
	}
	f.mu.Lock()
	f.asked = append(f.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)))
	answer := f.answers[r.Method+" "+r.URL.Path]
	f.mu.Unlock()
	if answer == nil {
		answer = answers(http.StatusNotFound, `{"code":"not_found","detail":"there is no survey flu"}`)
	}
	answer(w, r)
}

func (f *fakeWeir) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// run runs a command line against it, with a standard input, at a fixed instant.
func (f *fakeWeir) run(stdin string, args ...string) clitest.Result {
	f.t.Helper()
	r := clitest.Run(func(out, err io.Writer) int {
		return cli.Run(f.t.Context(), append([]string{"survey"}, args...), cli.Options{
			Environ: []string{"WEIR_URL=" + f.url, "WEIR_TOKEN=" + surveyToken, "TZ=UTC"},
			Stdin:   strings.NewReader(stdin), Stdout: out, Stderr: err,
			Now: func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) },
		})
	})
	if strings.Contains(r.Out+r.Err, surveyToken) {
		f.t.Errorf("the token is shown:\n%s%s", r.Out, r.Err)
	}
	return r
}

// same compares a result exactly.
func same(t *testing.T, r clitest.Result, code int, out, err string) {
	t.Helper()
	if diff := cmp.Diff([]any{code, out, err}, []any{r.Code, r.Out, r.Err}); diff != "" {
		t.Errorf("code, output and errors:\n%s", diff)
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const summary = `{"survey":"flu","title":"Flu 2026","state":"running","version":3,"created_at":"2026-05-01T08:00:00Z","launched_at":"2026-05-04T08:30:00Z"}`

func TestSurvey_PutSavesADefinition(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"PUT /v1/surveys/flu": answers(http.StatusCreated, `{"survey":"flu","state":"draft"}`)})
	name := file(t, "flu.json", "{\n \"cutoff\": 5\n}\n")
	same(t, f.run("", "put", name, "flu"), app.OK, "flu: saved, draft\n", "")
	same(t, f.run(`{"cutoff":6}`, "put", "-", "flu", "--output", "json"), app.OK, `{"survey":"flu","state":"draft"}`+"\n", "")
	want := []string{`PUT /v1/surveys/flu application/json {"cutoff":5}`, `PUT /v1/surveys/flu application/json {"cutoff":6}`}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Error(diff)
	}
	bad := file(t, "bad.json", "{\n \"cutoff\": 5,\n}\n")
	same(t, f.run("", "put", bad, "flu"), app.Failure, "", "weir: "+bad+": line 3, column 1: invalid character '}' looking for beginning of object key string\n")
	clitest.Check(t, f.run("", "put", bad+"x", "flu"), app.Failure, "^$", "no such file")
}

func TestSurvey_PutShowsEveryMistake(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"PUT /v1/surveys/flu": answers(http.StatusUnprocessableEntity,
		`{"code":"invalid","detail":"validation failed; nothing was changed","errors":[{"pointer":"/cutoff","code":"range","detail":"must be from 0 to 9"},
		{"pointer":"/arms","code":"required","detail":"must list at least one arm with its modes"}]}`)})
	same(t, f.run("{}", "put", "-", "flu"), app.Rejected, "", `weir: Weir answered 422 (invalid): validation failed; nothing was changed
  /cutoff: must be from 0 to 9
  /arms: must list at least one arm with its modes
`)
}

func TestSurvey_StepsPrintTheNewState(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"POST /v1/surveys/flu:launch": answers(http.StatusOK, summary),
		"POST /v1/surveys/flu:pause":  answers(http.StatusOK, `{"survey":"flu","state":"paused"}`),
		"POST /v1/surveys/flu:resume": answers(http.StatusOK, summary),
		"POST /v1/surveys/flu:stop":   answers(http.StatusOK, `{"survey":"flu","state":"done","cause":"stopped"}`),
		"POST /v1/surveys/old:pause":  answers(http.StatusConflict, `{"code":"conflict","detail":"a survey that is done cannot pause"}`),
		"POST /v1/surveys/flu:lock":   answers(http.StatusOK, `{"survey":"flu","state":"running","locked":true}`),
		"POST /v1/surveys/flu:unlock": answers(http.StatusOK, summary),
		"POST /v1/surveys/old:stop":   answers(http.StatusConflict, `{"code":"locked","detail":"survey old is locked"}`),
		"DELETE /v1/surveys/flu":      answers(http.StatusNoContent, ""),
	})
	same(t, f.run("", "lock", "flu"), app.OK, "flu: running, locked\n", "")
	same(t, f.run("", "unlock", "flu"), app.OK, "flu: running\n", "")
	same(t, f.run("", "stop", "old", "--yes"), app.Rejected, "", "weir: Weir answered 409 (locked): survey old is locked\n")
	same(t, f.run("", "launch", "flu"), app.OK, "flu: running\n", "")
	same(t, f.run("", "pause", "flu"), app.OK, "flu: paused\n", "")
	same(t, f.run("", "resume", "flu", "-o", "json"), app.OK, summary+"\n", "")
	same(t, f.run("", "stop", "flu", "--yes"), app.OK, "flu: done (stopped by a user)\n", "")
	same(t, f.run("", "pause", "old"), app.Rejected, "", "weir: Weir answered 409 (conflict): a survey that is done cannot pause\n")
	same(t, f.run("", "launch", "none"), app.NotFound, "", "weir: Weir answered 404 (not_found): there is no survey flu\n")
	clitest.Check(t, f.run("", "delete", "flu"), app.Usage, "^$", "add --yes")
	same(t, f.run("", "delete", "flu", "--yes"), app.OK, "flu: deleted\n", "")
	same(t, f.run("", "delete", "flu", "--yes", "--output", "json"), app.OK, `{"deleted":true,"survey":"flu"}`+"\n", "")
}

func TestSurvey_ListReadsEveryPage(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/surveys": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			answers(http.StatusOK, `{"surveys":[`+summary+`],"next_cursor":"flu"}`)(w, r)
			return
		}
		answers(http.StatusOK, `{"surveys":[{"survey":"old-one","state":"done","launched_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-03T03:04:05Z"}]}`)(w, r)
	}})
	same(t, f.run("", "list", "--state", "running", "--state", "done"), app.OK, `SURVEY   STATE    LAUNCHED           ENDED              TITLE
flu      running  2026-05-04 08:30Z  -                  Flu 2026
old-one  done     2026-01-02 03:04Z  2026-01-03 03:04Z  -
`, "")
	if want := "GET /v1/surveys?limit=100&state=running%2Cdone"; f.requests()[0] != want {
		t.Errorf("asked %q, want %q", f.requests()[0], want)
	}
	if whole := f.run("", "list", "--output", "json"); !json.Valid([]byte(whole.Out)) || whole.Out[0] != '[' {
		t.Errorf("no array of JSON: %s", whole.Out)
	}
	r := f.run("", "list", "--output", "jsonl")
	for line := range strings.Lines(r.Out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if n := strings.Count(r.Out, "\n"); n != 2 || r.Code != app.OK {
		t.Errorf("%d lines, code %d", n, r.Code)
	}
}

func TestSurvey_ExportWritesWholeFilesOnly(t *testing.T) {
	t.Parallel()
	const csv = "id,answer\nr1,\"two\nlines\"\nr2,x\n"
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/results.csv":  answers(http.StatusOK, csv),
		"GET /v1/surveys/flu/results.xlsx": answers(http.StatusOK, "PK\n\n"),

		"GET /v1/surveys/flu/dispositions.csv": answers(http.StatusOK, csv),
		"GET /v1/surveys/flu/incentives.csv":   answers(http.StatusOK, csv),

		"GET /v1/surveys/flu/log.csv": func(w http.ResponseWriter, r *http.Request) {
			answers(http.StatusOK, csv)(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	})
	folder := t.TempDir()
	name := filepath.Join(folder, "out.csv")
	same(t, f.run("", "export", "results", "flu", "--file", name), app.OK, name+": 2 rows, 30 B\n", "")
	if diff := cmp.Diff(csv, read(t, name)); diff != "" {
		t.Error(diff)
	}
	clitest.Check(t, f.run("", "export", "results", "flu", "--file", name), app.Usage, "^$", "exists; add --force")
	clitest.Check(t, f.run("", "export", "results", "flu", "--file", name, "--force", "-o", "json"), app.OK, `^\{"bytes":30,"file":".*out.csv","rows":2\}\n$`, "^$")
	same(t, f.run("", "export", "results", "flu", "--file", "-"), app.OK, csv, "")
	clitest.Check(t, f.run("", "export", "results", "flu", "-f", "-", "--disposition", "refused,interim partial", "--disposition", "ineligible", "--since", "2026-01-31T09:00:00Z", "--until", "2026-02-01T09:00:00Z"), app.OK, "r1", "^$")
	if got, want := f.requests()[len(f.requests())-1], "GET /v1/surveys/flu/results.csv?disposition=refused%2Cinterim+partial%2Cineligible&since=2026-01-31T09%3A00%3A00Z&until=2026-02-01T09%3A00%3A00Z"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	book := filepath.Join(folder, "book.xlsx")
	same(t, f.run("", "export", "results", "flu", "--file", book, "--format", "xlsx", "--values", "labels", "--status", "failed"), app.OK, book+": 4 B\n", "")
	if got, want := f.requests()[len(f.requests())-1], "GET /v1/surveys/flu/results.xlsx?status=failed&values=labels"; got != want || os.Remove(book) != nil {
		t.Errorf("asked %q, want %q", got, want)
	}
	clitest.Check(t, f.run("", "export", "results", "flu", "--file", "-", "--format", "ncd"), app.OK, "r1", "^$")
	if got, want := f.requests()[len(f.requests())-1], "GET /v1/surveys/flu/results.csv?format=ncd"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	for _, what := range []string{"dispositions", "incentives"} {
		clitest.Check(t, f.run("", "export", what, "flu", "--file", "-", "--format", "ncd"), app.OK, "r1", "^$")
		if got, want := f.requests()[len(f.requests())-1], "GET /v1/surveys/flu/"+what+".csv?format=ncd"; got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	// An interrupted export leaves no file, and does not change an existing one.
	clitest.Check(t, f.run("", "export", "log", "flu", "--file", filepath.Join(folder, "log.csv")), app.Failure, "^$", "the export is incomplete")
	clitest.Check(t, f.run("", "export", "log", "flu", "--file", name, "--force"), app.Failure, "^$", "the export is incomplete")
	clitest.Check(t, f.run("", "export", "log", "gone", "--file", filepath.Join(folder, "gone.csv")), app.NotFound, "^$", "404")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || read(t, name) != csv {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestSurvey_ServerAndTokenComeFromFlagsOrVariables(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/surveys": answers(http.StatusOK, `{"surveys":[]}`)})
	good, bad, empty := file(t, "token", surveyToken+"\n"), file(t, "bad", "another\n"), file(t, "empty", "\n")
	for _, c := range []struct {
		name    string
		environ []string
		flags   string
		code    int
		err     string
	}{
		{"server down", []string{"WEIR_URL=http://127.0.0.1:1"}, "", app.Unreachable, "no response from Weir at http://127.0.0.1:1(?s:.*)check that Weir is running there"},
		{"no token", nil, "--url " + f.url, app.Rejected, `401 \(unauthorised\)(?s:.*)WEIR_TOKEN_FILE or --token-file`},
		{"token in a file", []string{"WEIR_TOKEN_FILE=" + good}, "--url " + f.url, app.OK, "^$"},
		{"the flag goes before", []string{"WEIR_TOKEN=another", "WEIR_URL=http://127.0.0.1:1"}, "--token-file " + good + " --url " + f.url, app.OK, "^$"},
		{"the wrong one", []string{"WEIR_TOKEN=" + surveyToken}, "--token-file " + bad + " --url " + f.url, app.Rejected, "401"},
		{"two tokens", []string{"WEIR_TOKEN=a", "WEIR_TOKEN_FILE=" + good}, "", app.Usage, "both set"},
		{"an empty file", nil, "--token-file " + empty, app.Failure, "is empty"},
		{"no file", nil, "--token-file " + empty + "x", app.Failure, "read the token: .*no such file"},
		{"no URL", nil, "--url weir.example", app.Usage, "must be an http or https URL"},
		{"no such form", nil, "--output yaml", app.Usage, "want table, json or jsonl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.environ, append([]string{"survey", "list"}, strings.Fields(c.flags)...)...)
			clitest.Check(t, r, c.code, "", c.err)
			if strings.Contains(r.Out+r.Err, surveyToken) {
				t.Errorf("the token is shown:\n%s%s", r.Out, r.Err)
			}
		})
	}
}

func TestSurvey_HelpHasExamples(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"put", "import", "launch", "pause", "resume", "stop", "lock", "unlock", "status", "show", "list", "export results", "export log", "delete"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, nil, append(append([]string{"survey"}, strings.Fields(command)...), "--help")...), app.OK,
				`(?s)^[A-Z].*Usage:\n  weir survey `+command+`.*Examples:.*weir survey `+command+`.*--output`, "^$")
			if command != "list" {
				clitest.Check(t, run(t, nil, append([]string{"survey"}, strings.Fields(command)...)...), app.Usage, "^$", "(NAME|FILE) is missing")
			}
		})
	}
	clitest.Check(t, run(t, nil, "survey", "--help"), app.OK, "(?s)Exit codes.*4  rejected.*Examples:", "^$")
	clitest.Check(t, run(t, nil, "survey", "lanch"), app.Usage, "^$", `did you mean "launch"`)
	clitest.Check(t, run(t, nil, "survey", "launch", "a", "b"), app.Usage, "^$", `unexpected argument "b"`)
	clitest.Check(t, run(t, nil, "survey", "launch", ""), app.Usage, "^$", "NAME is empty")
}

// An interrupted command reports the interruption and nothing more.
func TestSurvey_InterruptionIsReportedAlone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/stats": answers(http.StatusOK, `{"survey":"flu","state":"running"}`),
		"GET /v1/surveys/flu": func(w http.ResponseWriter, r *http.Request) {
			answers(http.StatusOK, summary)(w, r)
			cancel()
		},
	})
	r := runIn(ctx, []string{"WEIR_URL=" + f.url, "WEIR_TOKEN=" + surveyToken}, "survey", "status", "flu", "--watch")
	clitest.Check(t, r, app.Failure, "", "^weir: interrupted\n$")
}

func TestSurvey_ShowPrintsTheDefinition(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{"GET /v1/surveys/flu": answers(http.StatusOK, `{"survey":"flu","title":"Flu 2026","state":"running","created_at":"2026-05-01T08:00:00Z","updated_at":"2026-05-02T08:00:00Z",
		"schedule":{"time_zone":"America/Mexico_City","weekdays":["mon","tue"],"windows":[{"from":"09:00","to":"18:00"}],"end_date":"2026-06-30"},
		"modes":{"ivr":{"channel":"calls","retries":"2h 1d"},"sms":{"channel":"texts"}},"arms":[{"modes":["ivr","sms"]}],"cutoff":1000,"fallback_delay":"2h",
		"quotas":[{"where":{"region":{"in":["north"]}},"quota":500}],"application":{"url":"https://app.example/messages","has_secret":true}}`)})
	same(t, f.run("", "show", "flu"), app.OK, `flu (Flu 2026): running
  created        2026-05-01 08:00:00Z
  changed        2026-05-02 08:00:00Z
  schedule       mon tue 09:00 to 18:00 America/Mexico_City; until 2026-06-30
  mode ivr       channel calls, retries after 2h 1d
  mode sms       channel texts
  arm 1          ivr then sms
  fallback       after 2h
  cutoff         1,000
  quota          region north: 500
  application    https://app.example/messages
`, "")
	clitest.Check(t, f.run("", "show", "none"), app.NotFound, "^$", "404")
}
