package workbook

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Next returns the next row that has a text, and io.EOF behind the last one.
func (r *Reader) Next() (*Row, error) { return r.rows.next() }

// rows reads the rows of a sheet.
type rows struct {
	*tokens
	book   *book
	shared *texts
	number int // of the row that was read last
}

func (b *book) openRows(part string, shared *texts) (*rows, error) {
	in, err := b.open(part, MaxUnpacked)
	if err != nil {
		return nil, err
	}
	r := &rows{tokens: newTokens(part, in), book: b, shared: shared}
	for {
		token, err := r.token()
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "sheetData" {
			return r, nil
		}
	}
}

// token returns the next token of a sheet whose end has not come.
func (r *rows) token() (xml.Token, error) {
	token, err := r.tokens.next()
	if errors.Is(err, io.EOF) {
		return nil, errBroken(r.part)
	}
	return token, err
}

func (r *rows) next() (*Row, error) {
	for {
		token, err := r.token()
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local != "row" {
				continue
			}
			row, err := r.row(e)
			if err != nil || row.Width > 0 {
				return row, err
			}
		case xml.EndElement:
			if e.Name.Local == "sheetData" {
				return nil, io.EOF
			}
		}
	}
}

// row reads a row up to its end.
func (r *rows) row(start xml.StartElement) (*Row, error) {
	number := r.number + 1
	if text := attribute(start, "r"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < number {
			return nil, errBroken(r.part)
		}
		number = n
	}
	if number > excelRows {
		return nil, errBroken(r.part)
	}
	r.number = number
	row, column, bytes := &Row{Number: number}, 0, 0
	for {
		token, err := r.token()
		if err != nil {
			return nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local != "c" {
				continue
			}
			if column, err = columnOf(attribute(e, "r"), column); err != nil {
				return nil, errBroken(r.part)
			}
			cell, err := r.cell(e)
			if err != nil {
				return nil, err
			}
			bytes += len(cell.Text)
			row.add(column, cell, bytes)
		case xml.EndElement:
			if e.Name.Local == "row" {
				return row, nil
			}
		}
	}
}

// add adds the cell of a column; bytes is the length of all texts up to it.
func (row *Row) add(column int, cell Cell, bytes int) {
	if cell.Text == "" && cell.Wrong == "" {
		return
	}
	row.Width = column
	if row.Long = row.Long || bytes > MaxText; row.Long {
		cell.Text = ""
	}
	if column > MaxWidth {
		return
	}
	for len(row.Cells) < column-1 {
		row.Cells = append(row.Cells, Cell{})
	}
	row.Cells = append(row.Cells, cell)
}

// columnOf returns the column of a reference such as AB12, from 1; without one, the column behind the last one.
func columnOf(reference string, last int) (int, error) {
	column := 0
	for i := 0; i < len(reference) && reference[i] >= 'A' && reference[i] <= 'Z' && column <= excelColumns; i++ {
		column = column*26 + int(reference[i]-'A') + 1
	}
	if reference == "" {
		column = last + 1
	}
	if column <= last || column > excelColumns {
		return 0, strconv.ErrRange
	}
	return column, nil
}

// cell reads a cell up to its end.
func (r *rows) cell(start xml.StartElement) (Cell, error) {
	var value, inline text
	formula, valued := false, false
	var in reading
	for {
		token, err := r.token()
		if err != nil {
			return Cell{}, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "f":
				formula = true
			case "v":
				in.into, valued = &value, true
			default:
				in.begin(e.Name.Local, &inline)
			}
		case xml.CharData:
			in.into.add(e)
		case xml.EndElement:
			if e.Name.Local == "c" {
				return r.valueOf(attribute(start, "t"), attribute(start, "s"), value.String(), inline.String(), formula && !valued)
			}
			in.end(e.Name.Local)
		}
	}
}

// valueOf returns the cell of a type and a style.
func (r *rows) valueOf(kind, style, value, inline string, unknown bool) (Cell, error) {
	switch kind {
	case "s":
		if value == "" {
			return Cell{}, nil
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return Cell{}, errBroken(r.part)
		}
		shared, err := r.shared.at(n)
		return Cell{Text: shared}, err
	case "inlineStr":
		return Cell{Text: plain(inline)}, nil
	case "str":
		if unknown {
			return Cell{Wrong: WrongFormula}, nil
		}
		return Cell{Text: plain(value)}, nil
	case "b":
		switch strings.TrimSpace(value) {
		case "1", "true":
			return Cell{Text: "true"}, nil
		case "0", "false":
			return Cell{Text: "false"}, nil
		}
	case "e":
		return Cell{Text: value, Wrong: WrongValue}, nil
	case "d":
		return Cell{Text: strings.TrimSpace(value)}, nil
	}
	if unknown {
		return Cell{Wrong: WrongFormula}, nil
	}
	if value = strings.TrimSpace(value); value == "" {
		return Cell{}, nil
	}
	var f format
	if n, err := strconv.Atoi(style); err == nil && n >= 0 && n < len(r.book.formats) {
		f = r.book.formats[n]
	}
	return f.cell(value, r.book.since), nil
}

// text is a text that is read in parts, cut behind MaxText. A nil one drops what is added.
type text struct{ strings.Builder }

func (t *text) add(part []byte) {
	if t != nil && t.Len() <= MaxText {
		t.Write(part[:min(len(part), MaxText+1-t.Len())])
	}
}

// reading is where the characters of a text go: those of its elements t, except in phonetic guides.
type reading struct {
	into     *text // nil: nowhere
	phonetic int   // guides that are open
}

func (r *reading) begin(element string, of *text) {
	switch element {
	case "t":
		if r.into = of; r.phonetic > 0 {
			r.into = nil
		}
	case "rPh":
		r.phonetic++
	}
}

func (r *reading) end(element string) {
	if r.into = nil; element == "rPh" {
		r.phonetic--
	}
}

// plain returns a text whose characters that XML cannot have are written as _x000D_, with lines that end in LF.
func plain(text string) string {
	if strings.Contains(text, "_x") {
		text = unescaped(text)
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text
}

func unescaped(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "_x")
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		text = text[at:]
		unit, ok := escape(text)
		if !ok {
			b.WriteString(text[:2])
			text = text[2:]
			continue
		}
		text = text[escapeLen:]
		if low, paired := escape(text); paired && utf16.IsSurrogate(unit) && utf16.DecodeRune(unit, low) != utf8.RuneError {
			unit, text = utf16.DecodeRune(unit, low), text[escapeLen:]
		}
		b.WriteRune(unit)
	}
}

const escapeLen = len("_x0000_")

// escape returns the character with whose escape a text begins.
func escape(text string) (rune, bool) {
	if len(text) < escapeLen || text[:2] != "_x" || text[escapeLen-1] != '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:escapeLen-1], 16, 16)
	return rune(n), err == nil
}

// texts are the shared texts of a workbook: in its temporary file, behind the archive.
type texts struct {
	file  *os.File
	begin int64    // of the first one
	ends  []uint32 // where each ends, from begin on

	block []byte // what was read last
	from  uint32 // where it begins
}

// readTexts reads the shared texts.
func (b *book) readTexts() (*texts, error) {
	t := &texts{file: b.file, begin: b.size}
	if b.strings == "" || b.parts[b.strings] == nil {
		return t, nil
	}
	part, err := b.open(b.strings, MaxUnpacked)
	if err != nil {
		return nil, err
	}
	out, tokens := &textWriter{file: b.file, at: b.size}, newTokens(b.strings, part)
	var one text
	var in reading
	whole := false
	for {
		token, err := tokens.next()
		if errors.Is(err, io.EOF) && whole {
			return t, out.flush()
		}
		if err != nil {
			return nil, partError(b.strings, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local == "si" {
				one = text{}
			}
			in.begin(e.Name.Local, &one)
		case xml.CharData:
			in.into.add(e)
		case xml.EndElement:
			in.end(e.Name.Local)
			switch e.Name.Local {
			case "sst":
				whole = true
			case "si":
				if len(t.ends) == maxStrings {
					return nil, tooLarge("the workbook has more than %d texts; divide it, or %s", maxStrings, asCSV)
				}
				if err := out.write(plain(one.String())); err != nil {
					return nil, err
				}
				t.ends = append(t.ends, uint32(out.length)) // less than MaxUnpacked
			}
		}
	}
}

// textWriter appends texts to a file.
type textWriter struct {
	file   *os.File
	at     int64
	length int64
	buf    bytes.Buffer
}

func (w *textWriter) write(text string) error {
	w.buf.WriteString(text)
	if w.length += int64(len(text)); w.buf.Len() < 64<<10 {
		return nil
	}
	return w.flush()
}

func (w *textWriter) flush() error {
	n, err := w.file.WriteAt(w.buf.Bytes(), w.at)
	w.at += int64(n)
	w.buf.Reset()
	return err
}

// blockSize is how much of the texts is read at once: most sheets refer to them in their order.
const blockSize = 16 << 10

// at returns a text.
func (t *texts) at(n int) (string, error) {
	if n < 0 || n >= len(t.ends) {
		return "", errBroken("its shared texts")
	}
	begin, end := uint32(0), t.ends[n]
	if n > 0 {
		begin = t.ends[n-1]
	}
	if begin < t.from || end > t.from+uint32(len(t.block)) { // a block is small
		size := min(max(blockSize, int64(end-begin)), int64(t.ends[len(t.ends)-1]-begin))
		if int64(cap(t.block)) < size {
			t.block = make([]byte, size)
		}
		t.block, t.from = t.block[:size], begin
		if _, err := t.file.ReadAt(t.block, t.begin+int64(begin)); err != nil && !errors.Is(err, io.EOF) {
			t.block = t.block[:0]
			return "", err
		}
	}
	return string(t.block[begin-t.from : end-t.from]), nil
}
