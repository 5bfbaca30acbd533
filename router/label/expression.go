package label

import (
	"strings"
)

// The expressions of rules are the subset of Power Fx that rules need:
// literals, job.Label and worker.Label, comparison, arithmetic, And, Or, Not
// (also as &&, || and !) and If. A missing label is blank and equals only
// blank.

// Scope holds the labels that an expression can read.
type Scope struct{ Job, Worker Set }

// Expression is a parsed rule.
type Expression interface {
	// Eval computes the value for the labels of a job and a worker.
	Eval(Scope) (Value, error)
}

type literal struct{ v Value }

// Eval implements Expression.
func (l literal) Eval(Scope) (Value, error) { return l.v, nil }

type labelOf struct {
	worker bool
	key    string
}

// Eval implements Expression.
func (l labelOf) Eval(s Scope) (Value, error) {
	if l.worker {
		return s.Worker[l.key], nil
	}
	return s.Job[l.key], nil
}

type call struct {
	op   string
	args []Expression
}

// Eval implements Expression.
func (c call) Eval(s Scope) (Value, error) {
	switch c.op {
	case "if":
		return c.evalIf(s)
	case "and", "or":
		return c.evalLogic(s)
	}
	args := make([]Value, len(c.args))
	for i, a := range c.args {
		var err error
		if args[i], err = a.Eval(s); err != nil {
			return Value{}, err
		}
	}
	switch c.op {
	case "not":
		return Bool(!args[0].IsTrue()), nil
	case "=":
		// By kind and value, as selectors compare: the text "1" is not the number 1.
		return Bool(args[0] == args[1]), nil
	case "<>":
		return Bool(args[0] != args[1]), nil
	case "&":
		return Text(args[0].String() + args[1].String()), nil
	}
	return c.number(args)
}

// number evaluates operators on numbers. Blank is 0 in arithmetic, as in Power
// Fx; every ordering comparison with blank is false.
func (c call) number(args []Value) (Value, error) {
	var n [2]float64
	blank := false
	for i, a := range args {
		f, ok := a.Number()
		if !ok && !a.IsZero() {
			return Value{}, errOperands
		}
		blank = blank || !ok
		n[i] = f
	}
	var out float64
	switch c.op {
	case "<":
		return Bool(!blank && n[0] < n[1]), nil
	case "<=":
		return Bool(!blank && n[0] <= n[1]), nil
	case ">":
		return Bool(!blank && n[0] > n[1]), nil
	case ">=":
		return Bool(!blank && n[0] >= n[1]), nil
	case "+":
		out = n[0] + n[1]
	case "-":
		out = n[0] - n[1]
	case "*":
		out = n[0] * n[1]
	case "/":
		out = n[0] / n[1]
	}
	if !Number(out).Valid() {
		return Value{}, errOperands
	}
	return Number(out), nil
}

// evalIf evaluates pairs of condition and result, and an optional default.
func (c call) evalIf(s Scope) (Value, error) {
	for i := 0; i+1 < len(c.args); i += 2 {
		v, err := c.args[i].Eval(s)
		if err != nil {
			return Value{}, err
		}
		if v.IsTrue() {
			return c.args[i+1].Eval(s)
		}
	}
	if len(c.args)%2 == 1 {
		return c.args[len(c.args)-1].Eval(s)
	}
	return Value{}, nil
}

// evalLogic stops at the operand that decides: later ones may not even have the right kind.
func (c call) evalLogic(s Scope) (Value, error) {
	for _, a := range c.args {
		v, err := a.Eval(s)
		if err != nil {
			return Value{}, err
		}
		if v.IsTrue() == (c.op == "or") {
			return Bool(c.op == "or"), nil
		}
	}
	return Bool(c.op == "and"), nil
}

// parser is a recursive-descent parser with one level per operator precedence.
type parser struct {
	tokens []token
	depth  int
}

// ParseExpression parses an expression; a leading equals sign is optional.
func ParseExpression(text string) (Expression, error) {
	tokens, err := scan(strings.TrimPrefix(strings.TrimSpace(text), "="))
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens}
	e, err := p.binary(0)
	if err != nil || len(p.tokens) > 0 {
		return nil, errExpression
	}
	return e, nil
}

// levels returns the binary operators, the lowest precedence first.
func levels() [][]string {
	return [][]string{{"||", "or"}, {"&&", "and"}, {"=", "<>", "<", "<=", ">", ">="}, {"&"}, {"+", "-"}, {"*", "/"}}
}

func (p *parser) binary(level int) (Expression, error) {
	all := levels()
	if level == len(all) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op, ok := p.takeAny(all[level])
		if !ok {
			break
		}
		switch op {
		case "||":
			op = "or"
		case "&&":
			op = "and"
		}
		var right Expression
		right, err = p.binary(level + 1)
		left = call{op, []Expression{left, right}}
	}
	return left, err
}

func (p *parser) unary() (Expression, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > 100 {
		return nil, errExpression
	}
	if op, ok := p.takeAny([]string{"!", "not", "-"}); ok {
		e, err := p.unary()
		if op == "-" {
			return call{"-", []Expression{literal{Number(0)}, e}}, err
		}
		return call{"not", []Expression{e}}, err
	}
	return p.primary()
}

func (p *parser) primary() (Expression, error) {
	if len(p.tokens) == 0 {
		return nil, errExpression
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	switch {
	case t.kind == tokenValue:
		return literal{t.value}, nil
	case t.text == "(":
		e, err := p.binary(0)
		if err != nil || !p.take(")") {
			return nil, errExpression
		}
		return e, nil
	case t.kind != tokenWord:
		return nil, errExpression
	}
	switch word := strings.ToLower(t.text); word {
	case "true", "false":
		return literal{Bool(word == "true")}, nil
	case "job", "worker":
		return p.label(word == "worker")
	case "if", "and", "or":
		return p.function(word)
	}
	return nil, errExpression
}

func (p *parser) label(worker bool) (Expression, error) {
	if !p.take(".") || len(p.tokens) == 0 || p.tokens[0].kind != tokenWord {
		return nil, errExpression
	}
	key := p.tokens[0].text
	p.tokens = p.tokens[1:]
	return labelOf{worker, key}, nil
}

func (p *parser) function(name string) (Expression, error) {
	if !p.take("(") {
		return nil, errExpression
	}
	var args []Expression
	for {
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		// Power Fx separates arguments by semicolons where the decimal separator is a comma.
		if _, more := p.takeAny([]string{",", ";"}); more {
			continue
		}
		if !p.take(")") || name == "if" && len(args) < 2 {
			return nil, errExpression
		}
		return call{name, args}, nil
	}
}

func (p *parser) take(text string) bool {
	_, ok := p.takeAny([]string{text})
	return ok
}

// takeAny consumes the next token if it is one of the given operators or words.
func (p *parser) takeAny(texts []string) (string, bool) {
	if len(p.tokens) == 0 || p.tokens[0].kind == tokenValue {
		return "", false
	}
	next := p.tokens[0].text
	if p.tokens[0].kind == tokenWord {
		next = strings.ToLower(next)
	}
	for _, t := range texts {
		if t == next {
			p.tokens = p.tokens[1:]
			return t, true
		}
	}
	return "", false
}
