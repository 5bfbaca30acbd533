package expression

import (
	"math"
	"time"
)

// Env is what an expression is evaluated with.
type Env struct {
	Name     func(name string) Value              // of ${name}; nil: all are unknown
	Self     Value                                // of the full stop, and the present value for once()
	Now      time.Time                            // in the zone of the person; zero: unknown
	Language string                               // of names of months and days
	Label    func(question, choice string) string // for jr:choice-name; nil: unknown
}

// Value evaluates the expression.
func (e *Expression) Value(env *Env) Value { return e.root.eval(env) }

func (n *node) eval(env *Env) Value {
	switch n.op {
	case literalNode:
		return n.value
	case refNode:
		if env.Name == nil {
			return Unknown()
		}
		return env.Name(n.name)
	case selfNode:
		return env.Self
	case "and":
		return n.logic(env, false)
	case "or":
		return n.logic(env, true)
	case callNode:
		return n.evalCall(env)
	default:
	}
	args := n.evalArgs(env)
	for _, a := range args {
		if !a.Known() {
			return Unknown()
		}
	}
	switch n.op {
	case negation:
		return Number(-args[0].Number())
	case "+":
		return Number(args[0].Number() + args[1].Number())
	case "-":
		return Number(args[0].Number() - args[1].Number())
	case "*":
		return Number(args[0].Number() * args[1].Number())
	case "div":
		return Number(args[0].Number() / args[1].Number())
	case "mod":
		return Number(math.Mod(args[0].Number(), args[1].Number()))
	default:
		return Bool(compare(string(n.op), args[0], args[1]))
	}
}

func (n *node) evalArgs(env *Env) []Value {
	args := make([]Value, len(n.args))
	for i, a := range n.args {
		args[i] = a.eval(env)
	}
	return args
}

// logic evaluates and, or: one operand that decides is enough.
func (n *node) logic(env *Env, decides bool) Value {
	unknown := false
	for _, a := range n.args {
		switch v := a.eval(env); {
		case !v.Known():
			unknown = true
		case v.Bool() == decides:
			return Bool(decides)
		}
	}
	if unknown {
		return Unknown()
	}
	return Bool(!decides)
}

func (n *node) evalCall(env *Env) Value {
	switch n.name {
	case "if":
		switch condition := n.args[0].eval(env); {
		case !condition.Known():
			if a, b := n.args[1].eval(env), n.args[2].eval(env); a == b {
				return a
			}
			return Unknown()
		case condition.Bool():
			return n.args[1].eval(env)
		default:
			return n.args[2].eval(env)
		}
	case "coalesce":
		for _, a := range n.args {
			if v := a.eval(env); !v.Known() || v.Text() != "" {
				return v
			}
		}
		return Value{}
	}
	args := n.evalArgs(env)
	for _, a := range args {
		if !a.Known() {
			return Unknown()
		}
	}
	return n.fn.apply(env, args)
}
