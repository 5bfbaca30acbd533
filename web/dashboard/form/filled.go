package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// Form is a form as it was filled in.
type Form struct {
	New      bool
	Number   int // of a row
	Inputs   []*Input
	Mistakes map[string]string // by field
	Rest     []weir.FieldError // what is about no field

	keep  map[string]json.RawMessage
	keeps []string
}

// Input returns the input of a field, also of one in a row; nil: there is none.
func (f *Form) Input(name string) *Input {
	for _, in := range f.Inputs {
		if in.Name == name {
			return in
		}
		for _, row := range in.Table {
			if cell := row.Input(name); cell != nil {
				return cell
			}
		}
	}
	return nil
}

// Shown returns the inputs that are always shown.
func (f *Form) Shown() []*Input { return f.folded(false) }

// Hidden returns the inputs that are folded.
func (f *Form) Hidden() []*Input { return f.folded(true) }

func (f *Form) folded(folded bool) (list []*Input) {
	for _, in := range f.Inputs {
		if in.Folded == folded && !(in.Fixed && in.Sent() == nil) {
			list = append(list, in)
		}
	}
	return list
}

// Unfolded reports whether a folded field is filled in or wrong.
func (f *Form) Unfolded() bool {
	return slices.ContainsFunc(f.Inputs, func(in *Input) bool { return in.Folded && (in.Value != "" || f.Mistakes[in.Name] != "") })
}

// Show fills in a document, and keeps the members of it that the form does not show.
func (f *Form) Show(document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("form: %w", err)
	}
	members, kept := map[string]any{}, map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return fmt.Errorf("form: %w", err)
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return fmt.Errorf("form: %w", err)
	}
	for _, in := range f.Inputs {
		in.show(at(members, in.place()))
	}
	for _, name := range f.keeps {
		if v, ok := kept[name]; ok {
			f.keep[name] = v
		}
	}
	return nil
}

// at returns the value at a place of an object; nil: there is none.
func at(members map[string]any, place []string) any {
	for ; len(place) > 1; place = place[1:] {
		members, _ = members[place[0]].(map[string]any)
	}
	return members[place[0]]
}

// Kept decodes a member that the form keeps. It leaves into as it is if there is none.
func (f *Form) Kept(name string, into any) error {
	if f.keep[name] == nil {
		return nil
	}
	if err := json.Unmarshal(f.keep[name], into); err != nil {
		return fmt.Errorf("form: %s: %w", name, err)
	}
	return nil
}

// Fill fills in what a browser sent.
func (f *Form) Fill(sent url.Values) {
	for _, in := range f.Inputs {
		in.fill(sent)
	}
}

// Body returns the document for the API, which reports what is missing or wrong.
func (f *Form) Body() map[string]any {
	body := map[string]any{}
	for name, v := range f.keep {
		body[name] = v
	}
	for _, in := range f.Inputs {
		if v := in.json(); v != nil && !in.Create {
			put(body, in.place(), v)
		}
	}
	return body
}

// put sets a value at a place of an object. The members of an object are added to those that are there.
func put(body map[string]any, place []string, v any) {
	for ; len(place) > 1; place = place[1:] {
		inner, _ := body[place[0]].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			body[place[0]] = inner
		}
		body = inner
	}
	more, is := v.(map[string]any)
	if inner, both := body[place[0]].(map[string]any); is && both {
		maps.Copy(inner, more)
		return
	}
	body[place[0]] = v
}

// Wrong adds a mistake that the page has found itself. It stands before those of the API.
func (f *Form) Wrong(field, sentence string) { f.Mistakes[field] = sentence }

// Spot says where a mistake is shown.
type Spot struct {
	Field string // empty: it is about no field of the form
	Add   bool   // the field has several values: the mistake follows others
	Said  bool   // it is said already
}

// Place puts mistakes, as sentences, beside the fields that they are about, and returns the others. find says where one
// belongs, and may word it. Of several mistakes of a field the first is shown, unless it has several values.
func Place(beside map[string]string, mistakes []weir.FieldError, find func(*weir.FieldError) Spot) (rest []weir.FieldError) {
	for _, e := range mistakes {
		switch at := find(&e); {
		case at.Said:
		case at.Field == "":
			rest = append(rest, e)
		case beside[at.Field] == "":
			beside[at.Field] = display.Sentence(e.Detail)
		case at.Add:
			beside[at.Field] += " " + display.Sentence(e.Detail)
		}
	}
	return rest
}

// Place shows mistakes beside the fields that they are about. own may say first which field one is
// about, and in which words; its answer is the name of a field, or empty if it is about none. It may
// be nil.
func (f *Form) Place(l *locale.Locale, mistakes []weir.FieldError, own func(field string, e *weir.FieldError) string) {
	f.Rest = append(f.Rest, Place(f.Mistakes, mistakes, func(e *weir.FieldError) Spot {
		in, inner := f.find(strings.Split(strings.TrimPrefix(e.Pointer, "/"), "/"))
		field := ""
		if in != nil {
			field = in.Name
			in.needs(l, e)
		}
		if own != nil {
			field = own(field, e)
		}
		if in = f.Input(field); in == nil {
			return Spot{}
		}
		where := in.where(l, inner)
		if where != "" {
			e.Detail = l.T("%[1]s: %[2]s", where, e.Detail)
		}
		return Spot{Field: field, Add: in.All || where != "" && in.Kind == JSON}
	})...)
}

// needs words the mistake of a field in which nothing was entered.
func (in *Input) needs(l *locale.Locale, e *weir.FieldError) {
	missing := e.Code == "required" && e.Detail == l.Mistake("is missing")
	if in.Value == "" && in.Chosen == nil && in.Kind != Checks && (missing || e.Code == "length") {
		e.Detail = l.T("enter this")
	}
}

// Placed reports whether every mistake that was found is beside a field.
func (f *Form) Placed() bool { return len(f.Mistakes) > 0 && len(f.Rest) == 0 }

// find returns the field that a JSON pointer is about, and where in its value; nil: none.
func (f *Form) find(parts []string) (in *Input, inner []string) {
	for _, in := range f.Inputs {
		place := in.place()
		if len(place) > len(parts) || !slices.Equal(place, parts[:len(place)]) {
			continue
		}
		if in.Table == nil {
			return in, parts[len(place):]
		}
		if cell := in.cell(parts[len(place):]); cell != nil {
			return cell, nil
		}
	}
	return nil, nil
}

// Parts returns the fields that ask for a member, or for a part of it.
func (f *Form) Parts(member string) (list []*Input) {
	for _, in := range f.Inputs {
		if in.place()[0] == member {
			list = append(list, in)
		}
	}
	return list
}
