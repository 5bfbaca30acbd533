package dashboard_test

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"weir/internal/workbook"
)

// workbookOf returns a workbook of rows.
func workbookOf(t *testing.T, rows [][]string) *bytes.Reader {
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
	return bytes.NewReader(b.Bytes())
}

// Scenario 443: a workbook is previewed and sent as its CSV is, also one that is too large to travel in the form.
func TestContactImport_WorkbooksAreSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write pii:read")
	r.channel("texts")
	b := r.login("contacts:read contacts:write pii:read")
	from := csv.NewReader(strings.NewReader(listOfPeople))
	from.Comma = ';'
	rows, err := from.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	page := b.upload("/contacts/_import", []string{"channel", "texts"}, workbookOf(t, rows)).want(200).
		has("Preview: 5 of 5 rows", "+15550001", "Come, please", `<option value="to" selected>`, `name="carried"`)
	result := b.upload("/contacts/_import/send", again(page, "text", "A default", "carried", hidden(page, "carried")), nil).want(200)
	if got := counts(result); got != "3 1 1" {
		t.Fatalf("accepted, duplicates, refused: %s\n%s", got, result.body)
	}
	if refused := refusedRows(t, result); !strings.HasPrefix(refused, "weir_line,weir_column,weir_reason,Phone,Name,Text,Ward\n") {
		t.Errorf("refused rows: %q", refused)
	}

	large := [][]string{{"phone", "text"}}
	for i := range 12_000 {
		large = append(large, []string{fmt.Sprintf("+1666%06d", i), rand.Text() + rand.Text() + rand.Text()})
	}
	file := workbookOf(t, large)
	if file.Len() < 600<<10 {
		t.Fatalf("%d bytes", file.Len())
	}
	page = b.upload("/contacts/_import", []string{"channel", "texts"}, file).want(200).has("Preview: the first rows", "+1666000000", `name="file"`).hasNot(`name="carried"`)
	file = workbookOf(t, large)
	if got := counts(b.upload("/contacts/_import/send", again(page), file).want(200)); got != "12,000 0 0" {
		t.Errorf("a large one: %s", got)
	}
	// What is none, or cannot be read, is said above the form.
	b.upload("/contacts/_import", []string{"channel", "texts"}, strings.NewReader("PK\x03\x04 no workbook at all")).want(422).has("broken")
}
