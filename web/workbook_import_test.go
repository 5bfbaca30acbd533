package web_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/workbook"
	"weir/web/webtest"
)

// Scenario 443: each kind of file that is imported may be a workbook, with the rights, the dry run and the refused rows of CSV.
func TestImport_EveryKindTakesWorkbooks(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := workbook.NewWriter(&b)
	w.Sheet("Notes", []string{"nothing"})
	w.Sheet("People", []string{"phone", "text"})
	for _, phone := range []string{"525500000001", "5.5E+11", "+525500000002"} {
		w.Row([]workbook.Value{{Text: phone, Number: true}, {Text: "=1+1"}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	r := webtest.New(t)
	r.Channel("a", "texts")
	r.Put("s1", `"region":"MX",`)
	for path, want := range map[string]string{
		"/v1/channels/a/contacts:import?":              `"queued":2`,
		"/v1/surveys/s1/respondents?on_error=skip&":    `"added":2`,
		"/v1/consents?columns=" + "phone%3Dto&":        `"refused":2`,
		"/v1/consents?dry_run=true&columns=%231%3Dto&": `"refused":2`,
	} {
		g := r.Do("POST", path+"sheet=people", b.String(), "Content-Type", kind)
		if g.Status != 200 || !strings.Contains(g.Body, want) || !strings.Contains(g.Body, `"rejected":1`) || !strings.Contains(g.Body, `"line":3`) {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
		if g = r.Do("POST", path+"sheet=none", b.String(), "Content-Type", kind); g.Status != 422 || !strings.Contains(g.Body, "its sheets are Notes, People") {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
		g = r.Do("POST", path+"sheet=People", b.String(), "Content-Type", kind, "Accept", "text/csv")
		if !strings.Contains(path, "dry_run") && (!strings.Contains(g.Body, "weir_line,weir_column,weir_reason,phone,text\n3,phone,") || !strings.Contains(g.Body, ",5.5E+11,'=1+1\n")) {
			t.Errorf("%s: %d %s", path, g.Status, g.Body)
		}
	}
	if list := r.All(); len(list) != 2 || list[0].Messages[0] != "=1+1" {
		t.Errorf("%+v", list)
	}
}
