package surveys

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"weir"
)

// maxLine bounds a line, and a record of several lines, in bytes of UTF-8.
const maxLine = 64 << 10

// line is one line of a file, without its end. One that is too long is empty
// and says so.
type line struct {
	number  int // from 1
	text    string
	tooLong bool
}

// lines reads a file line by line in bounded memory, whatever its lines are.
type lines struct {
	in     *bufio.Reader
	number int
	again  []line // to be read once more, in order
	failed error  // the end of the file, or what ended the reading
	long   []byte
}

// next gives the next line, io.EOF after the last.
func (l *lines) next() (line, error) {
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

// back puts lines back, to be read again.
func (l *lines) back(lines []line) {
	l.again = append(slices.Clone(lines), l.again...)
}

// read reads up to the end of a line. At the end of the file it gives what there
// is, and io.EOF.
func (l *lines) read() (text string, tooLong bool, err error) {
	part, err := l.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return ended(part), len(part) > maxLine, err
	}
	l.long = append(l.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.in.ReadSlice('\n')
		if len(l.long) <= maxLine {
			l.long = append(l.long, part...)
		}
	}
	if len(l.long) > maxLine {
		return "", true, err
	}
	return ended(l.long), false, err
}

func ended(b []byte) string {
	return string(bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r")))
}

func errEmpty() error { return weir.Errorf(weir.CodeInvalid, "the file is empty") }

// Encodings lists the encodings of files of respondents. Without one a file is
// UTF-8, unless it begins with the mark of UTF-16.
func Encodings() []string { return []string{"utf-8", "utf-16le", "utf-16be", "windows-1252"} }

// decoded gives a file as UTF-8, without the mark at its beginning. What is no
// character in its encoding becomes a byte that is none in UTF-8, so that it is
// found in the row where it stands.
func decoded(r io.Reader, encoding string) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, 16<<10)
	mark, err := in.Peek(3)
	if len(mark) == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errEmpty()
		}
		return nil, err
	}
	encoding = strings.ToLower(encoding)
	skip := 0
	switch {
	case bytes.Equal(mark, []byte{0xEF, 0xBB, 0xBF}) && (encoding == "" || encoding == "utf-8"):
		encoding, skip = "utf-8", 3
	case bytes.HasPrefix(mark, []byte{0xFF, 0xFE}) && (encoding == "" || encoding == "utf-16le"):
		encoding, skip = "utf-16le", 2
	case bytes.HasPrefix(mark, []byte{0xFE, 0xFF}) && (encoding == "" || encoding == "utf-16be"):
		encoding, skip = "utf-16be", 2
	}
	if _, err := in.Discard(skip); err != nil {
		return nil, err
	}
	switch encoding {
	case "", "utf-8":
		return in, nil
	case "utf-16le":
		return bufio.NewReader(&transcoder{next: wide(in, binary.LittleEndian)}), nil
	case "utf-16be":
		return bufio.NewReader(&transcoder{next: wide(in, binary.BigEndian)}), nil
	case "windows-1252", "iso-8859-1":
		return bufio.NewReader(&transcoder{next: narrow(in)}), nil
	}
	return nil, weir.Errorf(weir.CodeInvalid, "encoding %q is not one of %s", clip(encoding), strings.Join(Encodings(), ", "))
}

// noRune stands for bytes that are no character.
const noRune rune = -1

// transcoder reads characters as UTF-8.
type transcoder struct {
	next func() (rune, error)
	rest []byte // of a character that found no room
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

// wide reads characters of UTF-16.
func wide(in *bufio.Reader, order binary.ByteOrder) func() (rune, error) {
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
			return noRune, nil // half a character; the next read meets the end, or the error, itself
		}
		both := utf16.DecodeRune(r, rune(order.Uint16(b)))
		if both == utf8.RuneError {
			return noRune, nil
		}
		_, err = in.Discard(2)
		return both, err
	}
}

// narrow reads characters of Windows-1252, of which ISO 8859-1 as it is written
// is a part.
func narrow(in *bufio.Reader) func() (rune, error) {
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
