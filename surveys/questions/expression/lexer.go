package expression

import (
	"fmt"
	"strings"
	"unicode"
)

// Error is a mistake in an expression.
type Error struct {
	Character int // from 1
	Message   string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("character %d: %s", e.Character, e.Message) }

type tokenKind int

const (
	endToken    tokenKind = iota
	numberToken           // 1, .5
	textToken             // 'a'
	refToken              // ${a}
	selfToken             // .
	nameToken             // a function or a word operator
	signToken             // an operator or punctuation
)

type token struct {
	kind tokenKind
	text string
	at   int // index of its first character
}

// quoted describes a token for a message.
func (t token) quoted() string {
	switch t.kind {
	case endToken:
		return "the end"
	case refToken:
		return fmt.Sprintf("\"${%s}\"", t.text)
	default:
		return fmt.Sprintf("%q", t.text)
	}
}

func letter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func inName(r rune) bool {
	return letter(r) || r == '-' || r == '.' || unicode.IsDigit(r) || unicode.IsMark(r)
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// lexer splits an expression into tokens.
type lexer struct {
	source []rune
	next   int
}

// run returns the characters from the present one on that satisfy is, and passes them.
func (l *lexer) run(is func(rune) bool) string {
	begin := l.next
	for l.next < len(l.source) && is(l.source[l.next]) {
		l.next++
	}
	return string(l.source[begin:l.next])
}

func (l *lexer) peek(ahead int) rune {
	if l.next+ahead < len(l.source) {
		return l.source[l.next+ahead]
	}
	return 0
}

func wrong(at int, format string, args ...any) *Error {
	return &Error{Character: at + 1, Message: fmt.Sprintf(format, args...)}
}

// token returns the next token.
func (l *lexer) token() (token, *Error) {
	l.run(unicode.IsSpace)
	at := l.next
	if at == len(l.source) {
		return token{at: at}, nil
	}
	switch r := l.source[at]; {
	case digit(r), r == '.' && digit(l.peek(1)):
		text := l.run(digit)
		if l.peek(0) == '.' {
			l.next++
			text += "." + l.run(digit)
		}
		return token{numberToken, text, at}, nil
	case r == '\'' || r == '"':
		l.next++
		text := l.run(func(c rune) bool { return c != r })
		if l.next == len(l.source) {
			return token{}, wrong(at, "the text that begins here has no closing %c", r)
		}
		l.next++
		return token{textToken, text, at}, nil
	case r == '$':
		return l.ref(at)
	case letter(r):
		text := l.run(inName)
		if l.peek(0) == ':' && letter(l.peek(1)) {
			l.next++
			text += ":" + l.run(inName)
		}
		return token{nameToken, text, at}, nil
	case strings.ContainsRune("‘’“”´`", r):
		return token{}, wrong(at, "%q is no quotation mark of expressions; write ' or \"", string(r))
	case r == '.':
		l.next++
		return token{selfToken, ".", at}, nil
	}
	return l.sign(at)
}

// ref returns the token of ${name}.
func (l *lexer) ref(at int) (token, *Error) {
	if l.peek(1) != '{' {
		return token{}, wrong(at, "$ begins a reference: write ${name}")
	}
	l.next += 2
	l.run(unicode.IsSpace)
	name := ""
	if letter(l.peek(0)) {
		name = l.run(inName)
	}
	l.run(unicode.IsSpace)
	if name == "" || l.peek(0) != '}' {
		return token{}, wrong(at, "a reference is a name between ${ and }")
	}
	l.next++
	return token{refToken, name, at}, nil
}

func (l *lexer) sign(at int) (token, *Error) {
	for _, sign := range []string{"!=", "<=", ">=", "=", "<", ">", "+", "-", "*", "(", ")", ","} {
		if strings.HasPrefix(string(l.source[at:min(at+2, len(l.source))]), sign) {
			l.next += len(sign)
			return token{signToken, sign, at}, nil
		}
	}
	switch r := l.source[at]; r {
	case '/', '[', ']', '@', '|':
		return token{}, wrong(at, "%q is part of a path, which is not known here; write ${name}, and div for a division", string(r))
	default:
		return token{}, wrong(at, "%q is not part of an expression", string(r))
	}
}
