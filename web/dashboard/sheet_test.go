package dashboard_test

import (
	"bytes"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/api"
	"weir/internal/workbook"
	"weir/web/dashboard/locale"
	"weir/web/route"
)

// twoSheets returns a workbook of two sheets with a person each: Ana in First, Ben in Second.
func twoSheets(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := workbook.NewWriter(&b)
	for _, row := range [][]string{{"First", "+15550001", "Ana"}, {"Second", "+15550002", "Ben"}} {
		w.Sheet(row[0], []string{"phone", "first_name", "text", "status", "words"})
		w.Row([]workbook.Value{{Text: row[1]}, {Text: row[2]}, {Text: "Hello " + row[2]}, {Text: "refused"}, {Text: "no more, " + row[2]}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Contacts and respondents are read from the sheet of a workbook that the form names, in every language, and from the first
// one if it names none.
func TestFiles_NameTheSheetOfAWorkbook(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write pii:read")
	r.survey("flu", 0)
	b := r.login("admin")
	book := twoSheets(t)
	for path, send := range map[string]string{"/contacts/_import": "to", "/surveys/flu/import": "phone"} {
		for _, l := range locale.New().List() {
			b.cookies["weir_language"] = l.Code
			b.get(path).want(200).has(`<label for="sheet">`+l.T("Sheet")+`</label>`, `<input id="sheet" name="sheet" value="" maxlength="31"`)
			first := b.upload(path, []string{"channel", "texts"}, bytes.NewReader(book)).want(200).has("+15550001", "Ana").hasNot("+15550002")
			// The sheet is named on the page of the preview as well.
			b.upload(path, append(again(first), "sheet", "Second", "carried", hidden(first, "carried")), nil).want(200).has("+15550002").hasNot("+15550001")
			b.upload(path, []string{"channel", "texts", "sheet", "second"}, bytes.NewReader(book)).want(200).has("+15550002", "Ben", `name="sheet" value="second"`).hasNot("+15550001")
			b.upload(path, []string{"channel", "texts", "sheet", "Third"}, bytes.NewReader(book)).want(422).
				has(sentenceIn(l, "the workbook has no sheet of this name; its sheets are First, Second"), `name="sheet" value="Third"`)
			b.upload(path, []string{"channel", "texts", "sheet", "Second"}, strings.NewReader("phone,text\n+15550003,x\n")).want(422).has(sentenceIn(l, "sheet is one of an Excel workbook (.xlsx)"))
		}
		// A file that has no sheets is not asked for one.
		b.upload(path, []string{"channel", "texts"}, strings.NewReader("phone,text\n+15550003,x\n")).want(200).has("+15550003").hasNot(`name="sheet"`)
		b.cookies["weir_language"] = "en"
		page := b.upload(path, []string{"channel", "texts", "sheet", "Second"}, bytes.NewReader(book)).want(200).has(`<option value="` + send + `" selected>`)
		b.upload(path+"/send", append(again(page), "sheet", hidden(page, "sheet"), "carried", hidden(page, "carried")), nil).want(200).has(`<dd id="refused">0</dd>`)
	}
	var sent api.ContactList
	r.api("GET", "/v1/contacts?channel=texts", "", &sent)
	if len(sent.Contacts) != 1 || sent.Contacts[0].To != "+15550002" {
		t.Errorf("sent: %+v", sent.Contacts)
	}
	b.get("/surveys/flu/respondents").want(200).has("+15550002").hasNot("+15550001")
	// Consents have no such form: the API reads them from the sheet.
	for _, x := range []struct {
		sheet string
		want  int
	}{{"Second", 200}, {"Third", 422}} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/consents?columns=status%3Dstatus&sheet="+x.sheet, io.NopCloser(bytes.NewReader(book)))
		req.Header.Set("Authorization", "Bearer "+adminToken)
		req.Header.Set("Content-Type", route.XLSXType)
		w := httptest.NewRecorder()
		if r.handler.ServeHTTP(w, req); w.Code != x.want {
			t.Errorf("consents of %s: %d %s", x.sheet, w.Code, w.Body)
		}
	}
}

// sentenceIn returns a mistake in a language, as pages show it.
func sentenceIn(l *locale.Locale, mistake string) string { return l.Mistake(mistake)[1:] }
