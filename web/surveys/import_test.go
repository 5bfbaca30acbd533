package surveys_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/webtest"
)

// importOf returns the import in a response, successful or failed; nil if the
// response has none.
func importOf(t *testing.T, g webtest.Got) *api.ImportView {
	t.Helper()
	if g.Status == 200 {
		v := webtest.Into[api.ImportView](t, g, 200)
		return &v
	}
	var p api.ImportProblem
	if err := json.Unmarshal([]byte(g.Body), &p); err != nil {
		t.Fatalf("%v: %s", err, g.Body)
	}
	return p.Import
}

func TestSurveyImport_RespondentsAreAddedAsJSON(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", `"region":"MX",`)
	g := r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"55 0000 0000","attributes":{"age":34,"first_name":" Ana ","none":null}},{"phone":"+525500000001"},{"phone":"+52 55 0000 0000"}]}`)
	p := r.RespondentsOf("s1")
	if len(p) != 2 {
		t.Fatalf("%+v: %s", p, g.Body)
	}
	want := api.ImportView{Added: 2, Duplicates: 1, Respondents: []api.AddedView{{ID: p[0].ID.String()}, {ID: p[1].ID.String()}, {ID: p[0].ID.String(), Duplicate: true}}, Errors: []respondents.RowError{}}
	if d := cmp.Diff(want, webtest.Into[api.ImportView](t, g, 200)); d != "" {
		t.Error(d)
	}
	if p[0].Phone != webtest.PhoneNumber(0) || p[0].Bucket != 1 || p[1].Bucket != surveys.NoBucket || !cmp.Equal(p[0].Attributes, map[string]string{"age": "34", "first_name": "Ana"}) ||
		p[0].Progress != surveys.NewProgress() || !p[0].Added.Equal(webtest.Start()) || len(r.People.Changes) != 2 {
		t.Errorf("%+v %v", p, r.People.Changes)
	}
	writes := r.Writes()
	for body, want := range map[string][]webtest.Mistake{
		`{"respondents":[]}`:                 {{Pointer: "/respondents", Code: "length"}},
		`{"respondents":[{"phone":"CALL"}]}`: {{Pointer: "/respondents/0/phone", Code: "format"}},
		`{"respondents":[{}]}`:               {{Pointer: "/respondents/0/phone", Code: "required"}},
		`{"respondents":[{"phone":"5500000009","attributes":{"A b":1,"phone":"x"}}],"colour":1}`: {{Pointer: "/colour", Code: "unknown"}, {Pointer: "/respondents/0/attributes/A b", Code: "format"}, {Pointer: "/respondents/0/attributes/phone", Code: "format"}},
		`{"respondents":[` + strings.Repeat(`{"phone":"5500000009"},`, 1000) + `{"phone":"x"}]}`: {{Pointer: "/respondents", Code: "length"}},
		`[]`: {{Pointer: "", Code: "type"}},
	} {
		g := r.Do("POST", webtest.ImportPath, body)
		if d := cmp.Diff(want, webtest.MistakesOf(t, g)); g.Status != 422 || d != "" {
			t.Errorf("%d %s", g.Status, d)
		}
	}
	if g := r.Do("POST", webtest.ImportPath, `{`); g.Status != 400 {
		t.Errorf("%d", g.Status)
	}
	g = r.Do("POST", webtest.ImportPath+"?duplicates=error", `{"respondents":[{"phone":"5500000009"},{"phone":"5500000000"}]}`)
	if g.Status != 409 || g.Problem(t).Errors[0].Pointer != "/respondents/1/phone" || len(r.RespondentsOf("s1")) != 2 || r.Aborted != 1 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if g := r.Do("POST", webtest.ImportPath+"?duplicates=error", `{"respondents":[{"phone":"5500000009"}]}`); g.Status != 200 || len(r.RespondentsOf("s1")) != 3 || r.Writes() < writes {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

const badRow = "the phone number has characters other than digits, +, space, -, ., / and brackets"

func TestSurveyImport_BadRowsAreSkippedOrLetNothingIn(t *testing.T) {
	t.Parallel()
	csv := "Phone,First Name,age\n+525500000000,Ana,34\nCANARY,Bo,1\n+525500000001,Cy\n+525500000000,Di,9\n\n+525500000002,Ed,40\n"
	ndjson := `{"phone":"+525500000000","first_name":"Ana","age":34}` + "\n" + `{"phone":"CANARY"}` + "\n{\n" + `{"phone":"+525500000000"}` + "\n\n" + `{"phone":"+525500000002","age":40}` + "\n"
	dup := respondents.RowError{Line: 5, Column: "phone", Reason: "duplicate phone number (already in the survey or in an earlier row)"}
	for _, tc := range []struct {
		format, query, body string
		status              int
		third               string // expected error of the third row
	}{
		{"text/csv", "?on_error=skip", csv, 200, "has 2 fields; the header has 3"},
		{"text/csv; charset=utf-8", "?on_error=skip&duplicates=error", csv, 200, "has 2 fields; the header has 3"},
		{"text/csv", "", csv, 422, "has 2 fields; the header has 3"},
		{"text/csv", "?on_error=none&duplicates=error", csv, 422, "has 2 fields; the header has 3"},
		{"application/x-ndjson", "?on_error=skip", ndjson, 200, "is not one JSON object"},
		{"application/x-ndjson", "?on_error=none", ndjson, 422, "is not one JSON object"},
	} {
		t.Run(tc.format+tc.query, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			r.Put("s1", "")
			g := r.Load(tc.query, tc.format, tc.body)
			v := importOf(t, g)
			first := 3
			if tc.format == "application/x-ndjson" {
				first = 2
			}
			want := api.ImportView{Rows: 5, ImportRejects: api.ImportRejects{Rejected: 2}, Errors: []respondents.RowError{{Line: first, Column: "phone", Reason: badRow}, {Line: first + 1, Reason: tc.third}}}
			strict, distinct := tc.status == 422, strings.Contains(tc.query, "duplicates=error")
			if !strict || distinct {
				want.Duplicates = 1
			}
			if distinct {
				want.Rejected, want.Errors = 3, append(want.Errors, dup)
			}
			if !strict {
				want.Added = 2
			}
			if d := cmp.Diff(&want, v); g.Status != tc.status || d != "" {
				t.Errorf("%d %s", g.Status, d)
			}
			if len(r.RespondentsOf("s1")) != want.Added || strings.Contains(g.Body, "CANARY") || (r.Aborted > 0) != strict || len(r.People.Changes) != min(2, 1+want.Added) {
				t.Errorf("%+v, aborted %d, told %v", r.RespondentsOf("s1"), r.Aborted, r.People.Changes)
			}
			if strict && (g.Problem(t).Code != weir.CodeInvalid || !strings.Contains(g.Problem(t).Detail, "nothing was loaded")) {
				t.Error(g.Body)
			}
			if !strict && (r.RespondentsOf("s1")[0].Bucket != 1 || r.RespondentsOf("s1")[0].Attributes["first_name"] != "Ana") {
				t.Errorf("%+v", r.RespondentsOf("s1")[0])
			}
		})
	}
}

func TestSurveyImport_GoodFileIsLoadedWhole(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	for i, state := range []surveys.State{surveys.Draft, surveys.Running, surveys.Paused} {
		r.Stands("s1", state)
		v := webtest.Into[api.ImportView](t, r.Load("", "text/csv", "phone,first_name\n"+webtest.PhoneNumber(i)+",Ana\n"), 200)
		if v.Added != 1 || len(r.RespondentsOf("s1")) != i+1 {
			t.Errorf("%+v", v)
		}
	}
	for _, state := range []surveys.State{surveys.Stopping, surveys.Done} {
		r.Stands("s1", state)
		if g := r.Load("", "text/csv", "phone\n"+webtest.PhoneNumber(9)+"\n"); g.Status != 409 {
			t.Errorf("%s: %d", state, g.Status)
		}
		if g := r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"+525500000009"}]}`); g.Status != 409 {
			t.Errorf("%s: %d", state, g.Status)
		}
	}
	if g := r.Do("POST", "/v1/surveys/nobody/respondents", "phone\n", "Content-Type", "text/csv"); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
	for _, contentType := range []string{"", "text/plain", "text/csv; charset"} {
		if g := r.Load("", contentType, "phone\n"); g.Status != 415 && g.Status != 409 {
			t.Errorf("%q: %d", contentType, g.Status)
		}
	}
}

// utf16File encodes a text as UTF-16 with a byte order mark.
func utf16File(s string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestSurveyImport_BrokenFilesAreRefusedByLine(t *testing.T) {
	t.Parallel()
	good := "+525500000000"
	for name, tc := range map[string]struct {
		query, contentType, body string
		header                   []string
		status                   int
		detail                   string // part of the message
		line                     int    // of the bad row; 0: the file as a whole
		added                    int    // with on_error=skip
	}{
		"empty":                  {body: "", status: 422, detail: "the file is empty"},
		"only a mark":            {body: "\uFEFF", status: 422, detail: "the file is empty"},
		"empty NDJSON":           {contentType: "application/x-ndjson", status: 422, detail: "the file is empty"},
		"no column phone":        {body: "number\n" + good + "\n", status: 422, detail: "one of them phone"},
		"no header":              {body: good + ",Ana\n", status: 422, detail: "column 1"},
		"column twice":           {body: "phone,age,age\n", status: 422, detail: "age is listed twice"},
		"reserved column":        {body: "phone,mode\n", status: 422, detail: "the name of a template field"},
		"header of 10 MB":        {body: strings.Repeat("x", 10<<20), status: 422, detail: "longer than"},
		"UTF-16 without mark":    {body: utf16File("phone\n" + good + "\n")[2:], status: 422, detail: "UTF-16"},
		"encoding that is none":  {query: "&encoding=klingon", body: "phone\n", status: 422, detail: "validation failed"},
		"charset that is none":   {contentType: "text/csv; charset=klingon", body: "phone\n", status: 422, detail: "klingon"},
		"compressed":             {body: "phone\n", header: []string{"Content-Encoding", "gzip"}, status: 415, detail: "not compressed"},
		"quote that stays open":  {body: "phone,a\n" + good + ",\"x\n+525500000001,y\n", status: 422, line: 2, detail: "unclosed quote", added: 1},
		"text after a quote":     {body: "phone,a\n" + good + ",\"x\"y\n+525500000001,y\n", status: 422, line: 2, detail: "closing quote", added: 1},
		"quote in a field":       {body: "phone,a\n" + good + ",x\"y\"\n", status: 422, line: 2, detail: "contains a quote"},
		"bytes that are no text": {body: "phone,a\n" + good + ",\xFF\n+525500000001,y\n", status: 422, line: 2, detail: "not valid in the file's encoding", added: 1},
		"NUL":                    {body: "phone,a\n" + good + ",\x00\n", status: 422, line: 2, detail: "NUL"},
		"line of 10 MB":          {body: "phone,a\n" + good + "," + strings.Repeat("x", 10<<20) + "\n+525500000001,y\n", status: 422, line: 2, detail: "longer than", added: 1},
		"NDJSON line of 10 MB":   {contentType: "application/x-ndjson", body: `{"phone":"` + strings.Repeat("1", 10<<20) + "\"}\n", status: 422, line: 1, detail: "longer than"},
		"as spreadsheets do":     {body: "phone\n5.2E+11\n", status: 422, line: 2, detail: "format the column as text"},
		"object in an object":    {contentType: "application/x-ndjson", body: `{"phone":"+525500000000","a":{}}`, status: 422, line: 1, detail: "must be a text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{"none", "skip"} {
				r := webtest.New(t)
				r.Put("s1", "")
				contentType := tc.contentType
				if contentType == "" {
					contentType = "text/csv"
				}
				g := r.Do("POST", webtest.ImportPath+"?on_error="+mode+tc.query, tc.body, append([]string{"Content-Type", contentType}, tc.header...)...)
				want, added := tc.status, 0
				if mode == "skip" && tc.line > 0 {
					want, added = 200, tc.added
				}
				v := importOf(t, g)
				if g.Status != want || len(r.RespondentsOf("s1")) != added {
					t.Errorf("%s: %d, %d added: %s", mode, g.Status, len(r.RespondentsOf("s1")), g.Body[:min(400, len(g.Body))])
				}
				if tc.line == 0 && (v != nil || !strings.Contains(g.Problem(t).Detail, tc.detail)) {
					t.Errorf("%s: %s", mode, g.Body)
				}
				if tc.line > 0 && (v == nil || v.Errors[0].Line != tc.line || !strings.Contains(v.Errors[0].Reason, tc.detail)) {
					t.Errorf("%s: %+v", mode, v)
				}
			}
		})
	}
}

func TestSurveyImport_ReadsEveryEncoding(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	for i, tc := range []struct{ query, contentType, body string }{
		{"", "text/csv", "\uFEFFphone,name\n+525500000000,José\n"},
		{"", "text/csv", utf16File("phone,name\r\n+525500000001,José\r\n")},
		{"?encoding=windows-1252", "text/csv", "phone;name\n+525500000002;Jos\xE9"},
		{"", "text/csv; charset=iso-8859-1", "phone\tname\n+525500000003\tJos\xE9"},
		{"?encoding=utf-8", "text/csv; charset=iso-8859-1", "phone,name\n+525500000004,\"José\"\n"},
	} {
		g := r.Load(tc.query, tc.contentType, tc.body)
		if v := webtest.Into[api.ImportView](t, g, 200); v.Added != 1 || len(r.RespondentsOf("s1")) != i+1 || r.RespondentsOf("s1")[i].Attributes["name"] != "José" {
			t.Errorf("%d. %+v %+v", i, v, r.RespondentsOf("s1"))
		}
	}
}

// Scenario 102: the lines of a file may end in CR, as some spreadsheets write
// them.
func TestSurveyImport_LinesMayEndInCR(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\r", "\r\n", "\n"} {
		r := webtest.New(t)
		r.Put("s1", `"region":"MX",`)
		file := strings.Join([]string{"phone,first_name", "+525512345678,Ana", `55 8765 4321,"Luis, Juan"`, ""}, end)
		v := webtest.Into[api.ImportView](t, r.Do("POST", webtest.ImportPath, file, "Content-Type", "text/csv"), 200)
		if v.Added != 2 || v.Rejected != 0 {
			t.Errorf("lines that end in %q: %+v", end, v)
		}
	}
}

// A dry run says what the import does, stores nothing, and shows what the columns and the first rows are; columns by number are those
// of the file that was shown.
func TestSurveyImport_DryRunSaysWhatTheImportDoes(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", `"region":"MX",`)
	file := "Mobile;First Name;Notes (long)\n55 0000 0000;Ana;x\nCANARY;Bo;\n55 0000 0001;;\n55 0000 0002\n"
	said := webtest.Into[api.ImportView](t, r.Load("?dry_run=true&columns=*%3D", "text/csv", file), 200)
	want := api.ImportView{
		Rows: 4, Added: 2, ImportRejects: api.ImportRejects{Rejected: 2}, Errors: []respondents.RowError{{Line: 3, Column: "phone", Reason: badRow}, {Line: 5, Reason: "has 1 fields; the header has 3"}},
		Missing:       map[string]int{"first_name": 1},
		ImportColumns: api.ImportColumns{Header: said.Header, Columns: []api.ImportColumn{{Header: "Mobile", Field: "phone", Values: []string{"55 0000 0000", "CANARY", "55 0000 0001"}}, {Header: "First Name", Field: "first_name", Values: []string{"Ana", "Bo", ""}}, {Header: "Notes (long)", Values: []string{"x", "", ""}}}},
		First:         []api.RespondentRow{{Line: 2, Phone: webtest.PhoneNumber(0), Attributes: map[string]string{"first_name": "Ana"}}, {Line: 4, Phone: webtest.PhoneNumber(1), Attributes: map[string]string{}}},
	}
	if d := cmp.Diff(want, said); d != "" || len(r.RespondentsOf("s1")) != 0 || said.Header == "" {
		t.Error(d)
	}
	columns := "&columns=%231%3Dphone,%232%3Dname,%233%3D&header=" + said.Header
	g := r.Load("?on_error=skip"+columns, "text/csv", "Mobile;Notes (long);First Name\n")
	if v := importOf(t, g); g.Status != 422 || v == nil || len(v.Columns) != 3 || !strings.Contains(g.Body, `"code":"changed"`) {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	did := webtest.Into[api.ImportView](t, r.Load("?on_error=skip"+columns, "text/csv", file), 200)
	if d := cmp.Diff(api.ImportView{Rows: said.Rows, Added: said.Added, ImportRejects: said.ImportRejects, Errors: said.Errors}, did); d != "" || r.RespondentsOf("s1")[0].Attributes["name"] != "Ana" {
		t.Error(d, r.RespondentsOf("s1"))
	}
	if g := r.Load("?columns=%231%3Dphone", "application/x-ndjson", "{}"); g.Status != 422 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

// The refused rows are a file, also if nothing is loaded because of them; whoever mends them can send it as it is.
func TestSurveyImport_RefusedRowsAreAFile(t *testing.T) {
	t.Parallel()
	const file = "phone;first_name\n+525500000000;Ana\n1;Bo\n"
	const refused = "weir_line;weir_column;weir_reason;phone;first_name\n3;phone;the phone number has an unknown country code or is not valid in its country;1;Bo\n"
	for query, status := range map[string]int{"?on_error=skip": 200, "?on_error=none": 422} {
		r := webtest.New(t)
		r.Put("s1", "")
		g := r.Do("POST", webtest.ImportPath+query, file, "Content-Type", "text/csv", "Accept", "multipart/mixed, application/json")
		var got api.ImportProblem
		if status == 422 {
			if err := json.Unmarshal([]byte(g.Body), &got); err != nil {
				t.Fatal(err)
			}
		} else if parts := webtest.Mixed(t, g); len(parts) == 2 {
			got.Import, got.File = &api.ImportView{}, parts[1]
			if err := json.Unmarshal([]byte(parts[0]), got.Import); err != nil {
				t.Fatal(err)
			}
		}
		if g.Status != status || got.File != refused || got.Import.Rejected != 1 {
			t.Errorf("%s: %d %s", query, g.Status, g.Body)
		}
		g = r.Do("POST", webtest.ImportPath+"?on_error=skip", strings.Replace(refused, ";1;Bo", ";+525500000001;Bo", 1), "Content-Type", "text/csv", "Accept", "text/csv")
		if g.Status != 200 || g.Body != "" || !strings.Contains(g.Header.Get("Weir-Import"), `"added":1`) {
			t.Errorf("%d %s %s", g.Status, g.Body, g.Header)
		}
	}
}
