package workbook

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// Reader reads the rows of a sheet. It is not for concurrent use.
type Reader struct {
	book   *book
	sheet  string // part of the archive
	rows   *rows
	shared *texts
}

// Open copies a workbook to a temporary file, because the table of contents stands at its end, and
// opens one of its sheets; empty: the first one that is not hidden. The error is an [*Error], unless
// the workbook could not be copied. The temporary file has no name any more, so that nothing is left
// of it however the process ends.
func Open(from io.Reader, sheet string) (*Reader, error) {
	f, err := os.CreateTemp("", "weir-workbook-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(f.Name()); err == nil {
		var r *Reader
		if r, err = open(f, from, sheet); err == nil {
			return r, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

func open(f *os.File, from io.Reader, sheet string) (*Reader, error) {
	size, err := io.Copy(f, io.LimitReader(from, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if size > MaxSize {
		return nil, tooLarge("a workbook may have %d MiB; divide it, or %s", MaxSize>>20, asCSV)
	}
	b, err := openBook(f, size)
	if err != nil {
		return nil, err
	}
	part, err := b.find(sheet)
	if err != nil {
		return nil, err
	}
	r := &Reader{book: b, sheet: part}
	if err := b.readStyles(); err != nil {
		return nil, err
	}
	if r.shared, err = b.readTexts(); err != nil {
		return nil, err
	}
	if err := r.verify(); err != nil {
		return nil, err
	}
	r.rows, err = b.openRows(part, r.shared)
	return r, err
}

// Close deletes the temporary file.
func (r *Reader) Close() error { return r.book.file.Close() }

// verify reads the sheet to its end: it must be whole, and have no more rows than allowed.
func (r *Reader) verify() error {
	in, err := r.book.open(r.sheet, MaxUnpacked)
	if err != nil {
		return err
	}
	rows, tail, buf := 0, 0, make([]byte, 64<<10)
	for {
		n, err := in.Read(buf[tail:])
		block := buf[:tail+n]
		rows += bytes.Count(block, []byte("</row>")) + bytes.Count(block, []byte(":row>"))
		keep := min(len(block), len("</row>")-1) // an end that the next block completes
		tail = copy(buf, block[len(block)-keep:])
		switch {
		case errors.Is(err, io.EOF) && rows <= MaxRows:
			return nil
		case errors.Is(err, io.EOF):
			return r.count()
		case err != nil:
			return partError(r.sheet, err)
		}
	}
}

// count counts the rows that are not empty: spreadsheets keep formatted rows, too.
func (r *Reader) count() error {
	rows, err := r.book.openRows(r.sheet, r.shared)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		_, err := rows.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n > MaxRows:
			return tooLarge("the sheet has more than %d rows; divide it, or %s", MaxRows, asCSV)
		}
	}
}

// book is a workbook as an archive of parts.
type book struct {
	file    *os.File
	size    int64
	parts   map[string]*zip.File // by name in lower case
	main    string               // the part that lists the sheets
	sheets  []sheetEntry
	strings string // the part of shared texts; empty: there is none
	styles  string // the part of the styles; empty: there is none
	formats []format
	since   date1904
}

// sheetEntry is a sheet in the list of a workbook.
type sheetEntry struct {
	name, part string
	hidden     bool
}

func openBook(f *os.File, size int64) (*book, error) {
	b := &book{file: f, size: size, parts: map[string]*zip.File{}}
	if err := b.checkKind(); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, errBroken("its table of contents")
	}
	for _, part := range z.File {
		b.parts[partName(part.Name)] = part
	}
	if _, ok := b.parts["mimetype"]; ok && b.parts["content.xml"] != nil {
		return nil, errorf("this is an OpenDocument spreadsheet (.ods); save it as .xlsx or as CSV UTF-8, and send that file")
	}
	top, err := b.links("")
	if err != nil {
		return nil, err
	}
	for _, l := range top {
		if l.kind == "officeDocument" {
			b.main = l.target
		}
	}
	switch {
	case strings.HasSuffix(b.main, ".bin"):
		return nil, errorf("this is a binary Excel workbook (.xlsb); save it as .xlsx, and send that file")
	case b.main == "" || !strings.HasPrefix(b.main, "xl/"):
		return nil, errorf("this is a packed file, but no Excel workbook (.xlsx)")
	}
	return b, b.readSheets()
}

// checkKind refuses files that are none, and those of which reading the table of contents would
// take much memory.
func (b *book) checkKind() error {
	head := make([]byte, 8)
	_, err := b.file.ReadAt(head, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0")):
		return b.olderKind()
	case !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return errorf("this is no Excel workbook (.xlsx); save it as one, or send CSV as text/csv")
	}
	// The record at the end of an archive says where its table of contents begins.
	end := make([]byte, min(b.size, 22+1<<16))
	if _, err := b.file.ReadAt(end, b.size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(end[:max(0, len(end)-18)], []byte("PK\x05\x06"))
	if at < 0 {
		return errBroken("its end; it may not have arrived whole")
	}
	begin := int64(binary.LittleEndian.Uint32(end[at+16:]))
	if length := b.size - int64(len(end)-at) - begin; length < 0 || length > maxFolder {
		return errBroken("its table of contents, or it has too many parts")
	}
	return nil
}

// olderKind returns why a compound file is none: one with a password is packed in it.
func (b *book) olderKind() error {
	// The names of what is in a compound file are UTF-16.
	encrypted := []byte(strings.Join(strings.Split("EncryptedPackage", ""), "\x00"))
	buf, tail := make([]byte, 64<<10), 0
	for in := io.NewSectionReader(b.file, 0, b.size); ; {
		n, err := in.Read(buf[tail:])
		block := buf[:tail+n]
		if bytes.Contains(block, encrypted) {
			return errorf("this workbook has a password; save it without one (in Excel: File, Info, Protect Workbook), and send that file")
		}
		tail = copy(buf, block[len(block)-min(len(block), len(encrypted)-1):])
		if errors.Is(err, io.EOF) {
			return errorf("this is an old Excel workbook (.xls); save it as .xlsx or as CSV UTF-8, and send that file")
		}
		if err != nil {
			return err
		}
	}
}

func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// open opens a part of at most limit bytes.
func (b *book) open(name string, limit int64) (io.Reader, error) {
	part := b.parts[name]
	if part == nil {
		return nil, errBroken(name + ", which is missing")
	}
	if part.UncompressedSize64 > uint64(limit) { // limits are positive
		return nil, tooLarge("the workbook unpacks to more than %d MiB; divide it, or %s", limit>>20, asCSV)
	}
	in, err := part.Open()
	if err != nil {
		return nil, errBroken(name)
	}
	return &bounded{in: in, left: limit, limit: limit}, nil
}

// bounded reads a part, whatever the archive says of its size.
type bounded struct {
	in          io.Reader
	left, limit int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLarge("the workbook unpacks to more than %d MiB; divide it, or %s", b.limit>>20, asCSV)
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// partError returns the error of a part that cannot be read.
func partError(part string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return err
	}
	return errBroken(part)
}

// link is a relation of a part to another.
type link struct{ id, kind, target string }

// links returns the relations of a part; of the archive, if it has no name.
func (b *book) links(of string) (list []link, err error) {
	dir, base := path.Split(of)
	name := dir + "_rels/" + base + ".rels"
	if b.parts[name] == nil {
		return nil, nil
	}
	err = b.each(name, func(e xml.StartElement) error {
		if e.Name.Local != "Relationship" || attribute(e, "TargetMode") == "External" {
			return nil
		}
		target := attribute(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = dir + target
		}
		list = append(list, link{attribute(e, "Id"), path.Base(attribute(e, "Type")), partName(path.Clean(target))})
		return nil
	})
	return list, err
}

// readSheets reads the list of sheets.
func (b *book) readSheets() error {
	links, err := b.links(b.main)
	if err != nil {
		return err
	}
	targets := map[string]link{}
	for _, l := range links {
		targets[l.id] = l
		switch l.kind {
		case "sharedStrings":
			b.strings = l.target
		case "styles":
			b.styles = l.target
		}
	}
	return b.each(b.main, func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.since = date1904(isTrue(attribute(e, "date1904")))
		case "sheet":
			if len(b.sheets) == maxSheets {
				return tooLarge("the workbook has more than %d sheets", maxSheets)
			}
			if l := targets[attribute(e, "id")]; l.kind == "worksheet" {
				state := attribute(e, "state")
				b.sheets = append(b.sheets, sheetEntry{attribute(e, "name"), l.target, state == "hidden" || state == "veryHidden"})
			}
		}
		return nil
	})
}

// find returns the part of a sheet.
func (b *book) find(name string) (string, error) {
	var names []string
	for _, s := range b.sheets {
		if name == "" && !s.hidden || name != "" && strings.EqualFold(s.name, name) {
			return s.part, nil
		}
		names = append(names, s.name)
	}
	switch {
	case len(names) == 0:
		return "", errorf("the workbook has no sheet with cells")
	case name == "":
		return b.sheets[0].part, nil
	}
	return "", errorf("the workbook has no sheet of this name; its sheets are %s", strings.Join(names[:min(len(names), 10)], ", "))
}

// each calls a function for each element of a part that is not rows or texts.
func (b *book) each(part string, do func(xml.StartElement) error) error {
	in, err := b.open(part, maxPart)
	if err != nil {
		return err
	}
	t := newTokens(part, in)
	for {
		token, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := token.(xml.StartElement); ok {
			if err := do(e); err != nil {
				return err
			}
		}
	}
}

// attribute returns an attribute, whatever its namespace is called.
func attribute(e xml.StartElement, name string) string {
	at := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
	if at < 0 {
		return ""
	}
	return e.Attr[at].Value
}

func isTrue(text string) bool { return text == "1" || text == "true" || text == "on" }

// tokens reads XML in bounded memory: without a stack of the elements that are open, and only
// tokens of bounded length.
type tokens struct {
	part string
	in   *tokenBytes
	xml  *xml.Decoder
}

func newTokens(part string, in io.Reader) *tokens {
	limited := &tokenBytes{in: in}
	return &tokens{part, limited, xml.NewDecoder(limited)}
}

// next returns the next token, whose bytes are valid until the one after it, and io.EOF behind the last one.
func (t *tokens) next() (xml.Token, error) {
	t.in.left = maxToken
	token, err := t.xml.RawToken()
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return token, err
	}
	return nil, partError(t.part, err)
}

// tokenBytes bounds what is read for one token.
type tokenBytes struct {
	in   io.Reader
	left int
}

// Read implements io.Reader.
func (b *tokenBytes) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLarge("the workbook has a text of more than %d bytes", maxToken)
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
