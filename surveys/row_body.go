package surveys

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
)

// RowOf makes a row of a respondent from a request body, under the same rules as a
// row of a file. Attributes are as JSON decoding yields them. Pointers are relative
// to the respondent. A row with mistakes contains its valid values.
func RowOf(phone string, attributes map[string]any, region string) (Row, []weir.FieldError) {
	var m fieldErrors
	var row Row
	var err error
	if row.Phone, err = NormalizePhone(phone, region); err != nil {
		m.add("/phone", "format", "%v", err)
	}
	values, wrong := Attributes(attributes)
	m.in("/attributes", wrong)
	row.Attributes = values
	return row, m
}

// Attributes checks attributes, as JSON decoding yields them, and returns the
// nonempty ones as texts. Pointers are relative to the attributes.
func Attributes(attributes map[string]any) (map[string]string, []weir.FieldError) {
	var m fieldErrors
	if len(attributes) > MaxAttributes {
		m.add("", "length", "must have up to %d attributes", MaxAttributes)
		return nil, m
	}
	out := make(map[string]string, len(attributes))
	for _, name := range sortedKeys(attributes) {
		value := attributes[name]
		if f, ok := value.(float64); ok {
			value = json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
		c, err := scalar(name, value)
		if err == nil && name == fieldPhone {
			err = errors.New("is not an attribute")
		}
		if c.value = strings.TrimSpace(c.value); err == nil && utf8.RuneCountInString(c.value) > MaxAttribute {
			err = fmt.Errorf("has more than %d characters", MaxAttribute)
		}
		if err != nil {
			m.add("/"+token(name), "format", "%v", err)
		} else if c.value != "" {
			out[name] = c.value
		}
	}
	return out, m
}
