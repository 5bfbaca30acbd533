package files

import (
	"net/url"
	"slices"
	"strings"

	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// Column is a column of a file, with what it is sent as.
type Column struct {
	Header string   // as in the file
	Field  string   // empty: it is not sent
	Name   string   // if the field is a named one
	Values []string // the first ones
}

// ColumnField is what a column can be.
type ColumnField struct {
	page.Option
	Required bool // a column must be it
	Many     bool // several columns can be it
	Named    bool // each column that is it has a name
}

// Rules are what the columns of a file can be.
type Rules struct {
	Fields []ColumnField
	Max    int // columns
	// NameOf proposes the name of a column, and nameRule returns what is wrong with a name.
	NameOf   func(header string) string
	NameRule func(name string) string
}

// Choices returns what people can choose for a column.
func (r *Rules) Choices(l *locale.Locale) []page.Option {
	list := []page.Option{{Value: "", Text: l.T("not sent")}}
	for _, f := range r.Fields {
		list = append(list, f.Option)
	}
	return list
}

func (r *Rules) field(value string) (ColumnField, bool) {
	i := slices.IndexFunc(r.Fields, func(f ColumnField) bool { return f.Value == value })
	if i < 0 {
		return ColumnField{}, false
	}
	return r.Fields[i], true
}

// choose gives the columns the fields and names of a form, and reports whether it has those of all.
func (r *Rules) choose(columns []Column, form url.Values) bool {
	fields, names := form["column"], form["column_name"]
	if len(fields) != len(columns) {
		return false
	}
	for i := range columns {
		columns[i].Field = fields[i]
		if len(names) == len(columns) {
			columns[i].Name = strings.TrimSpace(names[i])
		}
	}
	return true
}

// mistakes returns what is wrong with a mapping; empty: nothing.
func (r *Rules) mistakes(l *locale.Locale, columns []Column) (list []string) {
	count, names := map[string]int{}, map[[2]string]bool{}
	for i, c := range columns {
		count[c.Field]++
		f, ok := r.field(c.Field)
		if !ok && c.Field != "" {
			list = append(list, l.T("Column %d has an unknown field.", i+1))
		}
		if !f.Named {
			continue
		}
		if why := r.NameRule(c.Name); why != "" {
			list = append(list, l.T("Column %d: %s.", i+1, why))
		} else if names[[2]string{c.Field, c.Name}] {
			list = append(list, l.T("Column %d: another column is the %s %s already.", i+1, f.Text, c.Name))
		}
		names[[2]string{c.Field, c.Name}] = true
	}
	for _, f := range r.Fields {
		switch n := count[f.Value]; {
		case f.Required && n == 0:
			list = append(list, l.T("No column has the %s.", f.Text))
		case n > 1 && !f.Many:
			list = append(list, l.T("%d columns have the same field: %s.", n, f.Text))
		}
	}
	return list
}
