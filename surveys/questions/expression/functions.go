package expression

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// function is a function of expressions.
type function struct {
	min, max int // arguments; max < 0: any number
	apply    func(env *Env, args []Value) Value
}

// takes describes the number of arguments.
func (f function) takes() string {
	switch plural := func(n int) string {
		if n == 1 {
			return "1 argument"
		}
		return fmt.Sprintf("%d arguments", n)
	}; {
	case f.max < 0:
		return "at least " + plural(f.min)
	case f.max == 0:
		return "no arguments"
	case f.min == f.max:
		return plural(f.min)
	default:
		return fmt.Sprintf("%d to %d arguments", f.min, f.max)
	}
}

// text, truth, number and numbers make functions of plain ones.
func text(minArgs, maxArgs int, f func([]string) string) *function {
	return &function{minArgs, maxArgs, func(_ *Env, a []Value) Value { return Text(f(texts(a))) }}
}

func truth(minArgs, maxArgs int, f func([]string) bool) *function {
	return &function{minArgs, maxArgs, func(_ *Env, a []Value) Value { return Bool(f(texts(a))) }}
}

func number(f func(float64) float64) *function {
	return &function{1, 1, func(_ *Env, a []Value) Value { return Number(f(a[0].Number())) }}
}

// fold makes a function of any number of numbers of one of two.
func fold(f func(a, b float64) float64) *function {
	return &function{1, -1, func(_ *Env, a []Value) Value {
		n := a[0].Number()
		for _, v := range a[1:] {
			n = f(n, v.Number())
		}
		return Number(n)
	}}
}

func texts(values []Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Text()
	}
	return out
}

// lookup returns a function by its name; nil: there is none.
func lookup(name string) *function {
	for _, group := range []func(string) *function{logical, numerical, textual, choosing, temporal} {
		if f := group(name); f != nil {
			return f
		}
	}
	return nil
}

// refused explains functions of other programs that cannot be had.
func refused(name string) string {
	switch name {
	case "pulldata", "instance", "search":
		return "import the value as an attribute and write ${attribute}"
	case "substring":
		return "use substr, which counts from 0 and excludes its end"
	case "indexed-repeat", "position", "current", "count", "count-non-empty", "sum":
		return "there are no repeats"
	case "random", "uuid", "randomize":
		return "nothing is drawn by lot in an expression"
	case "last", "name", "local-name", "lang", "id":
		return "there are no paths"
	default:
		return ""
	}
}

func logical(name string) *function {
	switch name {
	case "true", "false":
		return &function{0, 0, func(*Env, []Value) Value { return Bool(name == "true") }}
	case "not":
		return &function{1, 1, func(_ *Env, a []Value) Value { return Bool(!a[0].Bool()) }}
	case "boolean":
		return &function{1, 1, func(_ *Env, a []Value) Value { return Bool(a[0].Bool()) }}
	case "boolean-from-string":
		return truth(1, 1, func(a []string) bool { return a[0] == "true" || a[0] == "1" })
	case "if": // evaluated by evalCall
		return &function{min: 3, max: 3}
	case "coalesce": // evaluated by evalCall
		return &function{min: 2, max: -1}
	case "once":
		return &function{1, 1, func(env *Env, a []Value) Value {
			if !env.Self.Known() || env.Self.Text() != "" {
				return env.Self
			}
			return a[0]
		}}
	default:
		return nil
	}
}

func numerical(name string) *function {
	switch name {
	case "number":
		return number(func(n float64) float64 { return n })
	case "int":
		return number(math.Trunc)
	case "floor":
		return number(math.Floor)
	case "ceiling":
		return number(math.Ceil)
	case "abs":
		return number(math.Abs)
	case "min":
		return fold(math.Min)
	case "max":
		return fold(math.Max)
	case "round":
		return &function{1, 2, func(_ *Env, a []Value) Value {
			scale := 1.0
			if len(a) == 2 {
				scale = math.Pow(10, math.Trunc(a[1].Number()))
			}
			return Number(math.Floor(a[0].Number()*scale+0.5) / scale) // halves go up, as XPath rounds
		}}
	default:
		return nil
	}
}

func textual(name string) *function {
	switch name {
	case "string":
		return text(1, 1, func(a []string) string { return a[0] })
	case "concat":
		return text(1, -1, func(a []string) string { return strings.Join(a, "") })
	case "join":
		return text(2, -1, func(a []string) string { return strings.Join(a[1:], a[0]) })
	case "normalize-space":
		return text(1, 1, func(a []string) string { return strings.Join(strings.Fields(a[0]), " ") })
	case "translate":
		return text(3, 3, func(a []string) string { return translate(a[0], []rune(a[1]), []rune(a[2])) })
	case "contains":
		return truth(2, 2, func(a []string) bool { return strings.Contains(a[0], a[1]) })
	case "starts-with":
		return truth(2, 2, func(a []string) bool { return strings.HasPrefix(a[0], a[1]) })
	case "ends-with":
		return truth(2, 2, func(a []string) bool { return strings.HasSuffix(a[0], a[1]) })
	case "string-length":
		return &function{1, 1, func(_ *Env, a []Value) Value { return Number(float64(utf8.RuneCountInString(a[0].Text()))) }}
	case "substr":
		return &function{2, 3, func(_ *Env, a []Value) Value { return Text(substr(a)) }}
	case "regex": // checkCall compiles the pattern
		return &function{min: 2, max: 2}
	default:
		return nil
	}
}

func translate(s string, from, to []rune) string {
	return strings.Map(func(r rune) rune {
		for i, f := range from {
			if f == r && i < len(to) {
				return to[i]
			}
			if f == r {
				return -1
			}
		}
		return r
	}, s)
}

// substr returns the characters from one place to before another; negative places count from
// the end.
func substr(a []Value) string {
	s := []rune(a[0].Text())
	place := func(v Value) int {
		n := v.Number()
		if math.IsNaN(n) {
			return 0
		}
		if n < 0 {
			n += float64(len(s))
		}
		return int(math.Max(0, math.Min(n, float64(len(s)))))
	}
	begin, end := place(a[1]), len(s)
	if len(a) == 3 {
		end = place(a[2])
	}
	if begin >= end {
		return ""
	}
	return string(s[begin:end])
}

func choosing(name string) *function {
	switch name {
	case "selected":
		return truth(2, 2, func(a []string) bool {
			return strings.Contains(" "+strings.TrimSpace(a[0])+" ", " "+strings.TrimSpace(a[1])+" ")
		})
	case "count-selected":
		return &function{1, 1, func(_ *Env, a []Value) Value { return Number(float64(len(strings.Fields(a[0].Text())))) }}
	case "selected-at":
		return &function{2, 2, func(_ *Env, a []Value) Value {
			names, i := strings.Fields(a[0].Text()), a[1].Number()
			if !(i >= 0 && i < float64(len(names))) { // also NaN
				return Value{}
			}
			return Text(names[int(i)])
		}}
	case "jr:choice-name":
		return &function{2, 2, func(env *Env, a []Value) Value {
			if env.Label == nil {
				return Unknown()
			}
			var labels []string
			for _, choice := range strings.Fields(a[0].Text()) {
				labels = append(labels, env.Label(a[1].Text(), choice))
			}
			return Text(strings.Join(labels, ", "))
		}}
	default:
		return nil
	}
}
