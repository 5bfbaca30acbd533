package imports

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/internal/digest"
	"weir/internal/validation"
	"weir/surveys/respondents"
)

// MaxColumns is the usual max number of columns of a file.
const MaxColumns = 100

// Field is what a column can be.
type Field struct {
	// Name ends in a dot if each column that is the field has a name of its own: "label." is
	// that of a column label.ward.
	Name     string
	Headers  []string // of columns that usually are it, as [respondents.PlainHeader] returns them
	Required bool     // a column must be it
	Missing  string   // what to say if none is; empty: that none is
	Many     bool     // several columns can be it

	// NameOf returns the name that a column has if it is a named field and its header suggests no
	// other; false: it suggests none. nil: only a header that begins with the name of the field does.
	NameOf func(header string) (string, bool)
	Wrong  func(name string) string // what is wrong with a name; nil: nothing, if there is one
}

// named reports whether each column that is the field has a name.
func (f *Field) named() bool { return strings.HasSuffix(f.Name, ".") }

// wrong returns what is wrong with the name of a column.
func (f *Field) wrong(name string) string {
	if f.Wrong == nil {
		return ""
	}
	return f.Wrong(name)
}

// Column is a column of a file.
type Column struct {
	Header string // as in the file
	Field  string // that it is; empty: it is left out
}

// Rest is the choice for all columns that are not chosen and whose headers say nothing: they are
// left out, instead of being a mistake.
const Rest = "*"

// choice is an item of the parameter columns: COLUMN=FIELD.
type choice struct {
	column int    // from 1 on; 0: by its header
	header string // as [respondents.PlainHeader] returns it
	text   string // the column as it was named
	field  string // empty: it is left out
}

// Map says what the columns of a file are, at most limit: as chosen, and the others as their headers suggest.
// chosen is a list as of [respondents.SplitList], each item a COLUMN=FIELD. COLUMN is a header, #N
// for the column of that number, or [Rest]; without a FIELD it is left out. The pointers of mistakes
// are /columns, and /columns/N for one about a column, counted from 0.
func Map(fields []Field, limit int, headers []string, chosen string) (columns []Column, wrong []weir.FieldError) {
	if len(headers) > limit {
		columns = make([]Column, len(headers))
		for i, header := range headers {
			columns[i].Header = header
		}
		return columns, []weir.FieldError{{Pointer: "/columns", Code: "length", Detail: fmt.Sprintf("the file has %d columns; at most %d are allowed", len(headers), limit)}}
	}
	m := mapping{fields: fields, columns: make([]Column, len(headers)), settled: make([]bool, len(headers)), taken: map[string]int{}}
	for i, header := range headers {
		m.columns[i].Header = header
		m.settled[i] = respondents.IsRemark(strings.ToLower(strings.TrimSpace(header)))
	}
	rest, choices := m.parse(chosen)
	for _, c := range choices {
		m.choose(c)
	}
	m.guess(rest)
	for _, f := range fields {
		if f.Required && m.taken[f.Name] == 0 {
			m.refuse("/columns", "required", cmp.Or(f.Missing, "no column is "+f.Name))
		}
	}
	return m.columns, m.wrong
}

// mapping is a Map on its way.
type mapping struct {
	fields  []Field
	columns []Column
	settled []bool
	taken   map[string]int // how many columns are a field, and one of a name
	wrong   []weir.FieldError
}

func (m *mapping) refuse(pointer, code, detail string) {
	m.wrong = append(m.wrong, weir.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// parse reads the choices.
func (m *mapping) parse(chosen string) (rest bool, list []choice) {
	if chosen == "" {
		return false, nil
	}
	items, err := respondents.SplitList(chosen)
	if err != nil {
		m.refuse("/columns", "format", "must be a list of COLUMN=FIELD, separated by commas: "+err.Error())
		return false, nil
	}
	for _, item := range items {
		number, field, _ := strings.Cut(item, "=")
		if text, ok := strings.CutPrefix(number, "#"); ok {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				list = append(list, choice{column: n, text: number, field: field})
				continue
			}
		}
		at := strings.LastIndexByte(item, '=') // a header may have one, too
		switch {
		case at < 0:
			m.refuse("/columns", "format", "each item must be COLUMN=FIELD, or COLUMN= for one that is left out")
		case strings.TrimSpace(item[:at]) == Rest && item[at+1:] == "":
			rest = true
		default:
			list = append(list, choice{header: respondents.PlainHeader(item[:at]), text: item[:at], field: item[at+1:]})
		}
	}
	return rest, list
}

// choose gives a column its field.
func (m *mapping) choose(c choice) {
	found := false
	for i := range m.columns {
		if i+1 != c.column && (c.column > 0 || respondents.PlainHeader(m.columns[i].Header) != c.header) {
			continue
		}
		found = true
		if c.field == "" {
			m.settled[i] = true
			continue
		}
		f, name, ok := m.field(c.field)
		if !ok {
			m.settled[i] = true
			m.refuse(at(i), "unknown", "has an unknown field")
			continue
		}
		if m.columns[i].Field != "" {
			m.refuse(at(i), "duplicate", "is chosen as two fields")
			continue
		}
		m.take(i, f, name)
	}
	if !found {
		m.refuse("/columns", "unknown", "the file has no column "+validation.Clip(strings.TrimSpace(c.text)))
	}
}

// field returns the field of a name such as to, or label.ward.
func (m *mapping) field(text string) (f *Field, name string, ok bool) {
	for i := range m.fields {
		f := &m.fields[i]
		if name, ok := strings.CutPrefix(text, f.Name); ok && f.named() {
			return f, name, true
		}
		if f.Name == text {
			return f, "", true
		}
	}
	return nil, "", false
}

// take settles that a column is a field.
func (m *mapping) take(i int, f *Field, name string) {
	m.settled[i] = true
	m.taken[f.Name]++
	full := f.Name + name
	why := f.wrong(name)
	switch {
	case why != "":
		m.refuse(at(i), "format", why)
	case f.named() && name == "":
		m.refuse(at(i), "required", "needs a name, such as "+f.Name+"name")
	case f.named() && m.taken[full] > 0, !f.named() && !f.Many && m.taken[f.Name] > 1:
		m.refuse(at(i), "duplicate", "is what another column is already")
	}
	if f.named() {
		m.taken[full]++
	}
	m.columns[i].Field = full
}

// guess gives the columns that are not settled the fields that their headers suggest. rest: those
// that suggest none, or one that another column is, are left out.
func (m *mapping) guess(rest bool) {
	for i := range m.columns {
		if m.settled[i] {
			continue
		}
		f, name := m.suggested(m.columns[i].Header)
		switch {
		case f == nil && !rest:
			m.refuse(at(i), "unknown", "is not understood: name what it is, or leave it out")
		case f == nil:
		case rest && (!f.Many && m.taken[f.Name] > 0 || f.wrong(name) != ""):
		default:
			m.take(i, f, name)
		}
	}
}

// suggested returns the field that a header suggests; nil: none.
func (m *mapping) suggested(header string) (f *Field, name string) {
	plain, text := respondents.PlainHeader(header), strings.TrimSpace(header)
	for i := range m.fields {
		f := &m.fields[i]
		if n := len(f.Name); f.named() && len(text) > n && strings.EqualFold(text[:n], f.Name) {
			return f, text[n:]
		}
		if slices.Contains(f.Headers, plain) {
			return f, ""
		}
	}
	for i := range m.fields {
		if f := &m.fields[i]; f.NameOf != nil {
			if name, ok := f.NameOf(header); ok {
				return f, name
			}
		}
	}
	return nil, ""
}

// Sum identifies the columns of a file, in their order.
func Sum(headers []string) string {
	sum := digest.Of(headers...)
	return hex.EncodeToString(sum[:8])
}

func at(column int) string { return "/columns/" + strconv.Itoa(column) }

// Choices returns the parameter columns that says what each column is, by its number.
func Choices(columns []Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "#" + strconv.Itoa(i+1) + "=" + c.Field
	}
	return respondents.JoinList(items)
}
