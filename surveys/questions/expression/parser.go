package expression

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Bounds of an expression.
const (
	MaxLength = 8 << 10 // bytes
	maxDepth  = 100     // of parentheses, calls and signs
)

// Type is what is known of an operand before it has a value.
type Type int

// The types. A question of type Any, like an attribute or a calculated value, can be anything.
const (
	Any Type = iota
	TextType
	NumberType
	DateType
	ChoiceType  // one name of a choice
	ChoicesType // names of choices, with spaces between
)

// Scope is what an expression can refer to.
type Scope struct {
	Name func(name string) (Type, *Error) // of ${name}; the error has no character
	Self *Type                            // of the full stop; nil: it means nothing here
}

// operator is the operation of a node that is none of a function.
type operator string

const (
	literalNode operator = "literal"
	refNode     operator = "reference"
	selfNode    operator = "."
	callNode    operator = "call"
	negation    operator = "negation"
)

type node struct {
	op    operator
	at    int
	value Value  // of a literal
	name  string // of a reference or function
	kind  Type   // of a reference and the full stop
	fn    *function
	args  []*node
}

// Expression is a parsed expression. It is immutable.
type Expression struct {
	root     *node
	source   string
	warnings []Error
}

// String returns the expression as it was written.
func (e *Expression) String() string { return e.source }

// Warnings returns what is probably not meant, or means something else in other programs.
func (e *Expression) Warnings() []Error { return e.warnings }

// Parse parses an expression.
func Parse(source string, scope Scope) (*Expression, *Error) {
	if len(source) > MaxLength {
		return nil, wrong(MaxLength, "an expression has at most %d bytes", MaxLength)
	}
	if !utf8.ValidString(source) {
		return nil, wrong(0, "the expression is not valid UTF-8")
	}
	p := parser{lexer: lexer{source: []rune(source)}, scope: scope}
	p.advance()
	root := p.binary(0)
	if p.token.kind != endToken && p.err == nil {
		p.fail(p.token.at, "expected an operator before %s", p.token.quoted())
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Expression{root: root, source: source, warnings: p.warnings}, nil
}

// parser parses by recursive descent. After the first mistake every token is the end, so that it
// returns soon.
type parser struct {
	lexer
	scope    Scope
	token    token
	before   token // the token before
	depth    int
	err      *Error
	warnings []Error
}

func (p *parser) fail(at int, format string, args ...any) *node {
	if p.err == nil {
		p.err = wrong(at, format, args...)
	}
	p.token = token{at: len(p.source)}
	return &node{op: literalNode, at: at}
}

func (p *parser) warn(at int, format string, args ...any) {
	p.warnings = append(p.warnings, *wrong(at, format, args...))
}

func (p *parser) advance() {
	if p.err != nil {
		return
	}
	p.before = p.token
	next, err := p.lexer.token()
	if err != nil {
		p.fail(err.Character-1, "%s", err.Message)
		return
	}
	p.token = next
}

// sign reports whether the token is a sign.
func (p *parser) sign(text string) bool { return p.token.kind == signToken && p.token.text == text }

// levels returns the operators, from loose to tight.
func levels() [][]string {
	return [][]string{{"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"}}
}

// binary parses operators of a level and tighter ones. They associate to the left.
func (p *parser) binary(level int) *node {
	if level == len(levels()) {
		return p.unary()
	}
	left := p.binary(level + 1)
	for (p.token.kind == signToken || p.token.kind == nameToken) && slices.Contains(levels()[level], p.token.text) {
		op := p.token
		p.advance()
		n := &node{op: operator(op.text), at: op.at, args: []*node{left, p.binary(level + 1)}}
		p.checkComparison(n)
		left = n
	}
	return left
}

// enter counts a level of nesting, and reports whether there may be another.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.token.at, "an expression is nested at most %d times", maxDepth)
		return false
	}
	return true
}

func (p *parser) unary() *node {
	if !p.sign("-") {
		return p.operand()
	}
	n := &node{op: negation, at: p.token.at}
	if !p.enter() {
		return n
	}
	p.advance()
	n.args = []*node{p.unary()}
	p.depth--
	return n
}

func (p *parser) operand() *node {
	t := p.token
	switch t.kind {
	case numberToken:
		p.advance()
		n, _ := strconv.ParseFloat(t.text, 64) // out of range: infinity
		return &node{op: literalNode, at: t.at, value: Number(n)}
	case textToken:
		p.advance()
		return &node{op: literalNode, at: t.at, value: Text(t.text)}
	case refToken:
		p.advance()
		kind, err := p.scope.Name(t.text)
		if err != nil {
			return p.fail(t.at, "%s", err.Message)
		}
		return &node{op: refNode, at: t.at, name: t.text, kind: kind}
	case selfToken:
		p.advance()
		if p.scope.Self == nil {
			return p.fail(t.at, "the full stop stands for the answer in a constraint only; write ${name}")
		}
		return &node{op: selfNode, at: t.at, kind: *p.scope.Self}
	case nameToken:
		p.advance()
		return p.call(t)
	default:
	}
	if p.sign("(") && p.enter() {
		p.advance()
		n := p.binary(0)
		p.depth--
		return p.closed(n, t.at)
	}
	if p.before.text == "" {
		return p.fail(t.at, "expected a value before %s", t.quoted())
	}
	return p.fail(t.at, "expected a value after %s", p.before.quoted())
}

// closed passes the parenthesis that closes the one at a place.
func (p *parser) closed(n *node, at int) *node {
	if !p.sign(")") {
		if p.token.kind == endToken {
			return p.fail(at, "the parenthesis that opens here is not closed")
		}
		return p.fail(p.token.at, "expected an operator or \")\" before %s", p.token.quoted())
	}
	p.advance()
	return n
}

// call parses the arguments of a function, whose name is passed.
func (p *parser) call(name token) *node {
	fn := lookup(name.text)
	switch open := p.sign("("); {
	case open && fn == nil:
		if hint := refused(name.text); hint != "" {
			return p.fail(name.at, "%s is not known here: %s", name.text, hint)
		}
		return p.fail(name.at, "%q is not a function", name.text)
	case !open && fn != nil:
		return p.fail(name.at, "%s is a function: write %s()", name.text, name.text)
	case !open:
		return p.fail(name.at, "%q is neither an operator nor a function; write ${%s} for an answer and '%s' for a text", name.text, name.text, name.text)
	}
	n := &node{op: callNode, at: name.at, name: name.text, fn: fn}
	if !p.enter() {
		return n
	}
	open := p.token.at
	p.advance()
	for !p.sign(")") && p.token.kind != endToken {
		n.args = append(n.args, p.binary(0))
		if !p.sign(",") {
			break
		}
		p.advance()
		if p.sign(")") {
			return p.fail(p.token.at, "expected a value after \",\"")
		}
	}
	p.depth--
	p.closed(n, open)
	if p.err == nil {
		p.checkCall(n)
	}
	return n
}
