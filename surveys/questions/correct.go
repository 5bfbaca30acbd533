package questions

import (
	"maps"
	"slices"
	"strconv"

	"weir/internal/validation"
)

// Uncorrectable returns what of a change of a definition is not the correction of a text, as errors. Both
// are decoded JSON. A correction leaves every text where it is, in its languages and with no other fields
// in it: a conversation that has begun can go on with it.
func Uncorrectable(was, is any) validation.Errors {
	var m validation.Errors
	compare("", was, is, false, &m)
	return m
}

// Correctable reports whether a member of a definition, of a question or of a choice holds texts, which may be corrected.
func Correctable(member string) bool {
	return slices.Contains([]string{"text", "text_in", "message", "messages"}, member)
}

// compare adds what differs at a place; text reports whether it is within a text.
func compare(at string, was, is any, text bool, m *validation.Errors) {
	frozen := func(at string) {
		m.Add(at, "conflict", "may change only in a draft; later, texts may be corrected, with the same {{fields}}")
	}
	switch a := was.(type) {
	case map[string]any:
		b, same := is.(map[string]any)
		if !same {
			frozen(at)
			return
		}
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			of, place := text, at+"/"+validation.Token(name)
			if !of {
				of = Correctable(name)
			}
			_, had := a[name]
			if _, has := b[name]; had != has {
				frozen(place)
				continue
			}
			compare(place, a[name], b[name], of, m)
		}
	case []any:
		b, same := is.([]any)
		if !same || len(a) != len(b) {
			frozen(at)
			return
		}
		for i := range a {
			compare(at+"/"+strconv.Itoa(i), a[i], b[i], text, m)
		}
	default:
		if was != is && !(text && correction(was, is)) {
			frozen(at)
		}
	}
}

// correction reports whether a text may replace another: it is one, and inserts nothing else.
func correction(was, is any) bool {
	a, before := was.(string)
	b, after := is.(string)
	if !before || !after || a == "" || b == "" {
		return false
	}
	had, _ := fieldsOf(a)
	has, _ := fieldsOf(b)
	return !slices.ContainsFunc(has, func(name string) bool { return !slices.Contains(had, name) })
}
