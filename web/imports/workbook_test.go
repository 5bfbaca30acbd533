package imports_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/internal/workbook"
	"weir/surveys/respondents"
	"weir/web/httpjson"
	"weir/web/imports"
	"weir/web/route"
)

// workbookOf returns a workbook of texts.
func workbookOf(t testing.TB, rows [][]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := workbook.NewWriter(&b)
	w.Sheet("People", rows[0])
	for _, row := range rows[1:] {
		cells := make([]workbook.Value, len(row))
		for i := range row {
			cells[i].Text = row[i]
		}
		w.Row(cells)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opened opens an uploaded file.
func opened(t testing.TB, file []byte, contentType string, q httpjson.Query) (*imports.Table, error) {
	t.Helper()
	r := httptest.NewRequest("POST", "/", bytes.NewReader(file))
	r.Header.Set("Content-Type", contentType)
	u, err := imports.OpenUpload(r, route.NewDeadlines(httptest.NewRecorder()), imports.Types(), nil)
	if err != nil {
		return nil, err
	}
	return u.Table(q)
}

// imported imports a file, and returns what came of it with its refused rows, which are of the same
// length whatever the format.
func imported(t testing.TB, file []byte, contentType string) (*imports.Report[person], map[string]string, string) {
	t.Helper()
	table, err := opened(t, file, contentType, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := imports.NewRefused(table)
	if err != nil {
		t.Fatal(err)
	}
	s := &people{known: map[string]string{}}
	report, err := imports.Run(t.Context(), s, table, columnsOf(t, table), imports.Options{Refused: refused})
	var text strings.Builder
	_, written := refused.WriteTo(&text)
	if err := errors.Join(err, written, refused.Close(), table.Close()); err != nil {
		t.Fatal(err)
	}
	return report, s.known, strings.TrimPrefix(text.String(), "\ufeff")
}

// The same rows make the same import, and the same refused rows, as CSV and as a workbook.
func TestWorkbook_IsTheImportOfItsCSV(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(
		rapid.StringOf(rapid.RuneFrom([]rune("aé😀'=+-@0123456789,;\"\n _x\t"))), rapid.StringMatching(`\+[0-9]{5,15}`), rapid.StringMatching(`'*[=+]?[0-9]{0,16}`),
		rapid.SampledFrom([]string{"_x000D_", "'+254722123456", "TRUE", "1.50", "2.5E+11", "2026-01-31", "nul\x00", " ", strings.Repeat("x", 30_000)}),
	)
	rapid.Check(t, func(d *rapid.T) {
		rows := [][]string{{"phone", "text", "nothing"}}
		for range rapid.IntRange(0, 20).Draw(d, "rows") {
			row := rapid.SliceOfN(cell, 3, 4).Draw(d, "row")
			row[0] = rapid.OneOf(rapid.Just("+254722123456"), cell).Draw(d, "phone")
			rows = append(rows, row)
		}
		var file bytes.Buffer
		if err := csv.NewWriter(&file).WriteAll(rows); err != nil {
			d.Fatal(err)
		}
		a, knownA, refusedA := imported(t, file.Bytes(), route.CSVType)
		b, knownB, refusedB := imported(t, workbookOf(t, rows), route.XLSXType)
		if diff := cmp.Diff(knownA, knownB); diff != "" || a.Rows != b.Rows || a.Rejected != b.Rejected || !cmp.Equal(a.States, b.States) || !cmp.Equal(a.Values, b.Values) {
			d.Fatalf("%d rows, %d rejected, %v; as a workbook %d, %d, %v\n%s", a.Rows, a.Rejected, a.States, b.Rows, b.Rejected, b.States, diff)
		}
		ra, _ := csv.NewReader(strings.NewReader(refusedA)).ReadAll()
		rb, _ := csv.NewReader(strings.NewReader(refusedB)).ReadAll()
		for i := range min(len(ra), len(rb)) { // lines are counted in another way where texts have several
			if len(ra[i]) > 4 && len(rb[i]) > 4 && !slices.Equal(ra[i][3:], rb[i][3:]) {
				d.Fatalf("%q, as a workbook %q", ra[i], rb[i])
			}
		}
	})
}

// Cells that Excel has not kept are refused, unless their column is left out; the first sheet is read unless another is named.
func TestWorkbook_RefusesWhatExcelHasNotKept(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("..", "..", "internal", "workbook", "testdata", "excelize.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	for columns, want := range map[string][]respondents.RowError{
		"n=message,*=":           {{Line: 6, Column: "n", Reason: workbook.WrongRounded}},
		"n=message,code=key,*=":  {{Line: 3, Column: "code", Reason: workbook.WrongFormula}, {Line: 6, Column: "n", Reason: workbook.WrongRounded}},
		"name=message,born=key,": nil,
	} {
		table, err := opened(t, file, route.XLSXType, nil)
		if err != nil {
			t.Fatal(err)
		}
		mapped, wrong := imports.Map(fields(), imports.MaxColumns, table.Columns, strings.TrimSuffix(columns, ",")+",*=")
		s := &people{known: map[string]string{}}
		report, err := imports.Run(t.Context(), s, table, mapped, imports.Options{})
		if err := errors.Join(err, table.Close()); err != nil || len(wrong) > 0 {
			t.Fatal(err, wrong)
		}
		var got []respondents.RowError
		for _, e := range report.Reasons {
			if e.Column != "to" { // the numbers of the file have no sign, which this kind wants
				got = append(got, e)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", columns, diff)
		}
	}
	if table, err := opened(t, file, route.CSVType, httpjson.Query{"sheet": "otra hoja"}); err != nil || len(table.Columns) != 2 || table.Close() != nil {
		t.Error(err)
	}
}

// What cannot be read is the client's mistake, and leaves no file behind.
func TestWorkbook_WrongFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	password, err := os.ReadFile(filepath.Join("..", "..", "internal", "workbook", "testdata", "password.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	good := workbookOf(t, [][]string{{"phone"}, {"+1"}})
	for name, tt := range map[string]struct {
		file  []byte
		kind  string
		sheet string
		code  weir.Code
		want  string
	}{
		"csv as a workbook":     {[]byte("phone\n+1\n"), route.XLSXType, "", weir.CodeInvalid, "no Excel workbook"},
		"password":              {password, route.CSVType, "", weir.CodeInvalid, "password"},
		"empty sheet":           {workbookOf(t, [][]string{{""}}), route.XLSXType, "", weir.CodeInvalid, "empty"},
		"cut":                   {good[:len(good)-10], route.XLSXType, "", weir.CodeInvalid, "arrived whole"},
		"no such sheet":         {good, route.XLSXType, "Personas", weir.CodeInvalid, "its sheets are People"},
		"sheet of CSV":          {[]byte("phone\n+1\n"), route.CSVType, "People", weir.CodeInvalid, "sheet is one of an Excel workbook"},
		"larger than allowed":   {append(good, make([]byte, workbook.MaxSize)...), route.XLSXType, "", weir.CodeTooLarge, "64 MiB"},
		"a workbook as objects": {good, route.NDJSONType, "", weir.CodeInvalid, "Excel workbook"},
	} {
		if _, err := opened(t, tt.file, tt.kind, httpjson.Query{"sheet": tt.sheet}); weir.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := opened(t, good, route.XLSXType, nil); weir.CodeOf(err) != weir.CodeUnavailable {
		t.Error(err)
	}
}
