package cli_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weir/cli"
)

const respondents = "POST /v1/surveys/flu/respondents"

// imported answers an import in which bad rows, from row 2 on, are rejected.
func imported(status, added, bad int) http.HandlerFunc {
	var rows []string
	for i := range bad {
		rows = append(rows, `{"line":`+strconv.Itoa(i+2)+`,"column":"phone","reason":"is no phone number"}`)
	}
	body := `{"added":` + strconv.Itoa(added) + `,"duplicates":1,"rejected":` + strconv.Itoa(bad) + `,"errors":[` + strings.Join(rows, ",") + `]}`
	if status != http.StatusOK {
		body = `{"code":"invalid","detail":"nothing was loaded","import":` + body + `}`
	}
	return answers(status, body)
}

func TestSurveyImport(t *testing.T) {
	t.Parallel()
	people := "phone,name\n+15550001,Ann\n"
	f := newRemote(t, map[string]http.HandlerFunc{respondents: imported(http.StatusOK, 1234, 0)})
	same(t, f.run("", "import", file(t, "people.csv", people), "flu"), cli.OK, "flu: 1,234 respondents loaded, 1 duplicate, 0 rows refused\n", "")
	same(t, f.run(`{"phone":"+15550001"}`, "import", "-", "flu", "--format", "ndjson", "--output", "json", "--encoding", "windows-1252", "--on-error", "none", "--duplicates", "error"),
		cli.OK, `{"survey":"flu","added":1234,"duplicates":1,"rejected":0,"errors":[]}`+"\n", "")
	want := []string{
		"POST /v1/surveys/flu/respondents?duplicates=skip&on_error=skip text/csv " + strings.TrimSpace(people),
		`POST /v1/surveys/flu/respondents?duplicates=error&encoding=windows-1252&on_error=none application/x-ndjson {"phone":"+15550001"}`,
	}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Error(diff)
	}
	check(t, f.run("", "import", "-", "flu"), cli.Misuse, "^$", "say --format csv")
	check(t, f.run("", "import", "people.xlsx", "flu"), cli.Misuse, "^$", "say --format csv")
	check(t, f.run("", "import", "people.csv", "flu", "--on-error", "stop"), cli.Misuse, "^$", "want skip or none")
	check(t, f.run("", "import", "people.csv", "flu", "--show", "-1"), cli.Misuse, "^$", "--show")
	check(t, f.run("", "import", "nobody.csv", "flu"), cli.Failure, "^$", "no such file")
}

func TestSurveyImportNamesTheRowsThatWereRefused(t *testing.T) {
	t.Parallel()
	f := newRemote(t, map[string]http.HandlerFunc{respondents: imported(http.StatusOK, 5, 3)})
	name, all := file(t, "people.csv", "phone\n1\n2\n3\n"), file(t, "refused.csv", "what was there\n")
	same(t, f.run("", "import", name, "flu"), cli.Refused, `flu: 5 respondents loaded, 1 duplicate, 3 rows refused
  line 2, phone: is no phone number
  line 3, phone: is no phone number
  line 4, phone: is no phone number
`, "weir: 3 rows were refused\n")
	same(t, f.run("", "import", name, "flu", "--show", "1"), cli.Refused, `flu: 5 respondents loaded, 1 duplicate, 3 rows refused
  line 2, phone: is no phone number
  and 2 more; --errors FILE takes them all
`, "weir: 3 rows were refused\n")
	same(t, f.run("", "import", name, "flu", "--show", "0", "--errors", all), cli.Refused, `flu: 5 respondents loaded, 1 duplicate, 3 rows refused
  3 refused rows are in `+all+"\n", "weir: 3 rows were refused\n")
	if diff := cmp.Diff("line,column,reason\n2,phone,is no phone number\n3,phone,is no phone number\n4,phone,is no phone number\n", read(t, all)); diff != "" {
		t.Error(diff)
	}
	same(t, f.run("", "import", name, "flu", "--show", "1", "-o", "json"), cli.Refused,
		`{"survey":"flu","added":5,"duplicates":1,"rejected":3,"errors":[{"column":"phone","line":2,"reason":"is no phone number"}]}`+"\n", "weir: 3 rows were refused\n")
}

func TestSurveyImportOfNothing(t *testing.T) {
	t.Parallel()
	name := file(t, "people.csv", "phone\n1\n")
	f := newRemote(t, map[string]http.HandlerFunc{respondents: imported(http.StatusUnprocessableEntity, 0, 1)})
	same(t, f.run("", "import", name, "flu", "--on-error", "none"), cli.Refused, `flu: 0 respondents loaded, 1 duplicate, 1 row refused
  line 2, phone: is no phone number
`, "weir: 1 row was refused; nothing was loaded\n")
	f = newRemote(t, map[string]http.HandlerFunc{respondents: answers(http.StatusUnprocessableEntity, `{"code":"invalid","detail":"the file is empty"}`)})
	same(t, f.run("", "import", name, "flu"), cli.Refused, "", "weir: Weir answered 422 (invalid): the file is empty\n")
}

func TestSurveyImportThatBreaksOff(t *testing.T) {
	t.Parallel()
	f := newRemote(t, map[string]http.HandlerFunc{respondents: answers(http.StatusServiceUnavailable,
		`{"code":"store_unavailable","detail":"the store is down","import":{"added":70,"duplicates":0,"rejected":2,"last_line":80,"errors":[{"line":3,"reason":"x"}]}}`)})
	same(t, f.run("", "import", file(t, "people.csv", "phone\n1\n"), "flu"), cli.Unreachable, "", `weir: Weir answered 503 (store_unavailable): the store is down
it came to line 80: 70 respondents loaded, 2 rows refused
what is loaded stays so, unless --on-error none was given; the same import can be made again
`)
	f = newRemote(t, map[string]http.HandlerFunc{respondents: answers(http.StatusOK, `{"added":70,"err`)})
	check(t, f.run("", "import", file(t, "people.csv", "phone\n1\n"), "flu"), cli.Unreachable, "^$", "incomplete(.|\n)*can be made again")
}

// The progress of a long import on a wide terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	row := []byte("+15550001,\"a \"\"quoted\nname\"\"\"\n") // 30 bytes, 1 row
	total := int64(11 + 1000*len(row))
	p := cli.NewProgress(&out, 121, func() time.Time { return now }, "people.csv", total)
	p.Add([]byte("phone,name\n"))
	for i := range 1000 {
		if i%250 == 0 {
			now = now.Add(time.Second)
		}
		p.Add(row)
	}
	p.Clear()
	want := []string{
		"people.csv [....................]   0 %  11 B of 30.0 kB, 0 rows",
		"people.csv [....................]   0 %  41 B of 30.0 kB, 1 rows, 1/s, 12 min 11 s left",
		"people.csv [#####...............]  25 %  7.5 kB of 30.0 kB, 251 rows, 125/s, 6 s left",
		"people.csv [##########..........]  50 %  15.0 kB of 30.0 kB, 501 rows, 167/s, 3 s left",
		"people.csv [###############.....]  75 %  22.5 kB of 30.0 kB, 751 rows, 187/s, 1 s left",
		"people.csv [####################] 100 %  30.0 kB of 30.0 kB, 1,000 rows, 250/s, waiting for the answer",
		"",
	}
	got := strings.Split(out.String(), "\r\x1b[K")[1:]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The progress of a stream of unknown size, and on a terminal that is too narrow.
func TestProgressWithoutASize(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	p := cli.NewProgress(&out, 31, func() time.Time { return now }, "results.csv", 0)
	now = now.Add(2 * time.Second)
	p.Add([]byte("a\nb\nc\n"))
	if got, want := out.String(), "\r\x1b[Kresults.csv  6 B, 2 rows, 1/s"[:33]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
