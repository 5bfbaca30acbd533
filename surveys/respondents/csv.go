package respondents

import (
	"errors"
	"strings"
)

// maxRecordLines is the max number of lines of a record: quoted text may hold
// line ends.
const maxRecordLines = 20

// Errors of records.
var (
	errOpenQuote  = errors.New("unclosed quote (searched 20 lines)")
	errAfterQuote = errors.New("a closing quote does not end the field; write a quote inside a field twice")
	errBareQuote  = errors.New("a field contains a quote but does not begin with one")
)

// record reads the fields of the next record, separated by comma as defined by RFC 4180, and the
// number of its first line. A malformed record costs one line: reading continues
// with the line after its first, so that an unclosed quote does not swallow the
// rows after it. With the error of a malformed record, that line is its only field.
func (l *lineReader) record(comma string) (fields []string, number int, err error) {
	first, err := l.next()
	if err != nil {
		return nil, 0, err
	}
	if first.tooLong {
		return []string{""}, first.number, l.errTooLong()
	}
	quotes := strings.Count(first.text, `"`)
	if quotes == 0 {
		return strings.Split(first.text, comma), first.number, nil
	}
	if quotes%2 != 0 { // a line that is malformed by itself must not look for its end in other lines
		if _, err := splitQuoted(first.text, comma[0]); err != nil && !errors.Is(err, errOpenQuote) {
			return []string{first.text}, first.number, err
		}
	}
	more, size := []line(nil), len(first.text)
	for quotes%2 != 0 {
		next, err := l.next()
		if err == nil {
			more = append(more, next)
			size += 1 + len(next.text)
		}
		if err != nil || next.tooLong || len(more) == maxRecordLines || size > maxLine {
			l.unread(more)
			return []string{first.text}, first.number, errOpenQuote
		}
		quotes += strings.Count(next.text, `"`)
	}
	text := first.text
	for _, next := range more {
		text += "\n" + next.text
	}
	if fields, err = splitQuoted(text, comma[0]); err != nil {
		l.unread(more)
		return []string{first.text}, first.number, err
	}
	return fields, first.number, nil
}

// SplitList splits a list whose items are separated by commas, and quoted as in CSV if they have one.
func SplitList(text string) ([]string, error) { return splitQuoted(text, ',') }

// JoinList is the reverse of [SplitList].
func JoinList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		if quoted[i] = item; strings.ContainsAny(item, `,"`) {
			quoted[i] = `"` + strings.ReplaceAll(item, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ",")
}

// splitQuoted splits a record that contains quotes.
func splitQuoted(s string, comma byte) ([]string, error) {
	var out []string
	for {
		if !strings.HasPrefix(s, `"`) {
			end := strings.IndexByte(s, comma)
			field := s
			if end >= 0 {
				field = s[:end]
			}
			if strings.Contains(field, `"`) {
				return nil, errBareQuote
			}
			if out = append(out, field); end < 0 {
				return out, nil
			}
			s = s[end+1:]
			continue
		}
		field, rest, err := readQuoted(s[1:])
		if err != nil {
			return nil, err
		}
		out = append(out, field)
		switch {
		case rest == "":
			return out, nil
		case rest[0] != comma:
			return nil, errAfterQuote
		}
		s = rest[1:]
	}
}

// readQuoted reads a field up to its closing quote.
func readQuoted(s string) (field, rest string, err error) {
	var b strings.Builder
	for {
		end := strings.IndexByte(s, '"')
		if end < 0 {
			return "", "", errOpenQuote
		}
		b.WriteString(s[:end])
		if s = s[end+1:]; !strings.HasPrefix(s, `"`) {
			return b.String(), s, nil
		}
		b.WriteByte('"')
		s = s[1:]
	}
}

// separator guesses the field separator of a file from its header: a comma, or
// a semicolon or tab, which spreadsheets of many countries write. Those inside quotes
// separate nothing.
func separator(header string) string {
	counts, quoted := map[rune]int{}, false
	for _, c := range header {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	best := ','
	for _, c := range ";\t" {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return string(best)
}
