// Package columns has what the statements of all stores are made of: placeholders, Go
// values as columns hold them, and bounds.
package columns

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
)

// TextOrNull returns NULL for an empty text, which costs less to bind.
func TextOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func Number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// AppendString adds a text behind its length.
func AppendString[T ~string](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// IsPlain reports whether a text is the same in JSON.
func IsPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Micros is how the store keeps an instant; 0 is none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func Instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return weir.InstantOf(max(us, 1)) // 0 would be none when it is written again
}

// Clip makes a provider's text fit its column.
func Clip(s string) string { return ClipTo(s, maxText) }

// ClipTo makes a text valid, and at most so many characters long.
func ClipTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}

// DecodeTexts reads a JSON object of texts. A value of another kind, which a
// newer version may have stored, becomes its JSON.
func DecodeTexts(text string) (map[string]string, error) {
	if text == "" || text == "{}" {
		return nil, nil
	}
	var out map[string]string
	if json.Unmarshal([]byte(text), &out) == nil {
		return out, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, err
	}
	out = make(map[string]string, len(values))
	for name, raw := range values {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		out[name] = s
	}
	return out, nil
}

func Arguments[T ~int64](found []T) []any {
	args := make([]any, len(found))
	for i, id := range found {
		args[i] = int64(id)
	}
	return args
}

// Marks is n placeholders in parentheses: (?, ?, ?).
func Marks(n int) string {
	return "(?" + strings.Repeat(", ?", n-1) + ")"
}

// RowsOf is count rows of n placeholders each.
func RowsOf(count, n int) string {
	row := Marks(n)
	return row + strings.Repeat(", "+row, count-1)
}

// maxText is how many characters of a provider's text are kept.
const maxText = 512

// Bounds of one statement.
const (
	PurgeChunk  = 500 // rows that one transaction of a purge deletes
	KeysPerList = 500 // keys in a list
)

// Bounds of a page of contacts.
const (
	DefaultPage = 100
	MaxPage     = 1000
	MaxExamined = 10_000 // rows that one call reads
	SeekCost    = 10     // what an index seek counts as

	// MaxSearched bounds the contacts that one call examines for an address. No index that
	// acceptance writes has addresses: they come in no order, so that each insert would dirty
	// one more page, for a question that is asked a few times a day. The index that is written
	// in the background has all but the newest.
	MaxSearched = 100_000
)

// EventsPerRow is how many events one row holds at most.
const EventsPerRow = 512
