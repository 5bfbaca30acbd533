package people

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir"
	"weir/client"
	"weir/people"
	"weir/surveys/respondents"
)

// Limits of the API, in characters.
const (
	maxAddress = 255
	maxWords   = 500
	maxSource  = 100 // of --source-name: with it, a key is below the limit of 200
)

const (
	refused = string(people.Refused)
	given   = string(people.Given)
)

// row is a row of a list.
type row struct {
	line      int
	fields    []string // as in the file
	consent   client.ConsentBody
	canonical string           // the form of the address under which Weir knows the person
	wrong     *client.RowError // why it cannot be recorded; nil: it can
}

// saysNothing reports whether the row is one of a person who has not opted out.
func (r *row) saysNothing() bool { return r.wrong == nil && r.consent.Status == "" }

// isNumber reports whether the address is a phone number.
func (r *row) isNumber() bool { return strings.HasPrefix(r.canonical, "tel:") }

// rows reads a list, row by row.
type rows struct {
	from   *respondents.Reader
	cols   columns
	now    func() time.Time
	source string // prefix of the keys
	scales *regexp.Regexp
}

// newRows reads the first line of a list.
func newRows(from io.Reader, encoding string, wanted columnNames, source string, now func() time.Time) (*rows, error) {
	table, err := respondents.NewTable(from, encoding)
	if err != nil {
		return nil, err
	}
	names, _ := table.Header()
	cols, err := findColumns(names, wanted)
	if err != nil {
		return nil, err
	}
	return &rows{from: table, cols: cols, now: now, source: source, scales: regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)?[eE]\+?[0-9]+$`)}, nil
}

// next returns the next row. The error is io.EOF after the last one, and otherwise one after
// which nothing more can be read.
func (r *rows) next() (row, error) {
	fields, line, err := r.from.Fields()
	out := row{line: line, fields: fields}
	if bad, ok := errors.AsType[*respondents.RowError](err); ok {
		return out.bad(bad.Column, bad.Reason), nil
	}
	if err != nil {
		return out, err
	}
	value := func(column int) string {
		if column < 0 {
			return ""
		}
		return strings.TrimSpace(fields[column])
	}
	out.consent = client.ConsentBody{To: value(r.cols.address), Status: refused, Source: "import", Words: value(r.cols.words)}
	if why := r.wrongAddress(out.consent.To); why != "" {
		return out.bad(r.cols.names[r.cols.address], why), nil
	}
	out.canonical = people.Canonical(out.consent.To)
	if !out.isNumber() && strings.ContainsFunc(out.consent.To, unicode.IsSpace) {
		return out.bad(r.cols.names[r.cols.address], "is no phone number, and another address has no blanks"), nil
	}
	if r.cols.status >= 0 {
		var ok bool
		if out.consent.Status, ok = r.cols.statusOf(value(r.cols.status)); !ok {
			return out.bad(r.cols.names[r.cols.status], r.cols.allowedStatus()), nil
		}
	}
	if text := value(r.cols.at); text != "" {
		at, why := parseInstant(text, r.now())
		if why != "" {
			return out.bad(r.cols.names[r.cols.at], why), nil
		}
		out.consent.At = at
	}
	if utf8.RuneCountInString(out.consent.Words) > maxWords {
		return out.bad(r.cols.names[r.cols.words], fmt.Sprintf("has more than %d characters", maxWords)), nil
	}
	out.consent.Key = keyOf(r.source, &out)
	return out, nil
}

// bad marks a row as one that cannot be recorded.
func (r row) bad(column, reason string) row {
	r.wrong = &client.RowError{Line: r.line, Column: column, Reason: reason}
	return r
}

// wrongAddress returns why a text cannot be an address; empty: it can be. A refusal under an
// address that nobody has would be lost without notice.
func (r *rows) wrongAddress(text string) string {
	switch {
	case text == "":
		return "is missing"
	case utf8.RuneCountInString(text) > maxAddress:
		return fmt.Sprintf("has more than %d characters", maxAddress)
	case r.scales.MatchString(text):
		return "is a number that a spreadsheet has rounded; export the column as text"
	case people.CheckAddress(text) != nil:
		return people.CheckAddress(text).Error()
	case strings.ContainsFunc(text, unicode.IsControl) || !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return "is neither a phone number nor another address"
	}
	return ""
}

// keyOf returns the idempotency key of a row: a hash of what it says of whom. The same row
// in a list that is imported again has the same key, however its number is written.
func keyOf(source string, r *row) string {
	at := ""
	if !r.consent.At.IsZero() {
		at = r.consent.At.Format(time.RFC3339Nano)
	}
	sum := sha256.Sum256([]byte(r.canonical + "\n" + r.consent.Status + "\n" + at))
	if source != "" {
		source += ":"
	}
	return "import:" + source + hex.EncodeToString(sum[:16])
}

// parseInstant parses an instant in the past, as lists have them: RFC 3339, a date with or
// without a time, which is UTC, seconds or milliseconds since 1970, and the dates of mails.
// A date whose order of day and month would have to be guessed is none.
func parseInstant(text string, now time.Time) (at time.Time, wrong string) {
	at, ok := sinceEpoch(text)
	if !ok {
		text = strings.TrimSuffix(strings.TrimSuffix(text, " UTC"), " GMT")
		for _, layout := range []string{
			time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
			"2006-01-02T15:04:05Z0700", time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05",
		} {
			var err error
			if at, err = time.Parse(layout, text); err == nil {
				ok = true
				break
			}
		}
	}
	if !ok {
		return time.Time{}, "must be an instant, such as 2026-01-31T09:00:00Z or 2026-01-31 09:00:00, which is UTC"
	}
	if at.After(now) {
		return time.Time{}, "must not be in the future"
	}
	at, _, wrong = weir.ParseInstant(at.UTC().Format(time.RFC3339Nano))
	return at, wrong
}

// sinceEpoch parses seconds since 1970, which may have a fraction, or milliseconds.
func sinceEpoch(text string) (time.Time, bool) {
	const milliseconds = 100_000_000_000 // as seconds, the year 5138
	if strings.Trim(text, "0123456789.") != "" || len(text) < len("100000000") {
		return time.Time{}, false // a shorter one is no instant of a refusal: 20260131
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n >= milliseconds*1000 {
		return time.Time{}, false
	}
	if n < milliseconds {
		n *= 1000
	}
	return time.UnixMilli(int64(math.Round(n))).UTC(), true
}
