package questions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/internal/validation"
	"weir/surveys/questions/expression"
	"weir/surveys/questions/language"
	"weir/surveys/respondents"
)

// Questionnaire is a checked definition. It is immutable.
type Questionnaire struct {
	languages []Language
	def       string // default language
	refused   Words
	dontKnow  Words
	messages  Messages
	questions []question
	index     map[string]int
	switches  map[string]string            // the language that a folded word switches to
	noAnswers map[string]map[string]Status // by language what a folded word is instead of an answer
}

// question is a checked question.
type question struct {
	Question
	relevant, constraint, calculation *expression.Expression // nil: none
	pattern                           *regexp.Regexp
	choices                           []choice
}

// choice is a checked choice.
type choice struct {
	Choice
	relevant *expression.Expression
	forms    map[string][]string // by language, "" for all: what a message is that chooses it, folded
}

// Context is what a definition is checked against.
type Context struct {
	Attributes []string // that every respondent has; nil: not known yet, so that any name can be one
	StopWords  []string // words that refuse in the installation or survey
	Modes      []string // that exist; nil: not checked
}

// Compile checks a definition, and returns every mistake with its place, and what is probably not
// meant. The questionnaire is nil if there are mistakes.
func Compile(d Definition, ctx Context) (_ *Questionnaire, mistakes, warnings []weir.FieldError) {
	c := compiler{ctx: ctx, in: d, out: &Questionnaire{
		languages: d.Languages, refused: d.Refused, dontKnow: d.DontKnow, messages: d.Messages, index: map[string]int{},
	}}
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil || raw.Len() > MaxSize+1 {
		c.Add("", "length", "a questionnaire has at most %d bytes", MaxSize)
		return nil, c.Errors, nil
	}
	c.checkLanguages()
	c.checkFrame()
	if len(d.Questions) > MaxQuestions {
		c.Add("/questions", "length", "a questionnaire has at most %d questions", MaxQuestions)
		return nil, c.Errors, nil
	}
	for i := range d.Questions {
		c.index(i)
	}
	for i := range d.Questions {
		c.question(i)
	}
	if !slices.ContainsFunc(d.Questions, func(q Question) bool { return Asked(q.Kind) }) {
		c.Add("/questions", "required", "must ask at least one question")
	}
	if len(c.Errors) == 0 {
		c.checkReachable()
	}
	if len(c.Errors) > 0 {
		return nil, c.Errors, c.warnings
	}
	c.out.foldWords()
	return c.out, nil, c.warnings
}

// foldWords folds the words that are no answers once.
func (qs *Questionnaire) foldWords() {
	qs.switches, qs.noAnswers = map[string]string{}, map[string]map[string]Status{}
	for _, l := range qs.languages {
		for _, w := range append(slices.Clone(l.Words), l.Name) {
			qs.switches[fold(w)] = l.Code
		}
		qs.noAnswers[l.Code] = map[string]Status{}
		for _, s := range []Status{DontKnow, Refused} {
			for _, w := range qs.instead(s, l.Code) {
				qs.noAnswers[l.Code][fold(w)] = s
			}
		}
	}
	delete(qs.switches, "")
}

// compiler collects the mistakes of a definition.
type compiler struct {
	validation.Errors
	warnings validation.Errors
	ctx      Context
	in       Definition
	out      *Questionnaire
}

// index notes the name of a question, so that references to later ones can be told from those to none.
func (c *compiler) index(i int) {
	q := &c.in.Questions[i]
	at := place(i) + "/name"
	for earlier := range i {
		if strings.EqualFold(c.in.Questions[earlier].Name, q.Name) {
			c.Add(at, "duplicate", "question %d has this name already; capitals do not make another", earlier+1)
			return
		}
	}
	switch {
	case !validName(q.Name):
		c.Add(at, "format", "begins with a letter or _ and has up to %d letters without accents, digits, _, - and .", maxName)
	case respondents.BuiltIn(q.Name) || q.Name == respondents.FieldPhone || q.Name == respondents.FieldToken || q.Name == respondents.FieldTimeZone:
		c.Add(at, "reserved", "is a reserved name: it means something else already")
	case slices.Contains(c.ctx.Attributes, q.Name):
		c.Add(at, "duplicate", "the respondents have an attribute of this name")
	}
	c.out.index[q.Name] = i
}

func place(i int) string { return "/questions/" + strconv.Itoa(i) }

func validName(s string) bool {
	for i, r := range s {
		inside := r >= '0' && r <= '9' || r == '-' || r == '.'
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || i > 0 && inside) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// question compiles a question.
func (c *compiler) question(i int) {
	q := question{Question: c.in.Questions[i]}
	at := place(i)
	if !slices.Contains(Kinds(), q.Kind) {
		c.Add(at+"/kind", "unknown", "is not one of %v", Kinds())
	}
	q.Tries = cmp.Or(q.Tries, c.in.Tries, 3)
	q.AfterTries = cmp.Or(q.AfterTries, c.in.AfterTries, AfterBreakoff)
	q.relevant = c.expression(q.Relevant, at+"/relevant", i, false)
	if q.relevant != nil && len(q.relevant.Refs()) == 0 && q.relevant.Value(&expression.Env{}).Known() {
		c.warnings.Add(at+"/relevant", "constant", "is the same for everybody")
	}
	q.constraint = c.expression(q.Constraint, at+"/constraint", i, true)
	q.calculation = c.expression(q.Calculation, at+"/calculation", i, false)
	if q.Pattern != "" {
		var err error
		if q.pattern, err = expression.CompilePattern(q.Pattern); err != nil {
			c.Add(at+"/pattern", "format", "does not compile: %v", err)
		}
	}
	for j, one := range q.Choices {
		q.choices = append(q.choices, choice{
			Choice: one, relevant: c.expression(one.Relevant, at+"/choices/"+strconv.Itoa(j)+"/relevant", i, false), forms: formsOf(one),
		})
	}
	c.checkQuestion(i, &q)
	c.out.questions = append(c.out.questions, q)
}

// expression compiles an expression of a question. One that is not given is nil.
func (c *compiler) expression(source, at string, i int, constraint bool) *expression.Expression {
	if source == "" {
		return nil
	}
	scope := expression.Scope{Name: func(name string) (expression.Type, *expression.Error) { return c.operand(name, i) }}
	if constraint {
		kind := typeOf(c.in.Questions[i].Kind)
		scope.Self = &kind
	}
	e, err := expression.Parse(source, scope)
	if err != nil {
		code := "expression"
		if strings.Contains(err.Message, askedLater) || strings.Contains(err.Message, itself) {
			code = "order"
		}
		c.Add(at, code, "%v", err)
		return nil
	}
	for _, w := range e.Warnings() {
		c.warnings.Add(at, "expression", "%v", &w)
	}
	for _, compared := range e.Comparisons() {
		of := i
		if compared.Name != "." {
			var known bool
			if of, known = c.out.index[compared.Name]; !known {
				continue
			}
		}
		of2 := &c.in.Questions[of]
		if (of2.Kind == Choose || of2.Kind == ChooseMany) && !slices.ContainsFunc(of2.Choices, func(o Choice) bool { return o.Name == compared.Text }) {
			c.Add(at, "choice", "character %d: %q has no choice %q", compared.Character, of2.Name, validation.Clip(compared.Text))
		}
	}
	return e
}

const (
	askedLater = "is asked later"
	itself     = "refers to itself"
)

// operand returns the type of what a name in a question refers to.
func (c *compiler) operand(name string, in int) (expression.Type, *expression.Error) {
	at, known := c.out.index[name]
	problem := ""
	switch {
	case known && at == in:
		problem = name + " " + itself + "; in a constraint the full stop is its answer"
	case known && at > in && c.dependsOn(at, in):
		problem = name + " " + askedLater + ", and depends on this question: a circle"
	case known && at > in:
		problem = name + " " + askedLater + " (question " + strconv.Itoa(at+1) + ")"
	case known && !Recorded(c.in.Questions[at].Kind):
		problem = name + " has no answer"
	case known:
		return typeOf(c.in.Questions[at].Kind), nil
	case name == respondents.FieldPhone:
		problem = "the number of a person cannot be used; respondent identifies the person"
	case c.ctx.Attributes != nil && !slices.Contains(c.ctx.Attributes, name):
		problem = name + " is neither a question nor an attribute of all respondents"
	case !respondents.ValidName(name):
		problem = name + " is neither a question nor the name of an attribute"
	}
	if problem != "" {
		return 0, &expression.Error{Message: problem}
	}
	return expression.Any, nil
}

// dependsOn reports whether the conditions of a question lead to an earlier one. It reads names
// only, because the expressions of later questions are not compiled yet.
func (c *compiler) dependsOn(from, to int) bool {
	seen := map[int]bool{}
	var visit func(int) bool
	visit = func(i int) bool {
		if i == to {
			return true
		}
		if seen[i] {
			return false
		}
		seen[i] = true
		q := &c.in.Questions[i]
		for _, m := range regexp.MustCompile(`\$\{\s*([^{}\s]+)\s*\}`).FindAllStringSubmatch(q.Relevant+" "+q.Calculation, -1) {
			if next, known := c.out.index[m[1]]; known && visit(next) {
				return true
			}
		}
		return false
	}
	return visit(from)
}

func typeOf(k Kind) expression.Type {
	switch k {
	case Choose:
		return expression.ChoiceType
	case ChooseMany:
		return expression.ChoicesType
	case Number:
		return expression.NumberType
	case Date:
		return expression.DateType
	case FreeText:
		return expression.TextType
	default:
		return expression.Any
	}
}

// in returns a text in a language; empty: there is none.
func textIn(t Text, code, def string) string { return cmp.Or(t[code], t[def]) }

// message returns a message in a language; empty: there is none.
func (qs *Questionnaire) message(code string, m Message) string {
	if t, ok := qs.messages[m]; ok {
		return textIn(t, code, qs.def)
	}
	return language.Of(code).Messages[string(m)]
}

// matchLanguage returns the language of a questionnaire for a code such as es-MX; empty: none.
func (qs *Questionnaire) matchLanguage(code string) string {
	base := func(s string) string {
		s, _, _ = strings.Cut(strings.ToLower(strings.ReplaceAll(s, "_", "-")), "-")
		return s
	}
	found := ""
	for _, l := range qs.languages {
		if strings.EqualFold(l.Code, code) {
			return l.Code
		}
		if found == "" && base(l.Code) == base(code) {
			found = l.Code
		}
	}
	return found
}
