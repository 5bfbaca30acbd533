package questions

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/people"
	"weir/surveys/questions/expression"
	"weir/surveys/questions/language"
)

// problem is why a message is no answer.
type problem int

const (
	fits problem = iota
	notUnderstood
	outOfBounds // understood, and refused by a bound, a pattern or the constraint
)

// maxRead is how many characters of a message are read, if it is none to a question for a text.
const maxRead = 400

// invisible reports whether a rune shows nothing.
func invisible(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// visible returns a text without what shows nothing, and with runs of space as one.
func visible(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if invisible(r) {
			return -1
		}
		return r
	}, s)), " ")
}

// clip returns the first characters of a text.
func clip(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}

// plainDigits returns a text with the decimal digits of every script as 0 to 9.
func plainDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.Is(unicode.Nd, r) {
			return r
		}
		for _, run := range unicode.Nd.R16 { // each begins with a zero
			if rune(run.Lo) <= r && r <= rune(run.Hi) {
				return '0' + (r-rune(run.Lo))%10
			}
		}
		for _, run := range unicode.Nd.R32 {
			if rune(run.Lo) <= r && r <= rune(run.Hi) {
				return '0' + (r-rune(run.Lo))%10
			}
		}
		return r
	}, s)
}

// fold returns the form of a text by which answers are compared: without case, accents, punctuation
// and space. Of a text that is nothing but signs, such as * or an emoji, it is the signs.
func fold(s string) string {
	s = clip(s, maxText)
	if folded := strings.Join(people.FoldWords(plainDigits(s)), ""); folded != "" {
		return folded
	}
	return strings.ReplaceAll(visible(s), " ", "")
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// formsOf returns the texts that choose a choice, folded. A name of digits is none: it could be
// the key of another.
func formsOf(o Choice) map[string][]string {
	forms := map[string][]string{}
	if name := fold(o.Name); !digits(name) {
		forms[""] = []string{name}
	}
	for code, text := range o.Text {
		forms[code] = append(forms[code], fold(text))
	}
	for code, words := range o.Words {
		for _, w := range words {
			forms[code] = append(forms[code], fold(w))
		}
	}
	return forms
}

// option is a choice as it is offered.
type option struct {
	*choice
	key string
}

// keyOf returns the number by which a choice is chosen.
func keyOf(choices []choice, i int) string { return cmp.Or(choices[i].Key, itoa(i+1)) }

// match returns the only option that a folded text chooses in a language, or else in any other.
func match(options []option, form, code string) (found *option, ambiguous bool) {
	if form == "" {
		return nil, false
	}
	for _, own := range []bool{true, false} {
		for i := range options {
			o := &options[i]
			hit := own && form == o.key
			for lang, forms := range o.forms {
				hit = hit || (lang == code || lang == "") == own && slices.Contains(forms, form)
			}
			if hit && found != nil {
				return nil, true
			}
			if hit {
				found = o
			}
		}
		if found != nil {
			return found, false
		}
	}
	return nil, false
}

// readChoice reads the answer to a question with one choice.
func readChoice(options []option, text, code string) *option {
	words := people.FoldWords(plainDigits(text))
	found, ambiguous := match(options, fold(text), code)
	if found != nil || ambiguous {
		return found
	}
	if len(words) == 1 { // a word of a number
		for i, word := range language.Of(code).Digits {
			if fold(word) == words[0] {
				found, _ = match(options, itoa(i+1), code)
				return found
			}
		}
	}
	// The first words choose, and nothing behind them chooses another.
	for n := 1; n < len(words) && found == nil && !ambiguous; n++ {
		begin := strings.Join(words[:n], "")
		if utf8.RuneCountInString(begin) == 1 && !digits(begin) {
			continue // one letter begins many sentences
		}
		if found, ambiguous = match(options, begin, code); found == nil {
			continue
		}
		for i := n; i < len(words); i++ {
			if strings.ContainsAny(words[i], "0123456789") {
				return nil
			}
			for j := i + 1; j <= len(words); j++ {
				if other, more := match(options, strings.Join(words[i:j], ""), code); more || other != nil && other != found {
					return nil
				}
			}
		}
	}
	return found
}

// readChoices reads the answer to a question with several choices.
func readChoices(options []option, text, code string) []*option {
	if one, _ := match(options, fold(text), code); one != nil {
		return []*option{one}
	}
	words := people.FoldWords(plainDigits(text))
	var chosen []*option
	for i := 0; i < len(words); {
		n := len(words) - i
		var one *option
		for ; n > 0; n-- { // the longest that is one
			if one, _ = match(options, strings.Join(words[i:i+n], ""), code); one != nil {
				break
			}
		}
		switch joined := joinedKeys(options, words[i]); {
		case one != nil:
			chosen = append(chosen, one)
			i += n
		case len(joined) > 0:
			chosen = append(chosen, joined...)
			i++
		case foldedIn(language.Of(code).And, words[i]) && i > 0 && i+1 < len(words):
			i++
		default:
			return nil
		}
	}
	for _, o := range chosen {
		if o.Exclusive && slices.ContainsFunc(chosen, func(other *option) bool { return other != o }) {
			return nil
		}
	}
	return chosen
}

// joinedKeys returns the options of keys that are written without space between them.
func joinedKeys(options []option, word string) (chosen []*option) {
	if len(options) > 9 || !digits(word) {
		return nil
	}
	for _, digit := range word {
		i := slices.IndexFunc(options, func(o option) bool { return o.key == string(digit) })
		if i < 0 {
			return nil
		}
		chosen = append(chosen, &options[i])
	}
	return chosen
}

// read reads a message as the answer to a question.
func (q *question) read(text, code string, options []option) (value string, _ problem) {
	if q.Kind == FreeText {
		return q.readText(text)
	}
	text = clip(visible(text), maxRead)
	switch q.Kind {
	case Choose:
		if o := readChoice(options, text, code); o != nil {
			return o.Name, fits
		}
	case ChooseMany:
		if chosen := readChoices(options, text, code); len(chosen) > 0 {
			var names []string
			for i := range q.choices { // in their order
				if slices.ContainsFunc(chosen, func(o *option) bool { return o.Name == q.choices[i].Name }) {
					names = append(names, q.choices[i].Name)
				}
			}
			return strings.Join(names, " "), fits
		}
	case Number:
		if value, ok := q.readNumber(text, code); ok {
			return q.canonical(value)
		}
	case Date:
		if value, ok := readDate(text, code); ok {
			return q.canonical(value)
		}
	default:
	}
	return "", notUnderstood
}

// readText reads the answer to a question for a text. It keeps lines.
func (q *question) readText(text string) (string, problem) {
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || invisible(r) })
	if q.MaxLength == 0 {
		text = clip(text, maxText)
	}
	return q.canonical(text)
}

// canonical checks a value against the bounds of a question, and returns it as it is stored.
func (q *question) canonical(value string) (string, problem) {
	ok := true
	switch q.Kind {
	case Choose:
		ok = slices.ContainsFunc(q.Choices, func(o Choice) bool { return o.Name == value })
	case ChooseMany:
		names := strings.Fields(value)
		value = strings.Join(names, " ")
		for _, name := range names {
			ok = ok && slices.ContainsFunc(q.Choices, func(o Choice) bool { return o.Name == name })
		}
	case FreeText:
		n := utf8.RuneCountInString(value)
		ok = n >= max(1, q.MinLength) && n <= cmp.Or(q.MaxLength, maxText) && (q.pattern == nil || q.pattern.MatchString(value))
	case Number:
		n := expression.Text(value).Number()
		value = expression.Number(n).Text()
		ok = !math.IsNaN(n) && (q.Decimal || n == float64(int64(n))) && (q.Min == nil || n >= *q.Min) && (q.Max == nil || n <= *q.Max)
	case Date:
		ok = validDay(value) && (q.Earliest == "" || value >= q.Earliest) && (q.Latest == "" || value <= q.Latest)
	default:
	}
	if !ok {
		return "", outOfBounds
	}
	return value, fits
}

// instead returns the words for not answering in a language.
func (qs *Questionnaire) instead(s Status, code string) []string {
	if s == Refused {
		return qs.refused[code]
	}
	if words, ok := qs.dontKnow[code]; ok {
		return words
	}
	return language.Of(code).DontKnow
}

// notAnswered returns what a folded message is instead of an answer, in a language or any other;
// empty: nothing.
func (qs *Questionnaire) notAnswered(form, code string) Status {
	if s := qs.noAnswers[code][form]; s != "" {
		return s
	}
	for _, l := range qs.languages {
		if s := qs.noAnswers[l.Code][form]; s != "" {
			return s
		}
	}
	return ""
}

// AnswerWords returns the words that are answers to the present question, whatever they mean
// elsewhere, for [people.Words.For]. Words that refuse always are not among them.
func (qs *Questionnaire) AnswerWords(s State) (words []string) {
	i, ok := qs.index[s.Question]
	if !ok {
		return nil
	}
	for _, o := range qs.questions[i].Choices {
		words = append(words, o.Name)
		for _, code := range sortedKeys(o.Text) {
			words = append(words, o.Text[code])
		}
		for _, code := range sortedKeys(o.Words) {
			words = append(words, o.Words[code]...)
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return foldedIn(neverAnswers(), fold(w)) })
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
