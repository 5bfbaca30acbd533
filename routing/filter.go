package routing

import (
	"strconv"
	"strings"
)

// ParseSelectors parses worker selectors as people write them: parts joined by
// commas. A part is a label alone (it must be true), or a label, an operator
// (=, !=, <, <=, >, >=) and a value. true and false are truth values; a value
// that parses as a number is a number; any other value, or one in double
// quotes, is a text.
func ParseSelectors(text string) ([]WorkerSelector, error) {
	var out []WorkerSelector
	for part := range strings.SplitSeq(text, ",") {
		s, ok := parseSelector(strings.TrimSpace(part))
		if !ok {
			return nil, invalid("", "format", "a selector is a label, or a label, an operator (= != < <= > >=) and a value")
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSelector(part string) (WorkerSelector, bool) {
	i := strings.IndexAny(part, "=!<>")
	if i < 0 {
		return WorkerSelector{Key: part, Operator: Equal, Value: Bool(true)}, part != ""
	}
	key, rest := strings.TrimSpace(part[:i]), part[i:]
	for _, o := range []struct {
		sign string
		op   Operator
	}{{"!=", NotEqual}, {"<=", LessOrEqual}, {">=", GreaterOrEqual}, {"=", Equal}, {"<", LessThan}, {">", GreaterThan}} {
		if value, found := strings.CutPrefix(rest, o.sign); found {
			v := ParseValue(strings.TrimSpace(value))
			_, number := v.Number()
			orders := o.op != Equal && o.op != NotEqual
			return WorkerSelector{Key: key, Operator: o.op, Value: v}, key != "" && !v.IsZero() && (number || !orders)
		}
	}
	return WorkerSelector{}, false
}

// ParseValue parses the value of a label as people write it; an empty text is
// the zero Value.
func ParseValue(text string) Value {
	switch text {
	case "":
		return Value{}
	case "true", "false":
		return Bool(text == "true")
	}
	if quoted, ok := strings.CutPrefix(text, `"`); ok && strings.HasSuffix(quoted, `"`) {
		return Text(strings.TrimSuffix(quoted, `"`))
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if v := Number(f); v.valid() {
			return v
		}
	}
	return Text(text)
}
