package respondents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/internal/phonenumber"
	"weir/internal/validation"
)

// Rows makes respondents of the rows of a file. It is not for concurrent use.
type Rows struct {
	region string          // of numbers without a country code
	zones  map[string]bool // names of time zones so far
}

// NewRows returns what makes respondents of rows, with a region for numbers without a country code.
func NewRows(region string) *Rows { return &Rows{region, map[string]bool{}} }

// OfCells returns the respondent of a row of CSV. names has an attribute, or phone, for each cell;
// empty: it is ignored. The error has no line.
func (r *Rows) OfCells(names, cells []string) (Row, *RowError) {
	list := make([]cell, 0, len(cells))
	for i, value := range cells {
		if names[i] != "" {
			list = append(list, cell{names[i], value})
		}
	}
	return r.of(list)
}

// OfObject returns the respondent of a line of NDJSON: a flat object. The error has no line.
func (r *Rows) OfObject(text string) (Row, *RowError) {
	list, bad := parseFlatObject(text)
	if bad != nil {
		return Row{}, bad
	}
	return r.of(list)
}

func (r *Rows) of(cells []cell) (Row, *RowError) {
	row := Row{Attributes: make(map[string]string, len(cells))}
	phone := ""
	for _, c := range cells {
		if c.name == FieldPhone {
			phone = strings.TrimSpace(c.value)
			continue
		}
		value, err := valueOf(c.name, c.value, r.zones)
		if err != nil {
			return Row{}, &RowError{Column: c.name, Reason: err.Error()}
		}
		if value != "" {
			row.Attributes[c.name] = value
		}
	}
	var err error
	if row.Phone, err = phonenumber.Normalize(phone, r.region); err != nil {
		return Row{}, &RowError{Column: FieldPhone, Reason: err.Error()}
	}
	return row, nil
}

// NameOf converts the header of a column to the name of an attribute: "First Name" becomes
// first_name. It may not be a valid one.
func NameOf(header string) string {
	header = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(header)), ResultPrefix)
	return strings.NewReplacer(" ", "_", "-", "_").Replace(header)
}

// parseFlatObject parses a flat object of texts, numbers, booleans and nulls.
func parseFlatObject(text string) ([]cell, *RowError) {
	bad := &RowError{Reason: "is not one JSON object"}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, bad
	}
	var out []cell
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, bad
		}
		name, _ := key.(string)
		value, err := d.Token()
		if err != nil {
			return nil, bad
		}
		if IsRemark(name) {
			continue
		}
		c, err := scalar(name, value)
		if err == nil && slices.ContainsFunc(out, func(o cell) bool { return o.name == c.name }) {
			err = errors.New("is listed twice")
		}
		// One more cell than attributes, because phone is among them.
		if err == nil && len(out) > MaxAttributes {
			err = fmt.Errorf("has more than %d attributes", MaxAttributes)
		}
		if err != nil {
			return nil, &RowError{Column: validation.Clip(c.name), Reason: err.Error()}
		}
		out = append(out, c)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return nil, bad
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, bad
	}
	return out, nil
}
