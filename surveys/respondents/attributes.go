package respondents

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/internal/phonenumber"
	"weir/internal/validation"
)

// NameRule is the rule for the names of attributes, for error messages.
const NameRule = "the name of an attribute begins with a letter and has up to 63 of a-z, 0-9 and _"

// ReasonNoRegion is why a number without a country code is refused in a survey without a region.
const ReasonNoRegion = phonenumber.ReasonNoCountry

var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// ValidName reports whether a name satisfies [NameRule].
func ValidName(name string) bool { return attributeName.MatchString(name) }

// Fields that templates resolve although they are not attributes.
const (
	FieldRespondent = "respondent" // the respondent's id
	FieldToken      = "token"      // the id and an unguessable code; an attribute of this name takes precedence
	FieldSurvey     = "survey"
	FieldAttempt    = "attempt" // number of the attempt in its mode
	FieldMode       = "mode"
	FieldTimeZone   = "time_zone" // an attribute that says in which IANA zone the person lives
	FieldPhone      = "phone"     // the column of the import; no template may show it
)

// BuiltIn reports whether templates resolve a name without an attribute.
func BuiltIn(name string) bool {
	return name == FieldRespondent || name == FieldSurvey || name == FieldAttempt || name == FieldMode
}

// RowOf makes a row of a respondent from a request body, under the same rules as a
// row of a file. Attributes are as JSON decoding yields them. Pointers are relative
// to the respondent. A row with mistakes contains its valid values.
func RowOf(phone string, attributes map[string]any, region string) (Row, []weir.FieldError) {
	var m validation.Errors
	var row Row
	var err error
	if row.Phone, err = phonenumber.Normalize(phone, region); err != nil {
		m.Add("/phone", "format", "%v", err)
	}
	values, wrong := Attributes(attributes)
	m.AddPart("/attributes", wrong)
	row.Attributes = values
	return row, m
}

// Attributes checks attributes, as JSON decoding yields them, and returns the
// nonempty ones as texts. Pointers are relative to the attributes.
func Attributes(attributes map[string]any) (map[string]string, []weir.FieldError) {
	var m validation.Errors
	if len(attributes) > MaxAttributes {
		m.Add("", "length", "must have at most %d attributes", MaxAttributes)
		return nil, m
	}
	out := make(map[string]string, len(attributes))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		c, err := scalar(name, attributes[name])
		if err == nil && name == FieldPhone {
			err = errors.New("is not an attribute")
		}
		if err == nil {
			c.value, err = valueOf(name, c.value, map[string]bool{})
		}
		if err != nil {
			m.Add("/"+validation.Token(name), "format", "%v", err)
		} else if c.value != "" {
			out[name] = c.value
		}
	}
	return out, m
}

// valueOf returns the value of an attribute as it is stored. It adds names of zones to the known.
func valueOf(name, value string, known map[string]bool) (string, error) {
	switch value = strings.TrimSpace(value); {
	case utf8.RuneCountInString(value) > MaxAttribute:
		return "", fmt.Errorf("has more than %d characters", MaxAttribute)
	case name == FieldTimeZone && value != "" && !known[value]:
		zone, err := phonenumber.LoadZone(value)
		if err != nil {
			return "", err
		}
		value = zone.String()
		known[value] = true
	}
	return value, nil
}

// Bounds of rows.
const (
	MaxAttributes = 100
	MaxAttribute  = 500 // characters of a value
)

// Row is one respondent of a file.
type Row struct {
	Phone      string // E.164
	Attributes map[string]string
}

type cell struct{ name, value string }

// scalar returns the cell of a key and its value.
func scalar(name string, value json.Token) (cell, error) {
	c := cell{name: name}
	if !ValidName(name) {
		return cell{}, errors.New(NameRule)
	}
	if BuiltIn(name) {
		return c, errors.New("is the name of a template field")
	}
	switch v := value.(type) {
	case string:
		c.value = v
		if strings.IndexByte(v, 0) >= 0 {
			return c, errNUL
		}
	case json.Number:
		c.value = v.String()
	case bool:
		c.value = fmt.Sprint(v)
	case nil:
	default:
		return c, errors.New("must be a text, a number, true, false or null")
	}
	return c, nil
}
