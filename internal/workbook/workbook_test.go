package workbook_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/workbook"
)

// parts returns a workbook of a sheet, with what differs from a plain one.
func parts(sheet string, other map[string]string) []byte {
	all := map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="a" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="b" Type="http://x/worksheet" Target="/xl/worksheets/sheet1.xml"/><Relationship Id="c" Type="http://x/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="d" Type="http://x/styles" Target="styles.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData>` + sheet + `</sheetData></worksheet>`,
	}
	for name, text := range other {
		all[name] = text
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range all {
		if text == "" {
			continue
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// read returns the rows of a workbook, as "number: text|text", with "!" before a text that is wrong.
func read(file []byte, sheet string) (rows []string, err error) {
	r, err := workbook.Open(bytes.NewReader(file), sheet)
	if err != nil {
		return nil, err
	}
	for {
		row, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, errors.Join(err, r.Close())
		}
		texts := make([]string, len(row.Cells))
		for i, c := range row.Cells {
			if texts[i] = c.Text; c.Wrong != "" {
				texts[i] = "!" + c.Text
			}
		}
		rows = append(rows, fmt.Sprintf("%d: %s", row.Number, strings.Join(texts, "|")))
	}
}

// cellStyles are number formats: 1 a date, 2 a time, 3 a code of five digits, 4 a color, 5 hours.
const cellStyles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[$-409]d\-mmm\-yy"/><numFmt numFmtId="171" formatCode="00000"/><numFmt numFmtId="172" formatCode="[Red]&quot;days&quot;0.00"/><numFmt numFmtId="173" formatCode="[h]:mm"/></numFmts>` +
	`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="20"/><xf numFmtId="171"/><xf numFmtId="172"/><xf numFmtId="173"/><xf numFmtId="14"/></cellXfs></styleSheet>`

func TestReader_CellsAreWhatAPersonSees(t *testing.T) {
	t.Parallel()
	shared := map[string]string{
		"xl/styles.xml":        cellStyles,
		"xl/sharedStrings.xml": `<sst><si><t>a</t></si><si><r><t>b </t></r><r><t>c</t></r><rPh><t>no</t></rPh></si><si/><si><t> d_x000D_` + "\n" + `e_x005F_x0041_ _x00zz_ </t></si></sst>`,
	}
	for cell, want := range map[string]string{
		`<c><v>254722123456</v></c>`:                          "254722123456",
		`<c><v>2.54722123456E11</v></c>`:                      "254722123456",
		`<c><v>254722123456.0</v></c>`:                        "254722123456",
		`<c><v>254722123456.5</v></c>`:                        "254722123456.5",
		`<c t="n"><v>-0.1</v></c>`:                            "-0.1",
		`<c><v>0.30000000000000004</v></c>`:                   "0.3",
		`<c><v>1.0E-12</v></c>`:                               "1E-12",
		`<c><v>999999999999999</v></c>`:                       "999999999999999",
		`<c><v>1234567890123456</v></c>`:                      "!1.23456789012346E+15",
		`<c><v>1.2345678901234599E19</v></c>`:                 "!1.23456789012346E+19",
		`<c><v>seven</v></c>`:                                 "!seven",
		`<c><v>NaN</v></c>`:                                   "!NaN",
		`<c s="1"><v>46053</v></c>`:                           "2026-01-31",
		`<c s="6"><v>46053.520833333336</v></c>`:              "2026-01-31T12:30:00",
		`<c s="1"><v>59</v></c>`:                              "1900-02-28",
		`<c s="1"><v>61</v></c>`:                              "1900-03-01",
		`<c s="1"><v>-1</v></c>`:                              "!-1",
		`<c s="1"><v>2958466</v></c>`:                         "!2958466",
		`<c s="2"><v>0.520833333333333</v></c>`:               "12:30:00",
		`<c s="5"><v>1.5</v></c>`:                             "36:00:00",
		`<c s="3"><v>42</v></c>`:                              "00042",
		`<c s="3"><v>1234567</v></c>`:                         "1234567",
		`<c s="4"><v>42</v></c>`:                              "42",
		`<c s="99"><v>42</v></c>`:                             "42",
		`<c t="b"><v>1</v></c>`:                               "true",
		`<c t="b"><v>0</v></c>`:                               "false",
		`<c t="e"><v>#N/A</v></c>`:                            "!#N/A",
		`<c t="d"><v>2026-01-31</v></c>`:                      "2026-01-31",
		`<c><f>1+1</f><v>2</v></c>`:                           "2",
		`<c><f>1+1</f></c>`:                                   "!",
		`<c t="str"><f>A1</f><v>x &amp; y</v></c>`:            "x & y",
		`<c t="str"><f>A1</f></c>`:                            "!",
		`<c t="s"><v>0</v></c>`:                               "a",
		`<c t="s"><v>1</v></c>`:                               "b c",
		`<c t="s"><v>3</v></c>`:                               " d\ne_x0041_ _x00zz_ ",
		`<c t="inlineStr"><is><t>=1+1</t></is></c>`:           "=1+1",
		`<c t="inlineStr"><is><t>_xD83D__xDE00_</t></is></c>`: "😀",
		`<x:c t="b"><x:v>1</x:v></x:c>`:                       "true",
	} {
		rows, err := read(parts(`<row>`+cell+`</row>`, shared), "")
		if diff := cmp.Diff([]string{"1: " + want}, rows); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", cell, err, diff)
		}
	}
	old := map[string]string{"xl/styles.xml": cellStyles, "xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="One" r:id="b"/></sheets></workbook>`}
	if rows, err := read(parts(`<row><c s="1"><v>1</v></c></row>`, old), ""); err != nil || rows[0] != "1: 1904-01-02" {
		t.Error(rows, err)
	}
}

// A reader takes gaps, padding and merged cells as they are, and numbers rows as Excel does.
func TestReader_CellsStandInTheirColumns(t *testing.T) {
	t.Parallel()
	rows, err := read(parts(`<row r="2"><c r="B2"><v>1</v></c><c><v>2</v></c><c r="F2" s="1"/></row><row/><row r="5"><c r="C5" t="s"><v>0</v></c></row><row><c r="AB6"><v>7</v></c></row>`,
		map[string]string{"xl/sharedStrings.xml": `<sst><si/></sst>`}), "")
	want := []string{"2: |1|2", "6: " + strings.Repeat("|", 27) + "7"}
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReader_OpensASheetByItsName(t *testing.T) {
	t.Parallel()
	file := parts(`<row><c><v>1</v></c></row>`, map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="Chart" r:id="c"/><sheet name="Lists" state="hidden" r:id="b"/><sheet name="Año 2" r:id="d"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="b" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="c" Type="http://x/chartsheet" Target="c.xml"/><Relationship Id="d" Type="http://x/worksheet" Target="worksheets/Sheet2.XML"/></Relationships>`,
		`xl\worksheets\sheet2.xml`:   `<worksheet><sheetData><row><c><v>2</v></c></row></sheetData></worksheet>`,
	})
	for sheet, want := range map[string]string{"": "1: 2", "AÑO 2": "1: 2", "Lists": "1: 1"} {
		if rows, err := read(file, sheet); err != nil || len(rows) != 1 || rows[0] != want {
			t.Errorf("%q: %v %v", sheet, rows, err)
		}
	}
	if _, err := read(file, "People"); err == nil || !strings.Contains(err.Error(), "its sheets are Lists, Año 2") {
		t.Error(err)
	}
}

// What is no workbook, or one that cannot be read whole, is refused before its first row, and says what to do.
func TestOpen_SaysWhatToDo(t *testing.T) {
	t.Parallel()
	row := `<row><c><v>1</v></c></row>`
	whole := parts(row, nil)
	damaged := bytes.Replace(parts(strings.Repeat(row, 3000), nil), []byte("PK\x01\x02"), []byte("PK\x01\x03"), 1)
	password, err := os.ReadFile(filepath.Join("testdata", "password.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":                  {nil, "no Excel workbook"},
		"csv":                      {[]byte("phone,name\n+1,x\n"), "no Excel workbook"},
		"a workbook with password": {password, "password"},
		"an old one":               {append([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), make([]byte, 100_000)...), ".xls"},
		"an OpenDocument":          {parts(row, map[string]string{"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "x"}), ".ods"},
		"a binary one":             {parts(row, map[string]string{"_rels/.rels": `<R><Relationship Type="x/officeDocument" Target="xl/workbook.bin"/></R>`}), ".xlsb"},
		"a text":                   {parts(row, map[string]string{"_rels/.rels": `<R><Relationship Type="x/officeDocument" Target="word/document.xml"/></R>`}), "no Excel workbook"},
		"an archive":               {parts(row, map[string]string{"_rels/.rels": ""}), "no Excel workbook"},
		"cut off":                  {whole[:len(whole)-30], "arrived whole"},
		"table of contents":        {damaged, "table of contents"},
		"no sheet":                 {parts(row, map[string]string{"xl/workbook.xml": "<workbook/>"}), "no sheet"},
		"missing sheet":            {parts(row, map[string]string{"xl/worksheets/sheet1.xml": ""}), "missing"},
		"sheet of no rows":         {parts(row, map[string]string{"xl/worksheets/sheet1.xml": "<worksheet/>"}), "broken in xl/worksheets/sheet1.xml"},
		"shared texts that end":    {parts(row, map[string]string{"xl/sharedStrings.xml": "<sst><si><t>a</t></si>"}), "broken in xl/sharedstrings.xml"},
		"broken list":              {parts(row, map[string]string{"xl/workbook.xml": "<workbook"}), "broken in xl/workbook.xml"},
		"a long token":             {parts(row, map[string]string{"xl/sharedStrings.xml": "<sst><si><t>" + strings.Repeat("x", 3<<20) + "</t></si></sst>"}), "more than 1048576 bytes"},
		"many rows":                {parts(strings.Repeat(row, workbook.MaxRows+1), nil), "more than 200000 rows"},
	} {
		rows, err := read(tt.file, "")
		if known, ok := errors.AsType[*workbook.Error](err); !ok || !strings.Contains(known.Detail, tt.want) || len(rows) > 0 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
	// What is only formatted is no row.
	if rows, err := read(parts(strings.Repeat(`<row><c s="1"/></row>`, 2*workbook.MaxRows)+row, nil), ""); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	broke := errors.New("broke")
	if _, err := workbook.Open(io.MultiReader(bytes.NewReader(whole[:100]), iotest.ErrReader(broke)), ""); !errors.Is(err, broke) {
		t.Error(err)
	}
}

// Rows that are broken inside, which only their reading shows, end the reading.
func TestReader_RefusesBrokenRows(t *testing.T) {
	t.Parallel()
	for _, sheet := range []string{
		`<row r="2"/><row r="2"/>`, `<row r="x"/>`, `<row r="1048577"/>`, `<row><c r="B1"/><c r="A1"/></row>`, `<row><c r="XFE1"/></row>`, `<row><c r="1"/></row>`,
		`<row><c t="s"><v>0</v></c></row>`, `<row><c t="s"><v>-1</v></c></row>`, `<row><c t="s"><v>x</v></c></row>`, `<row><c><v>1</c`, `<row><c><v>` + "\x01",
	} {
		if rows, err := read(parts(sheet, nil), ""); err == nil || !strings.Contains(err.Error(), "broken in") || len(rows) > 0 {
			t.Errorf("%s: %v %v", sheet, rows, err)
		}
	}
}

// Long and wide rows are cut, and say so.
func TestReader_RowsAreBounded(t *testing.T) {
	t.Parallel()
	cell := `<c t="inlineStr"><is>` + strings.Repeat(`<t>`+strings.Repeat("x", 30_000)+`</t>`, 4) + `</is></c>`
	r, err := workbook.Open(bytes.NewReader(parts(`<row>`+cell+cell+`</row><row><c r="XFD2"><v>1</v></c></row>`, nil)), "")
	if err != nil {
		t.Fatal(err)
	}
	long, err := r.Next()
	wide, err2 := r.Next()
	if err != nil || err2 != nil || !long.Long || long.Width != 2 || len(long.Cells[0].Text) > 0 || wide.Width != 16384 || len(wide.Cells) != 0 || wide.Long {
		t.Errorf("%v %v: %v, %d %d", err, err2, long.Long, wide.Width, len(wide.Cells))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A workbook that another program wrote: excelize 2.11.1, with shared texts, styles, a formula without a value and rich text.
func TestReader_ReadsAnotherProgramsWorkbook(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("testdata", "excelize.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := read(file, "")
	want := []string{
		"1: phone|name|born|ok|n|code|when",
		"2: 254722123456|José 😀|1990-02-03|true|1.5|00042|2026-01-31T12:30:00",
		"3: +254722123457|=1+1||false|0.3|!",
		"4: 254722123458|'x\nline|||-3",
		"6: 254722123459|a\nb <&>\"|||!1.23456789012345E+15||rich text",
	}
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if rows, err = read(file, "Otra hoja"); err != nil || len(rows) != 1 || rows[0] != "2: |x" {
		t.Error(rows, err)
	}
}

// texts draws texts with what workbooks treat in a special way.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[-=+'@_x0-9A-F \n<>&"]{0,12}`), rapid.SampledFrom([]string{"_x000D_", "_x005F_x0041_", "0042", "-0", "1e5", "\ufffe", "\x00", "😀", "254722123456", "1.50", " ", "]]>"}))
}

// A text that is written is the text that is read, whatever it is, and a number too.
func TestWriter_TextsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(d *rapid.T) {
		list := rapid.SliceOfN(rapid.SliceOfN(texts(), 1, 5), 1, 10).Draw(d, "rows")
		var b bytes.Buffer
		w := workbook.NewWriter(&b)
		w.Sheet("data", []string{"a", "b", "c", "d", "e"})
		want := []string{"1: a|b|c|d|e"}
		for i, row := range list {
			values := make([]workbook.Value, len(row))
			for n := range row {
				values[n] = workbook.Value{Text: row[n], Number: i%2 == 0}
				row[n] = strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(row[n], "\ufffd"), "\r\n", "\n"), "\r", "\n")
			}
			w.Row(values)
			for len(row) > 0 && row[len(row)-1] == "" {
				row = row[:len(row)-1]
			}
			if len(row) > 0 {
				want = append(want, fmt.Sprintf("%d: %s", i+2, strings.Join(row, "|")))
			}
		}
		w.Sheet("codebook", []string{"x"})
		if err := errors.Join(w.Flush(), w.Close()); err != nil {
			d.Fatal(err)
		}
		rows, err := read(b.Bytes(), "")
		if diff := cmp.Diff(want, rows); err != nil || diff != "" {
			d.Fatalf("%v\n%s", err, diff)
		}
		if rows, err = read(b.Bytes(), "codebook"); err != nil || len(rows) != 1 {
			d.Fatal(rows, err)
		}
	})
}

// The decoder neither fails in another way than by an error, nor returns more than it promises.
func FuzzReader_SheetsOfAnyKind(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s" s="1"><f>1</f><v>0</v></c><c t="inlineStr"><is><t>x</t></is></c></row>`, `<sst><si><t>a</t></si></sst>`, cellStyles)
	f.Add(`<row><c s="1"><v>46053.5</v></c></row>`, `<sst><si><r><t>_x000D_</t></r><rPh><t/></rPh></si>`, `<styleSheet><numFmt numFmtId="170" formatCode="[h]\"/><cellXfs><xf numFmtId="170"/>`)
	f.Fuzz(func(t *testing.T, sheet, strings, styles string) {
		r, err := workbook.Open(bytes.NewReader(parts(sheet, map[string]string{"xl/sharedStrings.xml": strings, "xl/styles.xml": styles})), "")
		if err == nil {
			last := 0
			for err == nil {
				var row *workbook.Row
				if row, err = r.Next(); err == nil && (row.Number <= last || row.Width < len(row.Cells) || len(row.Cells) > workbook.MaxWidth || row.Width == 0) {
					t.Fatalf("%+v", row)
				} else if err == nil {
					last = row.Number
				}
			}
			if closed := r.Close(); closed != nil {
				t.Fatal(closed)
			}
		}
		if _, ok := errors.AsType[*workbook.Error](err); !ok && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

// The same of whole files.
func FuzzOpen_FilesOfAnyKind(f *testing.F) {
	f.Add(parts(`<row><c><v>1</v></c></row>`, nil))
	for _, name := range []string{"excelize.xlsx", "password.xlsx"} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := read(file, ""); err != nil {
			if _, ok := errors.AsType[*workbook.Error](err); !ok {
				t.Fatal(err)
			}
		}
	})
}

// Rows that are written are not kept: a workbook of any length takes the memory of a short one.
func TestWriter_KeepsNothingOfItsRows(t *testing.T) {
	held := func(w *workbook.Writer) (bytes uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(w)
		return m.HeapAlloc
	}
	w := workbook.NewWriter(io.Discard)
	w.Sheet("results", slices.Repeat([]string{"column"}, 20))
	write := func(rows int) {
		for n := range rows {
			values := make([]workbook.Value, 20)
			for i := range values {
				values[i] = workbook.Value{Text: fmt.Sprint("answer ", n, " ", i), Number: i%2 == 0}
			}
			w.Row(values)
		}
	}
	write(1000)
	before := held(w)
	write(20_000) // 10 MB of XML
	if after := held(w); after > before+1<<20 {
		t.Errorf("after 21,000 rows it holds %d kB more than after 1,000", (after-before)>>10)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A sheet has as many rows as Excel opens; the next row is in another sheet, below the same names of columns.
func TestWriter_SheetThatIsFullGoesOnInAnother(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := workbook.NewWriter(&b)
	w.Sheet("results", []string{"n"})
	const rows = 1 << 20 // of which one has the names
	empty := []workbook.Value{{}}
	for range rows - 2 {
		w.Row(empty)
	}
	w.Row([]workbook.Value{{Text: "last"}})
	w.Row([]workbook.Value{{Text: "first"}})
	w.Sheet("codebook", []string{"x"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for sheet, want := range map[string][]string{"results": {"1: n", fmt.Sprint(rows, ": last")}, "results 2": {"1: n", "2: first"}, "codebook": {"1: x"}} {
		if got, err := read(b.Bytes(), sheet); err != nil || !slices.Equal(got, want) {
			t.Errorf("sheet %s has %q: %v", sheet, got, err)
		}
	}
}
