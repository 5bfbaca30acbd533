package web_test

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/workbook"
	"weir/web"
	"weir/web/webtest"
)

// sheetOf returns the rows of a sheet, each filled up to the width of the first one.
func sheetOf(t *testing.T, file, sheet string) (rows [][]string) {
	t.Helper()
	r, err := workbook.Open(strings.NewReader(file), sheet)
	if err != nil {
		t.Fatalf("%v: %q", err, file)
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(row.Cells))
		for i, c := range row.Cells {
			cells[i] = c.Text
		}
		for len(rows) > 0 && len(cells) < len(rows[0]) {
			cells = append(cells, "")
		}
		rows = append(rows, cells)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// A workbook has the rows of results.csv and codebook.csv, with the same filters and masks.
func TestResultsWorkbook_IsTheCSV(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	r.Put("s1", `"region":"MX",`)
	if g := r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"5500000001","attributes":{"age":34,"note":"=1+1","code":"007"}},{"phone":"5500000002","attributes":{"age":1.50}}]}`); g.Status != 200 {
		t.Fatal(g.Body)
	}
	for _, token := range []string{"", r.Token("surveys:admin")} {
		for _, query := range []string{"", "?status=pending", "?status=completed", "?values=labels"} {
			var header []string
			if token != "" {
				header = []string{"Authorization", "Bearer " + token}
			}
			file := r.Do("GET", "/v1/surveys/s1/results.xlsx"+query, "", header...)
			plain := r.Do("GET", "/v1/surveys/s1/results.csv"+query, "", header...)
			if file.Status != 200 || file.Header.Get("Content-Type") != "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" || file.Header.Get("Content-Disposition") != `attachment; filename="s1-results.xlsx"` {
				t.Fatalf("%s: %d %v", query, file.Status, file.Header)
			}
			want, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(plain.Body, "'=1+1", "=1+1"))).ReadAll()
			if diff := cmp.Diff(want, sheetOf(t, file.Body, "results")); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", query, err, diff)
			}
			codes, err := csv.NewReader(strings.NewReader(r.Do("GET", "/v1/surveys/s1/codebook.csv", "").Body)).ReadAll()
			if diff := cmp.Diff(codes, sheetOf(t, file.Body, "codebook")); err != nil || diff != "" {
				t.Errorf("codebook: %v\n%s", err, diff)
			}
		}
	}
	for path, want := range map[string]int{"none/results.xlsx": 404, "s1/results.xlsx?values=texts": 422, "s1/results.xlsx?status=odd": 422} {
		if g := r.Do("GET", "/v1/surveys/"+path, ""); g.Status != want || g.Header.Get("Content-Disposition") != "" || !strings.Contains(g.Header.Get("Content-Type"), "json") {
			t.Errorf("%s: %d %v", path, g.Status, g.Header)
		}
	}
}
