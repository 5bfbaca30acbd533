// Package form holds forms as data. A [Field] says in which words a member of a body of the API is
// asked for; how it is entered, and within which bounds, follows from the member's type and tags. A
// [Form] is one as it was filled in: it shows a document, makes the body, and places each mistake
// that the API finds beside the field that it is about.
//
// The API alone decides what is right. A form sends what was typed, a number that is none too, so
// that all mistakes come from one place and at once.
package form

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/web/dashboard/locale"
)

// Kind is how a value is entered.
type Kind string

// Kinds of fields. That of a member follows from its type unless its field says another.
const (
	Text     Kind = "text"
	Amount   Kind = "amount" // a decimal number, as a text
	Number   Kind = "number" // a whole one
	Real     Kind = "real"   // a number that may have a fraction
	Code     Kind = "code"   // a text that no browser should correct
	Phone    Kind = "phone"
	URL      Kind = "url"
	Area     Kind = "area"   // lines of text
	Script   Kind = "script" // lines that no browser should correct
	JSON     Kind = "json"   // an object, as its text
	Words    Kind = "words"  // texts, separated by blanks or lines
	List     Kind = "list"   // texts, separated by commas
	Checks   Kind = "checks" // some of some choices
	Select   Kind = "select" // one of some choices
	Switch   Kind = "switch" // yes or no
	Secret   Kind = "secret" // a text that is never shown again
	Moment   Kind = "moment" // a date and a time, in UTC
	Zone     Kind = "zone"   // a time zone
	Pairs    Kind = "pairs"  // an object of texts, as lines NAME=VALUE
	TextList Kind = "texts"  // texts, each of which may have lines
	Clock    Kind = "clock"  // a time of a day
	Only     Kind = "only"   // a list of one choice, or none
	Dates    Kind = "dates"  // objects of a date and a name, as lines DATE NAME
	Rows     Kind = "rows"   // objects, each in a row
	Group    Kind = "group"  // one object, in a row
	Named    Kind = "named"  // an object whose members are rows of a name and a text
)

// Field asks for a member of a body.
type Field struct {
	Name       string // of the input, and of the member unless At says where that is
	Label      locale.Message
	In         string         // follows the label: the language, if there is a field for each
	Help       locale.Message // may have tags
	Example    string         // in the help, as %s
	Head, Note locale.Message // of a part of the form that begins here
	Kind       Kind
	Rows       int    // of lines
	Size       int    // of characters that are seen
	Upper      bool   // it is written in capital letters
	Create     bool   // it is asked for in the form of a new document alone, and is no member: its name
	Required   bool   // the browser demands it
	Folded     bool   // it is shown on demand, with those beside it
	All        bool   // all mistakes are shown, not the first alone: it has several values
	Item       string // begins the ids of its choices; empty: Name
	Wide       bool   // its choices have long names
	Min, Max   int    // of a number
	MaxLength  int
	Values     []string         // choices of the schema
	Labels     []locale.Message // of the choices, in their order; nil: they are shown as they are
	Unset      locale.Message   // the choice of none; empty: it names the default

	At           []string // where the body has it; nil: the member of its name
	Words, Hints string   // label and help of a field that the API describes, in its words
	Default      string
	Called       locale.Message // begins its mistakes, which stand together with those of its neighbors

	Each     *Declaration   // of a row of an object
	Names    string         // of the inputs of a row: with its number, %[1]d, and the name of its field, %[2]s
	From     int            // number of the first row; 0: 1
	Count    int            // of rows; 0: 1
	First    int            // rows that are not folded; 0: all
	MoreRows locale.Message // opens those that are

	Needed bool // it says that it is required
}

// place returns where the body has the field.
func (f *Field) place() []string {
	if f.At != nil {
		return f.At
	}
	return []string{f.Name}
}

// Declaration is a kind of form.
type Declaration struct {
	Fields []Field
	keep   []string // members that the form does not show, and leaves as they are
	body   reflect.Type
}

// Of returns the declaration of a form for bodies of the type of one. The members in keep are not
// asked for.
//
// It is no generic function: where the type of its argument is not known, as in the search for the
// messages of the source, the fields still are.
func Of(body any, keep []string, fields ...Field) *Declaration {
	d := &Declaration{Fields: fields, keep: keep, body: reflect.TypeOf(body)}
	for i := range fields {
		f := &fields[i]
		if member, ok := d.member(f.place()[0]); ok && len(f.place()) == 1 && !f.Create {
			f.derive(&member)
		}
		f.All = f.All || f.Kind == Checks
	}
	return d
}

// members returns the members of the body, also those of structs in it that have no name.
func (d *Declaration) members() (list []reflect.StructField) {
	for _, member := range reflect.VisibleFields(d.body) {
		if name := memberName(&member); name != "" && name != "-" {
			list = append(list, member)
		}
	}
	return list
}

func memberName(f *reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func (d *Declaration) member(name string) (reflect.StructField, bool) {
	for _, member := range d.members() {
		if memberName(&member) == name {
			return member, true
		}
	}
	return reflect.StructField{}, false
}

// derive sets what the field does not say itself, from a member's type and tags.
func (f *Field) derive(member *reflect.StructField) {
	bound := func(own int, tag string) int {
		if n, err := strconv.Atoi(member.Tag.Get(tag)); err == nil && own == 0 {
			return n
		}
		return own
	}
	f.Min, f.Max, f.MaxLength = bound(f.Min, "minimum"), bound(f.Max, "maximum"), bound(f.MaxLength, "maxLength")
	if enum := member.Tag.Get("enum"); enum != "" && f.Values == nil {
		f.Values = strings.Split(enum, ",")
	}
	if f.Kind == "" {
		f.Kind = f.kindOf(member)
	}
}

func (f *Field) kindOf(member *reflect.StructField) Kind {
	of := member.Type
	if of.Kind() == reflect.Pointer { // a member of a patch
		of = of.Elem()
	}
	pattern := member.Tag.Get("pattern")
	switch {
	case f.Values != nil:
		return Select
	case of == reflect.TypeFor[time.Time]():
		return Moment
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64:
		return Number
	case of.Kind() == reflect.Float64:
		return Real
	case of.Kind() == reflect.Bool:
		return Switch
	case of.Kind() == reflect.Slice:
		return Words
	case strings.HasPrefix(pattern, "^[0-9]{"):
		return Amount
	case pattern != "":
		return Code
	}
	return Text
}

// Mistakes returns the members that are neither asked for nor kept, and the fields that are none: for a
// test, which then names what was forgotten when a body got a member.
func (d *Declaration) Mistakes() (list []string) {
	for _, member := range d.members() {
		name := memberName(&member)
		if !slices.Contains(d.keep, name) && !slices.ContainsFunc(d.Fields, func(f Field) bool { return !f.Create && f.place()[0] == name }) {
			list = append(list, name+" is neither asked for nor kept")
		}
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		if _, ok := d.member(f.place()[0]); !ok && !f.Create {
			list = append(list, f.Name+" is no member")
		}
	}
	for _, name := range d.keep {
		if _, ok := d.member(name); !ok {
			list = append(list, name+" is kept, and no member")
		}
	}
	return list
}

// Under returns the declaration for one of several bodies on a page: the names of its inputs begin with
// the prefix.
func (d *Declaration) Under(prefix string) *Declaration {
	return d.renamed(func(name string) string { return prefix + name })
}

// renamed returns the declaration with other names of its inputs.
func (d *Declaration) renamed(rename func(string) string) *Declaration {
	out := *d
	out.Fields = slices.Clone(d.Fields)
	for i := range out.Fields {
		f := &out.Fields[i]
		f.At, f.Name = f.place(), rename(f.Name)
	}
	return &out
}

// New returns an empty form. fresh is whether it is about a new document.
func (d *Declaration) New(fresh bool) *Form {
	f := &Form{New: fresh, Mistakes: map[string]string{}, keep: map[string]json.RawMessage{}, keeps: d.keep}
	for _, field := range d.Fields {
		if fresh || !field.Create {
			in := &Input{Field: field, Form: f}
			for i := 0; field.Each != nil && i < max(1, field.Count); i++ {
				in.Table = append(in.Table, field.Each.row(field.Names, max(1, field.From)+i, f))
			}
			f.Inputs = append(f.Inputs, in)
		}
	}
	return f
}
