package locale

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mistakes are the sentences in which the API refuses something, in another language. The API has them in English
// alone, finished, and often one within another, from every package that checks something: so a sentence is found by the
// format that made it.
type mistakes struct {
	whole map[string]string // those without a value
	forms []mistakeForm     // the one with the most words of its own first
}

// mistakeForm is a sentence with values.
type mistakeForm struct {
	head   string // before its first value
	values []mistakeValue
	own    int // bytes of its own
	text   string
}

// mistakeValue is a value of a sentence.
type mistakeValue struct {
	verb  byte
	after string // what follows it
}

// isText reports whether the value may be any text, and a sentence of its own.
func (v mistakeValue) isText() bool { return strings.IndexByte("svw", v.verb) >= 0 }

var mistakeVerb = regexp.MustCompile(`%(?:\[(\d)\])?[.\d]*([a-zA-Z])`)

// Mistake returns a sentence of the API in the language, or as it is if the catalog has none of its form.
func (l *Locale) Mistake(said string) string {
	known := l.mistakes()
	if text, ok := known.whole[said]; ok {
		return text
	}
	for i := range known.forms {
		if values := known.forms[i].valuesIn(said); values != nil {
			return known.forms[i].fill(l, values)
		}
	}
	return said
}

// valuesIn returns the values of a sentence; nil: it is not of this form.
func (f *mistakeForm) valuesIn(said string) (list []string) {
	rest, ok := strings.CutPrefix(said, f.head)
	for i := 0; ok && i < len(f.values); i++ {
		var n int
		v := f.values[i]
		switch v.verb {
		case 'q':
			quoted, _ := strconv.QuotedPrefix(rest) // empty: none
			n = len(quoted)
		case 'd', 'f', 'g':
			n = len(rest) - len(strings.TrimLeft(rest, "-.0123456789e+"))
		default:
			if n = strings.Index(rest, v.after); i == len(f.values)-1 {
				n = len(rest) - len(v.after) // its end is that of the sentence
			}
		}
		if n < 0 || n == 0 && !v.isText() {
			return nil
		}
		list = append(list, rest[:n])
		rest, ok = strings.CutPrefix(rest[n:], v.after)
	}
	if !ok || rest != "" {
		return nil
	}
	return list
}

// fill returns the sentence with its values.
func (f *mistakeForm) fill(l *Locale, values []string) string {
	for i, v := range f.values {
		if v.isText() {
			values[i] = l.Mistake(values[i])
		}
	}
	next := 0
	return mistakeVerb.ReplaceAllStringFunc(f.text, func(verb string) string {
		if at := strings.IndexByte(verb, '['); at >= 0 {
			next = int(verb[at+1] - '1')
		}
		next++
		return values[next-1]
	})
}

// mistakesOf reads the mistakes of a language, which are in the program.
func mistakesOf(code string) *mistakes {
	texts, err := Mistakes(code)
	if err != nil {
		panic(fmt.Sprintf("the mistakes of the language %s: %v", code, err))
	}
	out := &mistakes{whole: map[string]string{}}
	for format, text := range texts {
		f := formOf(format)
		if f.text = text; len(f.values) == 0 {
			out.whole[format] = text
			continue
		}
		out.forms = append(out.forms, f)
	}
	slices.SortFunc(out.forms, func(a, b mistakeForm) int {
		return cmp.Or(b.own-a.own, strings.Compare(a.head, b.head), strings.Compare(a.text, b.text))
	})
	return out
}

// formOf takes a format to pieces.
func formOf(format string) (f mistakeForm) {
	at := mistakeVerb.FindAllStringSubmatchIndex(format, -1)
	for i, v := range at {
		end := len(format)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		f.values = append(f.values, mistakeValue{format[v[4]], format[v[1]:end]})
		f.own += end - v[1]
	}
	if len(at) > 0 {
		f.head = format[:at[0][0]]
		f.own += len(f.head)
	}
	return f
}

// Mistakes returns the sentences of mistakes in a language, by their formats. There are none in English, in which they are said.
func Mistakes(code string) (map[string]string, error) {
	data, err := files.ReadFile("mistakes/" + code + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, json.Unmarshal(data, &out)
}
