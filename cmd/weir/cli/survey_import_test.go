package cli_test

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/client"
	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

const respondents = "POST /v1/surveys/flu/respondents"

// imported answers an import in which bad rows, from row 2 on, are rejected, with their file if it is asked for.
func imported(status, added, bad int) http.HandlerFunc {
	var rows []string
	file := "weir_line,weir_column,weir_reason,phone\n"
	for i := range bad {
		rows = append(rows, `{"line":`+strconv.Itoa(i+2)+`,"column":"phone","reason":"is no phone number"}`)
		file += strconv.Itoa(i+2) + ",phone,is no phone number," + strconv.Itoa(i+1) + "\n"
	}
	body := `{"added":` + strconv.Itoa(added) + `,"duplicates":1,"rejected":` + strconv.Itoa(bad) + `,"errors":[` + strings.Join(rows, ",") + `]}`
	if status != http.StatusOK {
		body = `{"code":"invalid","detail":"nothing was loaded","import":` + body + `,"file":` + strconv.Quote(file) + `}`
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK || r.Header.Get("Accept") == "" {
			answers(status, body)(w, r)
			return
		}
		parts := multipart.NewWriter(w)
		w.Header().Set("Content-Type", "multipart/mixed; boundary="+parts.Boundary())
		for _, part := range [][2]string{{"application/json", body}, {"text/csv", file}} {
			p, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {part[0]}})
			_, _ = io.WriteString(p, part[1])
		}
		_ = parts.Close()
	}
}

func TestSurveyImport_PrintsItsCountsAndPassesFlagsOn(t *testing.T) {
	t.Parallel()
	people := "phone,name\n+15550001,Ann\n"
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: imported(http.StatusOK, 1234, 0)})
	same(t, f.run("", "import", file(t, "people.csv", people), "flu"), app.OK, "flu: 1,234 respondents imported, 1 duplicate, 0 rows rejected\n", "")
	same(t, f.run(`{"phone":"+15550001"}`, "import", "-", "flu", "--format", "ndjson", "--output", "json", "--encoding", "windows-1252", "--on-error", "none", "--duplicates", "error"),
		app.OK, `{"survey":"flu","added":1234,"duplicates":1,"rejected":0,"errors":[]}`+"\n", "")
	same(t, f.run("", "import", file(t, "crm.csv", people), "flu", "--phone", "Mobile no.", "--columns", "First name=name,age", "--columns", "Ward"), app.OK, "flu: 1,234 respondents imported, 1 duplicate, 0 rows rejected\n", "")
	same(t, f.run("", "import", file(t, "people.xlsx", "PK"), "flu", "--sheet", "May"), app.OK, "flu: 1,234 respondents imported, 1 duplicate, 0 rows rejected\n", "")
	want := []string{
		"POST /v1/surveys/flu/respondents?duplicates=skip&on_error=skip text/csv " + strings.TrimSpace(people),
		`POST /v1/surveys/flu/respondents?duplicates=error&encoding=windows-1252&on_error=none application/x-ndjson {"phone":"+15550001"}`,
		"POST /v1/surveys/flu/respondents?columns=First+name%3Dname%2Cage%2CWard&duplicates=skip&on_error=skip&phone=Mobile+no. text/csv " + strings.TrimSpace(people),
		"POST /v1/surveys/flu/respondents?duplicates=skip&on_error=skip&sheet=May application/vnd.openxmlformats-officedocument.spreadsheetml.sheet PK",
	}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Error(diff)
	}
	clitest.Check(t, f.run("", "import", "-", "flu"), app.Usage, "^$", "add --format csv")
	clitest.Check(t, f.run("", "import", "people.csv", "flu", "--dry-run", "--errors", "x.csv"), app.Usage, "^$", "cannot be combined")
	clitest.Check(t, f.run("", "import", "people.ods", "flu"), app.Usage, "^$", "add --format csv")
	clitest.Check(t, f.run("", "import", "people.csv", "flu", "--on-error", "stop"), app.Usage, "^$", "want skip or none")
	clitest.Check(t, f.run("", "import", "people.csv", "flu", "--show", "-1"), app.Usage, "^$", "--show")
	clitest.Check(t, f.run("", "import", "none.csv", "flu"), app.Failure, "^$", "no such file")
}

func TestSurveyImport_RejectedRowsAreListed(t *testing.T) {
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
	if diff := cmp.Diff("weir_line,weir_column,weir_reason,phone\n2,phone,is no phone number,1\n3,phone,is no phone number,2\n4,phone,is no phone number,3\n", read(t, all)); diff != "" {
		t.Error(diff)
	}
	same(t, f.run("", "import", name, "flu", "--show", "1", "-o", "json"), app.Rejected,
		`{"survey":"flu","added":5,"duplicates":1,"rejected":3,"errors":[{"line":2,"column":"phone","reason":"is no phone number"}]}`+"\n", "weir: 3 rows were rejected\n")
}

func TestSurveyImport_OfNothingIsAnError(t *testing.T) {
	t.Parallel()
	name := file(t, "people.csv", "phone\n1\n")
	f := newFakeWeir(t, map[string]http.HandlerFunc{respondents: imported(http.StatusUnprocessableEntity, 0, 1)})
	same(t, f.run("", "import", name, "flu", "--on-error", "none"), app.Rejected, `flu: 0 respondents imported, 1 duplicate, 1 row rejected
  line 2, phone: is no phone number
`, "weir: 1 row was rejected; nothing was imported\n")
	rejected := filepath.Join(t.TempDir(), "rejected.csv")
	clitest.Check(t, f.run("", "import", name, "flu", "--on-error", "none", "--errors", rejected), app.Rejected, "1 rejected row is in", "nothing was imported")
	if diff := cmp.Diff("weir_line,weir_column,weir_reason,phone\n2,phone,is no phone number,1\n", read(t, rejected)); diff != "" {
		t.Error(diff)
	}
	f = newFakeWeir(t, map[string]http.HandlerFunc{respondents: answers(http.StatusUnprocessableEntity, `{"code":"invalid","detail":"the file is empty"}`)})
	same(t, f.run("", "import", name, "flu"), app.Rejected, "", "weir: Weir answered 422 (invalid): the file is empty\n")
}

func TestSurveyImport_InterruptionTellsWhatWasAdded(t *testing.T) {
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

// The rejected rows of an import are corrected in their file, and imported from it.
func TestSurveyImport_CorrectedRowsAreImported(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	for name, x := range map[string]struct {
		file, rejected string
		stdin          bool
		args           []string
	}{
		"csv": {
			file: "phone,First Name\n+15550001,Ann\n1,\"Bo, b\"\n+15550003,Cy,x\n+15550004,D\"\n+15550005,Eve\n",
			rejected: "weir_line,weir_column,weir_reason,phone,First Name\n" +
				"3,phone,the phone number has an unknown country code or is not valid in its country,1,\"Bo, b\"\n" +
				"4,,has 3 fields; the header has 2,+15550003,Cy,x\n" +
				"5,,a field contains a quote but does not begin with one,\"'+15550004,D\"\"\"\n",
		},
		"semicolons-of-windows": {
			file:     "first_name;phone\nJos\xe9;1\nAnn;+15550001\n",
			rejected: "\ufeffweir_line;weir_column;weir_reason;first_name;phone\n2;phone;the phone number has an unknown country code or is not valid in its country;José;1\n", args: []string{"--encoding", "windows-1252"},
		},
		"stdin": {
			file: `{"phone":"1","first_name":"Bob"}` + "\n" + `{"phone":"+15550001"}` + "\n[]\n" + `{"phone":"+15550003"`, stdin: true, args: []string{"--format", "ndjson"},
			rejected: `{"weir_line":1,"weir_column":"phone","weir_reason":"the phone number has an unknown country code or is not valid in its country","phone":"1","first_name":"Bob"}` + "\n" +
				`{"weir_line":3,"weir_reason":"is not one JSON object"} []` + "\n" +
				`{"weir_line":4,"weir_reason":"is not one JSON object","phone":"+15550003"` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, at(t, b.url, fluDefinition, "survey", "put", "-", name), app.OK, "", "")
			dir := t.TempDir()
			rejected, again := filepath.Join(dir, "rejected"), filepath.Join(dir, "again")
			from, stdin := file(t, "people.csv", x.file), ""
			if x.stdin {
				from, stdin = "-", x.file
			}
			clitest.Check(t, at(t, b.url, stdin, append([]string{"survey", "import", from, name, "--errors", rejected}, x.args...)...), app.Rejected, "", "")
			if diff := cmp.Diff(x.rejected, read(t, rejected)); diff != "" {
				t.Fatal(diff)
			}
			kind := []string{"--format", "csv"}
			if x.stdin {
				kind[1] = "ndjson"
			}
			// What was not corrected is written as it was, with its new lines, and without the earlier reasons.
			clitest.Check(t, b.run(append([]string{"survey", "import", rejected, name, "--errors", again}, kind...)...), app.Rejected, "0 respondents imported", "")
			if was, is := strings.Count(x.rejected, "weir_reason"), strings.Count(read(t, again), "weir_reason"); was != is || strings.Count(read(t, again), "\n") != strings.Count(x.rejected, "\n") {
				t.Errorf("the file of the second import is\n%s", read(t, again))
			}
			clitest.Check(t, b.run(append([]string{"survey", "import", rejected, name, "--errors", rejected}, kind...)...), app.Usage, "^$", "another file than the one that is read")
			corrected := strings.NewReplacer("1,\"Bo", "+15550002,\"Bo", ",Cy,x", ",Cy", "\"'+15550004,D\"\"\"", "+15550004,D", ";José;1", ";José;+15550002",
				`"phone":"1"`, `"phone":"+15550002"`, "} []", "} ", `"phone":"+15550003"`, `"phone":"+15550003"}`).Replace(x.rejected)
			want := strings.Count(x.rejected, "phone number has") + strings.Count(x.rejected, "+1555")
			for _, imported := range []int{want, 0} {
				result := at(t, b.url, corrected, append([]string{"survey", "import", "-", name, "-o", "json"}, kind...)...)
				var sum client.ImportView
				if err := json.Unmarshal([]byte(result.Out), &sum); err != nil || sum.Added != imported || sum.Duplicates != want-imported {
					t.Errorf("%v: %+v, want %d imported", err, result, imported)
				}
			}
			respondents := b.run("survey", "respondents", name, "--limit", "0", "-o", "jsonl").Out
			if strings.Contains(respondents, "weir_") {
				t.Error(respondents)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("%v: %v", entries, err)
			}
		})
	}
}

// A dry run shows what the rows become, and imports nothing.
func TestSurveyImport_DryRunShowsTheRows(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.channel("sms")
	clitest.Check(t, at(t, b.url, fluDefinition, "survey", "put", "-", "flu"), app.OK, "", "")
	name := file(t, "crm.csv", "Mobile;First name;Notes (long)\n+12125550100;Ann;x\n12;Bo;\n+12125550101;;\n")
	same(t, b.run("survey", "import", name, "flu", "--columns", "*=", "--dry-run"), app.Rejected, `flu: 2 respondents can be imported, 1 row would be rejected
  column Mobile: phone
  column First name: first_name
  column Notes (long): left out
  line 2: +12125550100 {"first_name":"Ann"}
  line 4: +12125550101 {}
  1 row has no value for {{first_name}}, which the texts of the survey use
  line 3, phone: the phone number has no country code (+…) and no region is set
`, "weir: 1 row was rejected; nothing was imported\n")
	same(t, b.run("survey", "respondents", "flu", "-o", "jsonl"), app.OK, "", "")
}
