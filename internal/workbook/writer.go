package workbook

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxCell is how much of a text a cell can have, in units of UTF-16.
const maxCell = 32767

// Writer writes a workbook while its rows come. It keeps the first error until Close.
type Writer struct {
	zip    *zip.Writer
	out    *bufio.Writer
	sheets []string // names
	header []string
	base   string // name of the sheet without the number of its continuation
	part   int    // of this sheet
	row    int
	err    error
}

// Value is a cell of a row: a text, or a number.
type Value struct {
	Text   string
	Number bool // if the text is one that a spreadsheet keeps; otherwise it is a text all the same
}

// NewWriter returns a writer of a workbook, which needs Close.
func NewWriter(to io.Writer) *Writer { return &Writer{zip: zip.NewWriter(to)} }

// Sheet begins a sheet of a name, with the names of its columns. Names are those of the program: at
// most 25 characters, of which none is special in Excel.
func (w *Writer) Sheet(name string, header []string) {
	w.base, w.header, w.part = name, header, 1
	w.begin(name)
}

func (w *Writer) begin(name string) {
	w.end()
	if w.err != nil {
		return
	}
	w.sheets = append(w.sheets, name)
	part, err := w.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", len(w.sheets)))
	if w.err = err; err != nil {
		return
	}
	w.out, w.row = bufio.NewWriterSize(part, 64<<10), 0
	// The first row stays on the screen.
	w.text(xml.Header + `<worksheet xmlns="` + mainSpace + `"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`)
	cells := make([]Value, len(w.header))
	for i, name := range w.header {
		cells[i].Text = name
	}
	w.write(cells, ` s="1"`)
}

// Row writes a row. A sheet that is full is continued in another one.
func (w *Writer) Row(cells []Value) {
	if w.row == excelRows {
		w.part++
		w.begin(w.base + " " + strconv.Itoa(w.part))
	}
	w.write(cells, "")
}

func (w *Writer) write(cells []Value, style string) {
	if w.err != nil {
		return
	}
	w.row++
	row := strconv.Itoa(w.row)
	w.text(`<row r="` + row + `">`)
	for i, cell := range cells {
		if cell.Text == "" {
			continue
		}
		at := `<c r="` + columnName(i+1) + row + `"` + style
		if cell.Number && isNumber(cell.Text) {
			w.text(at + `><v>` + cell.Text + `</v></c>`)
			continue
		}
		w.text(at + ` t="inlineStr"><is><t xml:space="preserve">`)
		if err := xml.EscapeText(w.out, []byte(escaped(cell.Text))); w.err == nil {
			w.err = err
		}
		w.text(`</t></is></c>`)
	}
	w.text(`</row>`)
}

func (w *Writer) text(text string) {
	if _, err := w.out.WriteString(text); w.err == nil {
		w.err = err
	}
}

// Flush sends to the underlying writer what is packed already.
func (w *Writer) Flush() error {
	if w.err == nil && w.out != nil {
		w.err = w.out.Flush()
	}
	if w.err == nil {
		w.err = w.zip.Flush()
	}
	return w.err
}

// end ends a sheet.
func (w *Writer) end() {
	if w.out == nil {
		return
	}
	w.text(`</sheetData></worksheet>`)
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
}

const (
	mainSpace  = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	linkSpace  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	linksSpace = "http://schemas.openxmlformats.org/package/2006/relationships"
	typesSpace = "http://schemas.openxmlformats.org/package/2006/content-types"
	ofMain     = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

// Close writes what says which sheets there are, and returns the first error. A workbook without it cannot be opened.
func (w *Writer) Close() error {
	w.end()
	types := `<Types xmlns="` + typesSpace + `"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + ofMain + `sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="` + ofMain + `styles+xml"/>`
	list := `<workbook xmlns="` + mainSpace + `" xmlns:r="` + linkSpace + `"><sheets>`
	links := `<Relationships xmlns="` + linksSpace + `">`
	for i, name := range w.sheets {
		n := strconv.Itoa(i + 1)
		types += `<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="` + ofMain + `worksheet+xml"/>`
		list += `<sheet name="` + name + `" sheetId="` + n + `" r:id="rId` + n + `"/>`
		links += `<Relationship Id="rId` + n + `" Type="` + linkSpace + `/worksheet" Target="worksheets/sheet` + n + `.xml"/>`
	}
	links += `<Relationship Id="rId` + strconv.Itoa(len(w.sheets)+1) + `" Type="` + linkSpace + `/styles" Target="styles.xml"/></Relationships>`
	for _, part := range [][2]string{
		{"xl/styles.xml", styles},
		{"xl/workbook.xml", list + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", links},
		{"_rels/.rels", `<Relationships xmlns="` + linksSpace + `"><Relationship Id="rId1" Type="` + linkSpace + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"[Content_Types].xml", types + `</Types>`},
	} {
		if w.err != nil {
			return w.err
		}
		var to io.Writer
		if to, w.err = w.zip.Create(part[0]); w.err == nil {
			_, w.err = io.WriteString(to, xml.Header+part[1])
		}
	}
	if w.err == nil {
		w.err = w.zip.Close()
	}
	return w.err
}

// styles are that of cells, and the bold one of the first row.
const styles = `<styleSheet xmlns="` + mainSpace + `"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
	`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
	`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
	`<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs></styleSheet>`

// columnName returns the name of a column, such as AB of 28.
func columnName(n int) string {
	name := ""
	for ; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// isNumber reports whether a text is a number that comes back as the same text.
func isNumber(text string) bool {
	if len(text) > 24 || strings.Trim(text, "0123456789.-") != "" {
		return false
	}
	f := format{}.cell(text, false)
	return f.Wrong == "" && f.Text == text
}

// escaped returns a text in which characters that XML cannot have, and what would be read as one, are
// written as _x0000_, and that is not longer than a cell can be.
func escaped(text string) string {
	var b strings.Builder
	units := 0
	for i, r := range text {
		size := max(1, utf16.RuneLen(r))
		if units += size; units > maxCell {
			break
		}
		switch {
		case r < 0x20 && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
			fmt.Fprintf(&b, "_x%04X_", r)
		case r == '_':
			if _, ok := escape(text[i:]); ok {
				b.WriteString("_x005F")
			}
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
