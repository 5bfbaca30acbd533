package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// column is a column of a file, with what it is sent as.
type column struct {
	Header string   // as in the file
	Field  string   // empty: it is not sent
	Name   string   // if the field is a named one
	Values []string // the first ones
}

// columnField is what a column can be.
type columnField struct {
	page.Option
	required bool // a column must be it
	many     bool // several columns can be it
	named    bool // each column that is it has a name
}

// columnRules are what the columns of a file can be.
type columnRules struct {
	fields []columnField
	max    int // columns
	// nameOf proposes the name of a column, and nameRule returns what is wrong with a name.
	nameOf   func(header string) string
	nameRule func(name string) string
}

// Choices returns what people can choose for a column.
func (r *columnRules) Choices(l *locale.Locale) []page.Option {
	list := []page.Option{{Value: "", Text: l.T("not sent")}}
	for _, f := range r.fields {
		list = append(list, f.Option)
	}
	return list
}

func (r *columnRules) field(value string) (columnField, bool) {
	i := slices.IndexFunc(r.fields, func(f columnField) bool { return f.Value == value })
	if i < 0 {
		return columnField{}, false
	}
	return r.fields[i], true
}

// choose gives the columns the fields and names of a form, and reports whether it has those of all.
func (r *columnRules) choose(columns []column, form url.Values) bool {
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
func (r *columnRules) mistakes(l *locale.Locale, columns []column) (list []string) {
	count, names := map[string]int{}, map[[2]string]bool{}
	for i, c := range columns {
		count[c.Field]++
		f, ok := r.field(c.Field)
		if !ok && c.Field != "" {
			list = append(list, l.T("Column %d has an unknown field.", i+1))
		}
		if !f.named {
			continue
		}
		if why := r.nameRule(c.Name); why != "" {
			list = append(list, l.T("Column %d: %s.", i+1, why))
		} else if names[[2]string{c.Field, c.Name}] {
			list = append(list, l.T("Column %d: another column is the %s %s already.", i+1, f.Text, c.Name))
		}
		names[[2]string{c.Field, c.Name}] = true
	}
	for _, f := range r.fields {
		switch n := count[f.Value]; {
		case f.required && n == 0:
			list = append(list, l.T("No column has the %s.", f.Text))
		case n > 1 && !f.many:
			list = append(list, l.T("%d columns have the same field: %s.", n, f.Text))
		}
	}
	return list
}
