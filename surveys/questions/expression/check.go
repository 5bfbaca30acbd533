package expression

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// checkComparison reports operands that a comparison cannot be meant for.
func (p *parser) checkComparison(n *node) {
	if p.err != nil || !slices.Contains([]operator{"=", "!=", "<", "<=", ">", ">="}, n.op) {
		return
	}
	ordered := n.op != "=" && n.op != "!="
	for i, a := range n.args {
		b := n.args[1-i]
		if ordered && (a.kind == ChoiceType || a.kind == ChoicesType || a.kind == TextType) {
			p.warn(n.at, "%s compares numbers; the answer to a question of this kind is a text", n.op)
		}
		if b.op != literalNode || b.value.kind != textKind {
			continue
		}
		isDate := !math.IsNaN(parseDays(b.value.text))
		switch {
		case a.kind == NumberType && b.value.text != "" && math.IsNaN(b.value.Number()):
			p.fail(b.at, "%q is compared with a number and is none", b.value.text)
		case a.kind == DateType && b.value.text != "" && !isDate:
			p.fail(b.at, "%q is compared with a date and is none; write it as '2026-01-31'", b.value.text)
		case a.kind == DateType && isDate:
			p.warn(b.at, "write date('%s'): other programs compare no date with a text", b.value.text)
		case ordered && b.value.text != "" && math.IsNaN(b.value.Number()):
			p.warn(n.at, "%s compares numbers, and %q is none", n.op, b.value.text)
		}
	}
}

// checkCall reports arguments that a function does not take.
func (p *parser) checkCall(n *node) {
	if len(n.args) < n.fn.min || n.fn.max >= 0 && len(n.args) > n.fn.max {
		p.fail(n.at, "%s takes %s", n.name, n.fn.takes())
		return
	}
	literal := func(i int) (string, int, bool) {
		if i >= len(n.args) || n.args[i].op != literalNode || n.args[i].value.kind != textKind {
			return "", n.at, false
		}
		return n.args[i].value.text, n.args[i].at, true
	}
	switch n.name {
	case "selected", "count-selected", "selected-at":
		if a := n.args[0]; a.kind == TextType || a.kind == NumberType || a.kind == DateType {
			p.fail(a.at, "%s takes a question with choices", n.name)
		} else if n.name == "selected" && n.args[1].op == literalNode && n.args[1].value.kind == numberKind {
			p.warn(n.args[1].at, "put the number in quotes: other programs take a text only")
		}
	case "regex":
		pattern, at, ok := literal(1)
		if !ok {
			p.fail(at, "the pattern of regex is a text in quotes")
		} else if compiled, err := CompilePattern(pattern); err != nil {
			p.fail(at, "the pattern does not compile: %s", err)
		} else {
			n.fn.apply = func(_ *Env, a []Value) Value { return Bool(compiled.MatchString(a[0].Text())) }
		}
	case "format-date", "format-date-time":
		format, at, ok := literal(1)
		if !ok {
			p.fail(at, "the format of %s is a text in quotes", n.name)
		} else if sign := unknownEscape(format); sign != "" {
			p.fail(at, "%q is not known in a format; known are %s", sign, knownEscapes)
		}
	case "jr:choice-name":
		ref, at, ok := literal(1)
		name, found := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(ref), "${"), "}")
		if !ok || !found {
			p.fail(at, "the second argument of jr:choice-name is a question in quotes: '${name}'")
		} else if kind, err := p.scope.Name(name); err != nil {
			p.fail(at, "%s", err.Message)
		} else if kind != ChoiceType && kind != ChoicesType {
			p.fail(at, "${%s} has no choices", name)
		} else {
			n.args[1] = &node{op: literalNode, at: at, value: Text(name)}
		}
	case "date", "date-time":
		if text, at, ok := literal(0); ok && text != "" && math.IsNaN(parseDays(text)) {
			p.fail(at, "%q is no date; write it as '2026-01-31'", text)
		}
	}
}

// CompilePattern compiles a pattern that a whole text has to match.
func CompilePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // before it is wrapped, so that messages quote what was written
		return nil, err
	}
	return regexp.Compile(`^(?:` + pattern + `)$`)
}

// walk calls visit for each node.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, a := range n.args {
		a.walk(visit)
	}
}

// Ref is a use of a name.
type Ref struct {
	Name      string
	Character int // from 1
}

// Refs returns the uses of ${names}, in order.
func (e *Expression) Refs() (refs []Ref) {
	e.root.walk(func(n *node) {
		if n.op == refNode {
			refs = append(refs, Ref{n.name, n.at + 1})
		}
	})
	return refs
}

// Comparison is a name that is compared with a text, by =, != or selected().
type Comparison struct {
	Ref         // the name is . for the answer itself
	Text string // never empty
}

// Comparisons returns the texts that choices are compared with.
func (e *Expression) Comparisons() (list []Comparison) {
	e.root.walk(func(n *node) {
		if n.op != "=" && n.op != "!=" && (n.op != callNode || n.name != "selected") {
			return
		}
		for i, a := range n.args {
			b := n.args[1-i]
			if (a.op == refNode || a.op == selfNode) && b.op == literalNode && b.value.Text() != "" {
				name := a.name
				if a.op == selfNode {
					name = "."
				}
				list = append(list, Comparison{Ref{name, b.at + 1}, b.value.Text()})
			}
		}
	})
	return list
}
