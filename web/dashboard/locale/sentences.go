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

// sentences are those of one kind in another language: in which the API refuses something, or why a contact failed or
// waits. Weir has them in English alone, finished, and often one within another, from every package that words them: so a
// sentence is found by the format that made it.
type sentences struct {
	own   bool              // what %v stands for is always a sentence of Weir, otherwise it may be in other words
	whole map[string]string // those without a value
	forms []sentenceForm    // the one with the most words of its own first
}

// sentenceForm is a sentence with values.
type sentenceForm struct {
	head   string // before its first value
	values []sentenceValue
	own    int // bytes of its own
	text   string
}

// partOnly is how many bytes of its own a form has that stands only within others, such as "%d in %s": a provider may
// say something that looks like it.
const partOnly = 5

// sentenceValue is a value of a sentence.
type sentenceValue struct {
	verb  byte
	after string // what follows it
}

// isText reports whether the value may be any text, and a sentence of its own.
func (v sentenceValue) isText() bool { return strings.IndexByte("svw", v.verb) >= 0 }

var sentenceVerb = regexp.MustCompile(`%(?:\[(\d)\])?[.\d]*([a-zA-Z])`)

// Mistake returns a sentence of the API in the language, or as it is if the catalog has none of its form.
func (l *Locale) Mistake(said string) string { return l.mistakes().find(said, 0) }

// Reason returns in the language why a contact failed or waits, or why a channel does not work, if Weir has worded it.
// What a provider or an operator has worded stays as it is. The formats of reasons mark what is in whose words: %v is a
// sentence of Weir, %s a name, or what may be in the words of somebody else.
func (l *Locale) Reason(said string) string { return l.reasons().find(said, partOnly) }

// Cap returns a cap of a purpose in the language, as Weir words it.
func (l *Locale) Cap(said string) string { return l.reasons().find(said, 0) }

// find returns a sentence in the language, or as it is. Its form has more than so many bytes of its own.
func (s *sentences) find(said string, own int) string {
	if text, ok := s.lookup(said, own); ok {
		return text
	}
	return said
}

// lookup returns a sentence in the language; false: it is none that the catalog has.
func (s *sentences) lookup(said string, own int) (text string, ok bool) {
	if text, ok := s.whole[said]; ok {
		return text, true
	}
	if inner, err := strconv.Unquote(said); err == nil && s.whole[inner] != "" {
		return strconv.Quote(s.whole[inner]), true
	}
	for i := range s.forms {
		f := &s.forms[i]
		if f.own <= own {
			break // the next ones have fewer
		}
		if values := f.valuesIn(said); values != nil {
			if text, ok := f.fill(s, values); ok {
				return text, true
			}
		}
	}
	return "", false
}

// valuesIn returns the values of a sentence; nil: it is not of this form.
func (f *sentenceForm) valuesIn(said string) (list []string) {
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

// fill returns the sentence with its values; false: a value that Weir words is in other words, so that somebody else has said
// what only looks like the sentence.
func (f *sentenceForm) fill(known *sentences, values []string) (string, bool) {
	for i, v := range f.values {
		if !v.isText() {
			continue
		}
		text, ok := known.lookup(values[i], 0)
		if !ok && known.own && v.verb == 'v' && values[i] != "" {
			return "", false
		}
		if ok {
			values[i] = text
		}
	}
	next := 0
	text := sentenceVerb.ReplaceAllStringFunc(f.text, func(verb string) string {
		if at := strings.IndexByte(verb, '['); at >= 0 {
			next = int(verb[at+1] - '1')
		}
		next++
		return values[next-1]
	})
	return text, true
}

// sentencesOf reads the sentences of a kind in a language, which are in the program.
func sentencesOf(kind, code string) *sentences {
	texts, err := readSentences(kind, code)
	if err != nil {
		panic(fmt.Sprintf("the %s of the language %s: %v", kind, code, err))
	}
	out := &sentences{own: kind == kindReasons, whole: map[string]string{}}
	for format, text := range texts {
		f := formOf(format)
		if f.text = text; len(f.values) == 0 {
			out.whole[format] = text
			continue
		}
		f.text = strings.ReplaceAll(text, "%%", "%")
		out.forms = append(out.forms, f)
	}
	slices.SortFunc(out.forms, func(a, b sentenceForm) int {
		return cmp.Or(b.own-a.own, strings.Compare(a.head, b.head), strings.Compare(a.text, b.text))
	})
	return out
}

// formOf takes a format to pieces.
func formOf(format string) (f sentenceForm) {
	at := sentenceVerb.FindAllStringSubmatchIndex(format, -1)
	for i, v := range at {
		end := len(format)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		f.values = append(f.values, sentenceValue{format[v[4]], strings.ReplaceAll(format[v[1]:end], "%%", "%")})
		f.own += end - v[1]
	}
	if len(at) > 0 {
		f.head = strings.ReplaceAll(format[:at[0][0]], "%%", "%")
		f.own += len(f.head)
	}
	return f
}

const (
	kindMistakes = "mistakes"
	kindReasons  = "reasons"
)

// Mistakes returns the sentences of mistakes in a language, by their formats. There are none in English, in which they are said.
func Mistakes(code string) (map[string]string, error) { return readSentences(kindMistakes, code) }

// Reasons returns the sentences of reasons in a language, as Mistakes does.
func Reasons(code string) (map[string]string, error) { return readSentences(kindReasons, code) }

func readSentences(kind, code string) (map[string]string, error) {
	data, err := files.ReadFile(kind + "/" + code + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, json.Unmarshal(data, &out)
}
