package label

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a literal value or a sign of an expression.
type token struct {
	kind  tokenKind
	text  string
	value Value
}

type tokenKind uint8

const (
	tokenSign tokenKind = iota
	tokenWord
	tokenValue
)

// scan splits an expression into tokens.
func scan(text string) (out []token, err error) {
	// Expressions come from clients and are evaluated on the engine's goroutine, for each
	// candidate of a job: their length and depth are bounded.
	const maxBytes = 8192
	if len(text) > maxBytes {
		return nil, errExpression
	}
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		var t token
		n := size
		switch {
		case unicode.IsSpace(r):
			text = text[size:]
			continue
		case r == '"':
			t, n, err = scanText(text)
		case r == '\'':
			t, n, err = scanQuoted(text)
		case unicode.IsDigit(r):
			t, n, err = scanNumber(text)
		case unicode.IsLetter(r) || r == '_':
			rest := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' })
			n = len(text) - len(rest)
			t = token{kind: tokenWord, text: text[:n]}
		default:
			// The list is searched as one text, in which a sign before a blank would be found,
			// too.
			if len(text) > 1 && strings.Contains("<> <= >= && ||", text[:2]) && text[1] != ' ' {
				n = 2
			}
			t = token{text: text[:n]}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
		text = text[n:]
	}
	return out, nil
}

// scanText reads a text in double quotes; a doubled quote stands for one.
func scanText(text string) (token, int, error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return token{kind: tokenValue, value: Text(b.String())}, i + 1, nil
	}
	return token{}, 0, errExpression
}

// scanQuoted reads a name in single quotes, for labels that are not words.
func scanQuoted(text string) (token, int, error) {
	end := strings.IndexByte(text[1:], '\'')
	if end < 0 {
		return token{}, 0, errExpression
	}
	return token{kind: tokenWord, text: text[1 : 1+end]}, end + 2, nil
}

// A sign is an operator, so that 1-2 is a difference.
func scanNumber(text string) (token, int, error) {
	n := len(text) - len(strings.TrimLeft(text, ".0123456789"))
	f, err := strconv.ParseFloat(text[:n], 64)
	if err != nil {
		return token{}, 0, errExpression
	}
	return token{kind: tokenValue, value: Number(f)}, n, nil
}

var (
	errExpression = errors.New("the expression cannot be read")
	errOperands   = errors.New("an operator of the expression has operands of the wrong kind")
)
