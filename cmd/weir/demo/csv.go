package demo

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shipped are the contacts that come with the program; the rule by which they
// were made is in the package's tests, and is held there.
//
//go:embed contacts.csv
var shipped []byte

// The channels of the demo, as the file names them.
const (
	calls = "calls"
	sms   = "sms"
)

// Contact is one row of the file.
type Contact struct {
	Channel  string
	Key      string
	To       string
	Priority string
	Survey   string
	Texts    []string // what a call says, or the messages
}

// units is how many calls or messages the contact is, and how many slots it
// takes.
func (c *Contact) units() int { return len(c.Texts) }

// column is one column of the file and what may be in it.
type column struct {
	name  string
	check func(string) (wrong string)
}

func columns() []column {
	return []column{
		{"channel", oneOf(calls, sms)},
		{"key", text(1, 200)},
		{"to", phoneNumber},
		{"priority", oneOf("normal", "high", "reply")},
		{"survey", text(0, 64)},
		{"text", text(1, 1600)},
		{"text2", text(0, 1600)},
		{"text3", text(0, 1600)},
	}
}

// Bounds of a file.
const (
	mostMistakes = 10 // that are reported at once
	mostContacts = 1_000_000
)

// load reads the file of that name; the shipped one when it is empty.
func load(name string) ([]Contact, error) {
	if name == "" {
		return parse("contacts.csv", bytes.NewReader(shipped))
	}
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return parse(name, f)
}

// parse reads contacts. An error names every mistake, up to a bound, with its
// line and column; it holds no phone number.
func parse(name string, r io.Reader) ([]Contact, error) {
	p := &parser{name: name, keys: map[[2]string]int{}}
	c := csv.NewReader(skipMark(r))
	c.FieldsPerRecord = len(columns())
	p.header(c)
	for len(p.mistakes) < mostMistakes && len(p.contacts) < mostContacts {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.broken(c, row, err)
			if !errors.Is(err, csv.ErrFieldCount) {
				break // from here on lines cannot be told apart
			}
			continue
		}
		p.row(c, row)
	}
	if len(p.mistakes) == 0 && len(p.contacts) == 0 {
		p.mistakes = append(p.mistakes, fmt.Errorf("%s: no contact is in it", name))
	}
	return p.contacts, errors.Join(p.mistakes...)
}

type parser struct {
	name     string
	contacts []Contact
	keys     map[[2]string]int // channel and key → line
	mistakes []error
}

func (p *parser) wrong(line, column int, text string) {
	where := fmt.Sprintf("%s: line %d", p.name, line)
	if column > 0 {
		where += fmt.Sprintf(", column %d", column)
		if all := columns(); column <= len(all) {
			where += " (" + all[column-1].name + ")"
		}
	}
	p.mistakes = append(p.mistakes, fmt.Errorf("%s: %s", where, text))
}

func (p *parser) header(c *csv.Reader) {
	row, err := c.Read()
	if err != nil && !errors.Is(err, csv.ErrFieldCount) && !errors.Is(err, io.EOF) {
		p.broken(c, row, err)
		return
	}
	for i, want := range columns() {
		if i >= len(row) || row[i] != want.name {
			p.wrong(1, i+1, "the first line must be "+strings.Join(names(), ","))
			return
		}
	}
	if len(row) > len(columns()) {
		p.wrong(1, len(columns())+1, "one column too many; the first line must be "+strings.Join(names(), ","))
	}
}

func names() []string {
	var out []string
	for _, c := range columns() {
		out = append(out, c.name)
	}
	return out
}

// broken reports a line that is not a row of as many columns as it should be.
func (p *parser) broken(c *csv.Reader, row []string, err error) {
	var at *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		line, _ := c.FieldPos(0)
		p.wrong(line, min(len(row), len(columns()))+1, fmt.Sprintf("%d columns, want %d", len(row), len(columns())))
	case errors.As(err, &at):
		p.mistakes = append(p.mistakes, fmt.Errorf("%s: line %d, character %d: %w", p.name, at.Line, at.Column, at.Err))
	default:
		p.mistakes = append(p.mistakes, fmt.Errorf("%s: %w", p.name, err))
	}
}

func (p *parser) row(c *csv.Reader, row []string) {
	before := len(p.mistakes)
	for i, col := range columns() {
		if wrong := col.check(row[i]); wrong != "" {
			line, _ := c.FieldPos(i)
			p.wrong(line, i+1, wrong)
		}
	}
	line, _ := c.FieldPos(0)
	contact := Contact{Channel: row[0], Key: row[1], To: row[2], Priority: row[3], Survey: row[4], Texts: texts(row[5:])}
	switch {
	case len(p.mistakes) > before:
		return
	case row[6] == "" && row[7] != "":
		p.wrong(line, 8, "there is a third text and no second one")
		return
	case contact.Channel == calls && contact.units() > 1:
		p.wrong(line, 7, "a call has one text")
		return
	}
	key := [2]string{contact.Channel, contact.Key}
	if first, known := p.keys[key]; known {
		p.wrong(line, 2, fmt.Sprintf("line %d has the same key", first))
		return
	}
	p.keys[key] = line
	p.contacts = append(p.contacts, contact)
}

func texts(cells []string) []string {
	var out []string
	for _, c := range cells {
		if c != "" {
			out = append(out, c)
		}
	}
	return out
}

// skipMark passes over the mark that spreadsheets put before UTF-8.
func skipMark(r io.Reader) io.Reader {
	const mark = "\uFEFF"
	head := make([]byte, len(mark))
	n, err := io.ReadFull(r, head)
	if err == nil && string(head) == mark {
		return r
	}
	return io.MultiReader(bytes.NewReader(head[:n]), r)
}

func oneOf(words ...string) func(string) string {
	return func(s string) string {
		for _, w := range words {
			if s == w {
				return ""
			}
		}
		return "want " + strings.Join(words, " or ")
	}
}

func text(least, most int) func(string) string {
	return func(s string) string {
		n := utf8.RuneCountInString(s)
		switch {
		case !utf8.ValidString(s):
			return "not UTF-8"
		case n < least:
			return "must not be empty"
		case n > most:
			return fmt.Sprintf("%d characters, at most %d", n, most)
		case strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
			return "holds a character that is not printable"
		}
		return ""
	}
}

func phoneNumber(s string) string {
	digits := strings.TrimPrefix(s, "+")
	if len(digits) < 5 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return "want a phone number: a plus sign and 5 to 15 digits"
	}
	return ""
}
