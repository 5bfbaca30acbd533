package cli_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
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
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: imported(http.StatusOK, 1234, 0)})
	same(t, f.run("", "import", file(t, "people.csv", people), "flu"), app.OK, "flu: 1,234 respondents imported, 1 duplicate, 0 rows rejected\n", "")
	same(t, f.run(`{"phone":"+15550001"}`, "import", "-", "flu", "--format", "ndjson", "--output", "json", "--encoding", "windows-1252", "--on-error", "none", "--duplicates", "error"),
		app.OK, `{"survey":"flu","added":1234,"duplicates":1,"rejected":0,"errors":[]}`+"\n", "")
	want := []string{
		"POST /v1/surveys/flu/respondents?duplicates=skip&on_error=skip text/csv " + strings.TrimSpace(people),
		`POST /v1/surveys/flu/respondents?duplicates=error&encoding=windows-1252&on_error=none application/x-ndjson {"phone":"+15550001"}`,
	}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Error(diff)
	}
	clitest.Check(t, f.run("", "import", "-", "flu"), app.Usage, "^$", "add --format csv")
	clitest.Check(t, f.run("", "import", "people.xlsx", "flu"), app.Usage, "^$", "add --format csv")
	clitest.Check(t, f.run("", "import", "people.csv", "flu", "--on-error", "stop"), app.Usage, "^$", "want skip or none")
	clitest.Check(t, f.run("", "import", "people.csv", "flu", "--show", "-1"), app.Usage, "^$", "--show")
	clitest.Check(t, f.run("", "import", "none.csv", "flu"), app.Failure, "^$", "no such file")
}

func TestSurveyImportRejectedRows(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: imported(http.StatusOK, 5, 3)})
	name, all := file(t, "people.csv", "phone\n1\n2\n3\n"), file(t, "refused.csv", "what was there\n")
	same(t, f.run("", "import", name, "flu"), app.Rejected, `flu: 5 respondents imported, 1 duplicate, 3 rows rejected
  line 2, phone: is no phone number
  line 3, phone: is no phone number
  line 4, phone: is no phone number
`, "weir: 3 rows were rejected\n")
	same(t, f.run("", "import", name, "flu", "--show", "1"), app.Rejected, `flu: 5 respondents imported, 1 duplicate, 3 rows rejected
  line 2, phone: is no phone number
  and 2 more; --errors FILE writes them to a file
`, "weir: 3 rows were rejected\n")
	same(t, f.run("", "import", name, "flu", "--show", "0", "--errors", all), app.Rejected, `flu: 5 respondents imported, 1 duplicate, 3 rows rejected
  3 rejected rows are in `+all+"\n", "weir: 3 rows were rejected\n")
	if diff := cmp.Diff("line,column,reason\n2,phone,is no phone number\n3,phone,is no phone number\n4,phone,is no phone number\n", read(t, all)); diff != "" {
		t.Error(diff)
	}
	same(t, f.run("", "import", name, "flu", "--show", "1", "-o", "json"), app.Rejected,
		`{"survey":"flu","added":5,"duplicates":1,"rejected":3,"errors":[{"column":"phone","line":2,"reason":"is no phone number"}]}`+"\n", "weir: 3 rows were rejected\n")
}

func TestSurveyImportOfNothing(t *testing.T) {
	t.Parallel()
	name := file(t, "people.csv", "phone\n1\n")
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: imported(http.StatusUnprocessableEntity, 0, 1)})
	same(t, f.run("", "import", name, "flu", "--on-error", "none"), app.Rejected, `flu: 0 respondents imported, 1 duplicate, 1 row rejected
  line 2, phone: is no phone number
`, "weir: 1 row was rejected; nothing was imported\n")
	f = newFakeWeir(t, map[string]http.HandlerFunc{respondents: answers(http.StatusUnprocessableEntity, `{"code":"invalid","detail":"the file is empty"}`)})
	same(t, f.run("", "import", name, "flu"), app.Rejected, "", "weir: Weir answered 422 (invalid): the file is empty\n")
}

func TestSurveyImportInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: answers(http.StatusServiceUnavailable,
		`{"code":"store_unavailable","detail":"the store is down","import":{"added":70,"duplicates":0,"rejected":2,"last_line":80,"errors":[{"line":3,"reason":"x"}]}}`)})
	same(t, f.run("", "import", file(t, "people.csv", "phone\n1\n"), "flu"), app.Unreachable, "", `weir: Weir answered 503 (store_unavailable): the store is down
stopped after line 80: 70 respondents imported, 2 rows rejected
imported rows stay imported, unless --on-error none was given; it is safe to run the same import again
`)
	f = newFakeWeir(t, map[string]http.HandlerFunc{respondents: answers(http.StatusOK, `{"added":70,"err`)})
	clitest.Check(t, f.run("", "import", file(t, "people.csv", "phone\n1\n"), "flu"), app.Unreachable, "^$", "incomplete(.|\n)*safe to run the same import again")
}
