package weir

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Number returns a number of decoded JSON; ok is false for any other value, and for a number
// that a float64 cannot hold. Numbers are decoded as [json.Number], because others lose digits.
func Number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64: // of a document that was not decoded from a client's text
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// ExactNumber is [Number] for values that are kept as a float64: ok is false, too, if that has
// other digits.
func ExactNumber(v any) (n float64, ok bool) {
	n, ok = Number(v)
	text, isText := v.(json.Number)
	return n, ok && (!isText || digits(string(text)) == digits(strconv.FormatFloat(n, 'e', -1, 64)))
}

// digits returns the significant digits of a number.
func digits(number string) string {
	number, _, _ = strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	return strings.Trim(whole+fraction, "0")
}
