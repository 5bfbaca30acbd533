package people

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir"
	"weir/people"
	"weir/web/imports"
)

// Limits of a consent, in characters, and of the name of a run, in bytes.
const (
	maxAddress = 255
	maxWords   = 500
	maxRun     = 200
)

// consentRows makes consents of the rows of CSV.
type consentRows struct {
	by     string
	run    string
	known  map[string]*people.Purpose
	now    func() time.Time
	scales *regexp.Regexp // a number as a spreadsheet rounds it
}

func newConsentRows(by, run string, known map[string]*people.Purpose, now func() time.Time) *consentRows {
	return &consentRows{by, run, known, now, regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)?[eE]\+?[0-9]+$`)}
}

// consent returns what a row says. One without a status says nothing: the person has not opted out.
func (r *consentRows) consent(columns []imports.Column, cells []string) (people.Consent, *imports.Mistake) {
	one := people.Consent{Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport, By: r.by}
	for i, value := range cells {
		if value = strings.TrimSpace(value); value == "" && columns[i].Field != fieldTo && columns[i].Field != fieldStatus {
			continue
		}
		var wrong string
		switch columns[i].Field {
		case fieldTo:
			wrong = r.wrongAddress(value)
			one.Address = people.Canonical(value)
		case fieldStatus:
			one.Status, wrong = statusOf(columns[i].Header, value)
		case fieldAt:
			one.At, wrong = parseInstant(value, r.now())
		case fieldWords:
			if one.Words = value; utf8.RuneCountInString(value) > maxWords {
				wrong = fmt.Sprintf("has more than %d characters", maxWords)
			}
		case fieldPurpose:
			if one.Purpose = value; value != people.AllPurposes && people.CheckPurpose("", value, r.known) != nil {
				wrong = "is not a purpose"
			}
		}
		if wrong != "" {
			return people.Consent{}, &imports.Mistake{Column: columns[i].Header, Reason: wrong}
		}
	}
	one.Key = r.key(&one)
	return one, nil
}

// wrongAddress returns why a text cannot be an address; empty: it can be. A refusal under an
// address that nobody has would be lost without notice.
func (r *consentRows) wrongAddress(text string) string {
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
	case !people.IsNumber(people.Canonical(text)) && strings.ContainsFunc(text, unicode.IsSpace):
		return "is no phone number, and another address has no blanks"
	}
	return ""
}

// key returns the idempotency key of a row: a hash of what it says of whom. The same row in a list that is imported
// again has the same key, however its number is written.
func (r *consentRows) key(c *people.Consent) string {
	at := ""
	if !c.At.IsZero() {
		at = c.At.Format(time.RFC3339Nano)
	}
	text := c.Address + "\n" + string(c.Status) + "\n" + at
	if c.Purpose != people.AllPurposes {
		text += "\n" + c.Purpose
	}
	sum := sha256.Sum256([]byte(text))
	run := r.run
	if run != "" {
		run += ":"
	}
	return clientKey + "import:" + run + hex.EncodeToString(sum[:16])
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
