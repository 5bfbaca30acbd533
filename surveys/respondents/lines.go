package respondents

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"weir"
	"weir/internal/validation"
)

// maxLine is the max length of a line, and of a record of several lines, in bytes of UTF-8.
const maxLine = 64 << 10

// line is one line of a file, without its end. A line that is too long has no text
// and has tooLong set.
type line struct {
	number  int // from 1
	text    string
	tooLong bool
}

// lineReader reads a file line by line in bounded memory, however long its lines are.
type lineReader struct {
	in     *bufio.Reader
	most   int // bytes of a line; 0: maxLine
	number int
	again  []line // lines to return again, in order
	failed error  // io.EOF, or the error that ended the reading
	long   []byte
}

// next returns the next line, and io.EOF after the last one.
func (l *lineReader) next() (line, error) {
	if len(l.again) > 0 {
		out := l.again[0]
		l.again = l.again[1:]
		return out, nil
	}
	if l.failed != nil {
		return line{}, l.failed
	}
	text, tooLong, err := l.read()
	l.failed = err
	if err != nil && (!errors.Is(err, io.EOF) || text == "" && !tooLong) {
		return line{}, err
	}
	l.number++
	return line{number: l.number, text: text, tooLong: tooLong}, nil
}

// unread puts lines back, so that next returns them again.
func (l *lineReader) unread(lines []line) {
	l.again = append(slices.Clone(lines), l.again...)
}

// read reads up to the end of a line. At the end of the file it returns the rest
// and io.EOF.
func (l *lineReader) read() (text string, tooLong bool, err error) {
	part, err := l.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) { // the buffer is smaller than maxLine
		return ended(part), false, err
	}
	l.long = append(l.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.in.ReadSlice('\n')
		// The rest is read and dropped, so that memory stays bounded and the next row begins
		// where it should.
		if len(l.long) <= l.longest() {
			l.long = append(l.long, part...)
		}
	}
	if len(l.long) > l.longest() {
		return "", true, err
	}
	return ended(l.long), false, err
}

func (l *lineReader) longest() int { return cmp.Or(l.most, maxLine) }

func (l *lineReader) errTooLong() error {
	return fmt.Errorf("the line is longer than %d bytes", l.longest())
}

// ended returns a line without its end, which [lineEnds] has made a LF.
func ended(b []byte) string { return string(bytes.TrimSuffix(b, []byte("\n"))) }

func errEmpty() error { return weir.Errorf(weir.CodeInvalid, "the file is empty") }

// Errors of rows.
var (
	errEncoding = errors.New("has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding")
	errNUL      = errors.New("has a NUL character; the file may be UTF-16")
)

// Encodings returns the supported encodings of respondent files. Without an explicit
// encoding a file is UTF-8, unless it begins with a UTF-16 byte order mark, or is CSV whose
// letters beyond ASCII are windows-1252.
func Encodings() []string { return []string{"utf-8", "utf-16le", "utf-16be", "windows-1252"} }

// decode returns a reader of the file as UTF-8, without its byte order mark. In a file that
// was decoded, U+FFFD stands for bytes that encode no character.
// guess: a file that states no encoding, and is not UTF-8, is taken for windows-1252.
func decode(r io.Reader, name string, guess bool) (text io.Reader, decoded func() bool, err error) {
	in := bufio.NewReaderSize(r, guessBytes)
	mark, err := in.Peek(4)
	if len(mark) == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, errEmpty()
		}
		return nil, nil, err
	}
	if strings.HasPrefix(string(mark), "PK\x03\x04") || strings.HasPrefix(string(mark), "\xD0\xCF\x11\xE0") {
		return nil, nil, weir.Errorf(weir.CodeInvalid, "this is an Excel workbook, or another packed file; save it as CSV UTF-8 and send that file")
	}
	name = strings.ToLower(name)
	isDecoded := func(yes bool) func() bool { return func() bool { return yes } }
	for _, m := range []struct{ name, mark string }{{"utf-8", "\xEF\xBB\xBF"}, {"utf-16le", "\xFF\xFE"}, {"utf-16be", "\xFE\xFF"}} {
		if strings.HasPrefix(string(mark), m.mark) && (name == "" || name == m.name) {
			name = m.name
			_, _ = in.Discard(len(m.mark)) // it is in the buffer
			break
		}
	}
	switch {
	case name == "" && guess:
		g := &guessed{in: in}
		return g, func() bool { return g.decoded }, nil
	case name == "", name == "utf-8":
		return in, isDecoded(false), nil
	case name == "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Reader(in), isDecoded(true), nil
	case name == "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder().Reader(in), isDecoded(true), nil
	case name == "windows-1252", name == "iso-8859-1": // as used in practice, ISO 8859-1 is a subset
		return charmap.Windows1252.NewDecoder().Reader(in), isDecoded(true), nil
	}
	return nil, nil, weir.Errorf(weir.CodeInvalid, "encoding %q is not one of %s", validation.Clip(name), strings.Join(Encodings(), ", "))
}

// guessBytes is how much of a file decides about its encoding, from its first byte on that is not ASCII.
const guessBytes = 16 << 10

// guessed reads a file that states no encoding: UTF-8, or windows-1252, in which spreadsheets of
// Windows write "CSV". Its first part that is not ASCII decides.
type guessed struct {
	in      *bufio.Reader
	text    io.Reader // nil: not decided yet
	decoded bool
}

// Read implements io.Reader.
func (g *guessed) Read(p []byte) (int, error) {
	if g.text != nil {
		return g.text.Read(p)
	}
	if _, err := g.in.Peek(1); err != nil {
		return 0, err
	}
	part, _ := g.in.Peek(min(len(p), g.in.Buffered()))
	ascii := bytes.IndexFunc(part, func(r rune) bool { return r >= utf8.RuneSelf })
	if ascii < 0 {
		ascii = len(part)
	}
	if ascii > 0 || len(p) == 0 {
		return g.in.Read(p[:ascii])
	}
	part, _ = g.in.Peek(guessBytes)
	if g.text = g.in; isWindows1252(part) {
		g.text, g.decoded = charmap.Windows1252.NewDecoder().Reader(g.in), true
	}
	return g.text.Read(p)
}

// isWindows1252 reports whether a text that is not ASCII has characters of windows-1252, and none of
// UTF-8 beyond ASCII. A byte 0xFF is rather one of a broken file than the letter of a few names.
func isWindows1252(text []byte) bool {
	for i, b := range text {
		if r, size := utf8.DecodeRune(text[i:]); b == 0 || b == 0xFF || size > 1 || r == utf8.RuneError && charmap.Windows1252.DecodeByte(b) == utf8.RuneError {
			return false
		}
	}
	return true
}

// lineEnds converts lines that end in CR, LF or both to lines that end in LF.
type lineEnds struct {
	in io.Reader
	cr bool // the latest byte was a CR
}

// Read implements io.Reader.
func (l *lineEnds) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		var read int
		read, err = l.in.Read(p)
		for _, b := range p[:read] {
			after := l.cr
			if l.cr = b == '\r'; l.cr {
				b = '\n'
			} else if b == '\n' && after {
				continue
			}
			p[n] = b
			n++
		}
	}
	return n, err
}
