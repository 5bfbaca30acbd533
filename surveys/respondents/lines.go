package respondents

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
		if len(l.long) <= maxLine {
			l.long = append(l.long, part...)
		}
	}
	if len(l.long) > maxLine {
		return "", true, err
	}
	return ended(l.long), false, err
}

// ended returns a line without its end, which [lineEnds] has made a LF.
func ended(b []byte) string { return string(bytes.TrimSuffix(b, []byte("\n"))) }

func errEmpty() error { return weir.Errorf(weir.CodeInvalid, "the file is empty") }

// Errors of rows.
var (
	errTooLong  = fmt.Errorf("the line is longer than %d bytes", maxLine)
	errEncoding = errors.New("has bytes that are not valid in the file's encoding; save it as UTF-8 or state its encoding")
	errNUL      = errors.New("has a NUL character; the file may be UTF-16")
)

// Encodings returns the supported encodings of respondent files. Without an explicit
// encoding a file is UTF-8, unless it begins with a UTF-16 byte order mark.
func Encodings() []string { return []string{"utf-8", "utf-16le", "utf-16be", "windows-1252"} }

// decode returns a reader of the file as UTF-8, without its byte order mark.
// Invalid input becomes a byte that is invalid in UTF-8, so that the error is
// reported for the row that holds it.
func decode(r io.Reader, encoding string) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 16<<10)
	mark, err := in.Peek(3)
	if len(mark) == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errEmpty()
		}
		return nil, err
	}
	encoding = strings.ToLower(encoding)
	for _, m := range []struct{ encoding, mark string }{{"utf-8", "\xEF\xBB\xBF"}, {"utf-16le", "\xFF\xFE"}, {"utf-16be", "\xFE\xFF"}} {
		if strings.HasPrefix(string(mark), m.mark) && (encoding == "" || encoding == m.encoding) {
			encoding = m.encoding
			_, _ = in.Discard(len(m.mark)) // it is in the buffer
			break
		}
	}
	switch encoding {
	case "", "utf-8":
		return in, nil
	case "utf-16le":
		return bufio.NewReader(&transcoder{next: utf16Runes(in, binary.LittleEndian)}), nil
	case "utf-16be":
		return bufio.NewReader(&transcoder{next: utf16Runes(in, binary.BigEndian)}), nil
	case "windows-1252", "iso-8859-1":
		return bufio.NewReader(&transcoder{next: windows1252Runes(in)}), nil
	}
	return nil, weir.Errorf(weir.CodeInvalid, "encoding %q is not one of %s", validation.Clip(encoding), strings.Join(Encodings(), ", "))
}

// noRune stands for bytes that encode no character.
const noRune rune = -1

// transcoder reads characters as UTF-8.
type transcoder struct {
	next func() (rune, error)
	rest []byte // of a character that did not fit into p
}

// Read implements io.Reader.
func (t *transcoder) Read(p []byte) (int, error) {
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	for n < len(p) {
		r, err := t.next()
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, err
		}
		var b [utf8.UTFMax]byte
		enc := utf8.AppendRune(b[:0], r)
		if r == noRune {
			enc = append(b[:0], 0xFF)
		}
		k := copy(p[n:], enc)
		n += k
		t.rest = append(t.rest[:0], enc[k:]...)
	}
	return n, nil
}

// utf16Runes returns a reader of UTF-16 characters.
func utf16Runes(in *bufio.Reader, order binary.ByteOrder) func() (rune, error) {
	unit := func() (rune, error) {
		var b [2]byte
		if n, err := io.ReadFull(in, b[:]); n == 1 {
			return noRune, nil
		} else if err != nil {
			return 0, err
		}
		return rune(order.Uint16(b[:])), nil
	}
	return func() (rune, error) {
		r, err := unit()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		b, _ := in.Peek(2)
		if len(b) < 2 {
			return noRune, nil // half a surrogate pair; the next read meets the end, or the error, itself
		}
		both := utf16.DecodeRune(r, rune(order.Uint16(b)))
		if both == utf8.RuneError {
			return noRune, nil
		}
		_, err = in.Discard(2)
		return both, err
	}
}

// windows1252Runes returns a reader of Windows-1252 characters. ISO 8859-1, as used in
// practice, is a subset.
func windows1252Runes(in *bufio.Reader) func() (rune, error) {
	upper := [32]rune{
		'€', noRune, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', noRune, 'Ž', noRune,
		noRune, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', noRune, 'ž', 'Ÿ',
	}
	return func() (rune, error) {
		b, err := in.ReadByte()
		if err != nil || b < 0x80 || b > 0x9F {
			return rune(b), err
		}
		return upper[b-0x80], nil
	}
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
