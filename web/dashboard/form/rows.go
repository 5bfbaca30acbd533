package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/web/dashboard/locale"
)

// A field may ask for objects, each in a row of inputs of its own: see [Field.Each]. Rows in which nothing is filled in
// are left out of the body, so that the rows of the API are counted without them.

// row returns the form of a row, whose mistakes stand among those of the whole form.
func (d *Declaration) row(names string, number int, whole *Form) *Form {
	row := d.renamed(func(name string) string { return fmt.Sprintf(names, number, name) }).New(false)
	row.Number, row.Mistakes = number, whole.Mistakes
	return row
}

// blank reports whether nothing is filled in, but for what always has a value.
func (f *Form) blank() bool {
	return !slices.ContainsFunc(f.Inputs, func(in *Input) bool { return in.Kind != Select && in.Value != "" })
}

// filled returns the rows of which the body has an object.
func (in *Input) filled() (list []*Form) {
	for _, row := range in.Table {
		if !row.blank() {
			list = append(list, row)
		}
	}
	return list
}

// Lead returns the rows that are always shown.
func (in *Input) Lead() []*Form {
	if in.First == 0 {
		return in.Table
	}
	return in.Table[:in.First]
}

// Tail returns the rows that are folded.
func (in *Input) Tail() []*Form { return in.Table[len(in.Lead()):] }

// Unfolded reports whether a folded row is filled in.
func (in *Input) Unfolded() bool {
	return slices.ContainsFunc(in.Tail(), func(row *Form) bool { return !row.blank() })
}

// RowTitle returns the name of a row, for those who do not see that its inputs stand together.
func (in *Input) RowTitle(l *locale.Locale, row *Form) string {
	if in.Kind == Group {
		return l.T(in.Label)
	}
	return l.T(in.Label, row.Number)
}

// Helped returns the inputs that have a help text.
func (f *Form) Helped() []*Input {
	return slices.DeleteFunc(slices.Clone(f.Inputs), func(in *Input) bool { return !in.Describes() })
}

// showRows fills in a list of objects, or one alone.
func (in *Input) showRows(v any) {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	for i, row := range in.Table {
		var members map[string]any
		if i < len(list) {
			members, _ = list[i].(map[string]any)
		}
		for _, cell := range row.Inputs {
			cell.show(at(members, cell.place()))
		}
	}
}

// objects returns what the rows make: a list, one object, or one whose members are named in the rows; nil: nothing.
func (in *Input) objects() any {
	var list []any
	named := map[string]any{}
	for _, row := range in.filled() {
		if in.Kind == Group {
			return row.Body()
		}
		list = append(list, row.Body())
		if in.Kind == Named && row.Inputs[1].Value != "" {
			named[row.Inputs[0].Value] = row.Inputs[1].Value
		}
	}
	switch {
	case in.Kind == Named && len(named) > 0:
		return named
	case in.Kind == Rows && list != nil:
		return list
	}
	return nil
}

// cell returns the input that the rest of a pointer into the rows is about; nil: none.
func (in *Input) cell(parts []string) *Input {
	rows := in.filled()
	switch in.Kind {
	case Named:
		if i := slices.IndexFunc(rows, func(row *Form) bool { return len(parts) == 1 && row.Inputs[0].Value == parts[0] }); i >= 0 {
			return rows[i].Inputs[1]
		}
		return nil
	case Group:
		rows = in.Table
	default:
		if len(parts) == 0 {
			return nil
		}
		i, err := strconv.Atoi(parts[0])
		if err != nil || i < 0 || i >= len(rows) {
			return nil
		}
		rows, parts = rows[i:], parts[1:]
	}
	cell, _ := rows[0].find(parts)
	return cell
}

// dates returns the objects of lines that begin with a date, and may then have a name.
func (in *Input) dates() (list []any) {
	for _, line := range in.dateLines() {
		date, name, _ := strings.Cut(line.text, " ")
		one := map[string]any{"date": date}
		if name = strings.TrimSpace(name); name != "" {
			one["name"] = name
		}
		list = append(list, one)
	}
	return list
}

type dateLine struct {
	number int // from 1
	text   string
}

func (in *Input) dateLines() (list []dateLine) {
	for i, line := range strings.Split(in.Value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, dateLine{i + 1, line})
		}
	}
	return list
}

// showDates returns the lines of dates with names.
func showDates(list []any) string {
	var lines []string
	for _, v := range list {
		one, _ := v.(map[string]any)
		date, _ := one["date"].(string)
		name, _ := one["name"].(string)
		lines = append(lines, strings.TrimSpace(date+" "+name))
	}
	return strings.Join(lines, "\n")
}

// where says which part of the value the rest of a pointer is about, in front of a mistake; empty: nothing is to be said.
func (in *Input) where(l *locale.Locale, parts []string) string {
	switch {
	case in.Called != "":
		return l.T(in.Called)
	case len(parts) == 0 || parts[0] == "":
		return ""
	case in.Kind == JSON:
		return strings.Join(parts, "/")
	case in.Kind == Dates:
		lines := in.dateLines()
		if i, err := strconv.Atoi(parts[0]); err == nil && i >= 0 && i < len(lines) {
			return l.T("line %d", lines[i].number)
		}
	}
	return ""
}

// digest sets the value that shows whether the rows were changed.
func (in *Input) digest() {
	in.Value = ""
	if v := in.objects(); v != nil {
		raw, _ := json.Marshal(v) // of texts and numbers it cannot fail
		in.Value = string(raw)
	}
}
