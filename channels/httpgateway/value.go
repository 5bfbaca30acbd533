package httpgateway

import (
	"encoding/json"
	"math"
	"strconv"

	"weir"
	"weir/channels"
)

// value is a JSON value with placeholders.
// value is read when the template is parsed. Text that a client gives is only ever filled in as a
// whole string, so it cannot become a key, a list or another placeholder.
type value interface {
	// render returns the JSON value; false: the field is left out.
	render(c *content) (any, bool)
}

type (
	literalValue struct{ v any } // number, boolean or null
	textValue    struct{ t text }
	objectValue  map[string]value
	listValue    []value
	// typedValue is {"$": "seconds_left", "as": "number", "max": 86400, "optional": true}.
	typedValue struct {
		name string
		as   string
		// Gateways refuse a validity above their limit, so that a longer window is cut, not
		// refused.
		most     float64 // 0: no bound
		optional bool    // left out if it is empty
	}
	// eachValue is {"each": VALUE}: a list with the value for each message.
	eachValue struct{ of value }
)

// readValue reads a JSON value with placeholders; inEach: it stands within an each.
func readValue(wrong *mistakes, v any, at string, sc scope, inEach bool) value {
	switch v := v.(type) {
	case string:
		return textValue{sc.text(wrong, v, at)}
	case []any:
		list := listValue{}
		for i, e := range v {
			list = append(list, readValue(wrong, e, at+"/"+strconv.Itoa(i), sc, inEach))
		}
		return list
	case map[string]any:
		if _, typed := v["$"]; typed {
			return readTyped(wrong, v, at, sc)
		}
		if of, each := v["each"]; each && len(v) == 1 {
			// One within another would multiply the messages by themselves, at every level.
			if inEach {
				wrong.fail(at, "conflict", "each cannot stand within another each: it already stands for one message")
				return literalValue{}
			}
			return eachValue{readValue(wrong, of, at+"/each", sc, true)}
		}
		out := objectValue{}
		for key, e := range v {
			out[key] = readValue(wrong, e, at+"/"+channels.Escape(key), sc, inEach)
		}
		return out
	default:
		return literalValue{v}
	}
}

func readTyped(wrong *mistakes, v map[string]any, at string, sc scope) value {
	o := readObject(wrong, v, at, "$", "as", "max", "optional")
	out := typedValue{name: o.text("$"), as: o.choice("as", "text", "number", "boolean")}
	sc.check(wrong, out.name, o.under("$"))
	if o.has("max") {
		var ok bool
		if out.most, ok = weir.Number(o.fields["max"]); !ok || out.most <= 0 || out.as != "number" {
			wrong.fail(o.under("max"), "type", "must be a number above 0, beside \"as\": \"number\"")
		}
	}
	if o.has("optional") {
		var ok bool
		if out.optional, ok = o.fields["optional"].(bool); !ok {
			wrong.fail(o.under("optional"), "type", "must be true or false")
		}
	}
	return out
}

func (v literalValue) render(c *content) (any, bool) { return v.v, c.take(1) }

func (v textValue) render(c *content) (any, bool) {
	n := 1
	for _, s := range v.t {
		n += len(s.literal)
	}
	if !c.take(n) {
		return nil, false
	}
	return v.t.join(c.value), true
}

func (v objectValue) render(c *content) (any, bool) {
	if !c.take(1) {
		return nil, false
	}
	out := map[string]any{}
	for key, e := range v {
		if !c.take(len(key)) {
			return nil, false
		}
		if rendered, ok := e.render(c); ok {
			out[key] = rendered
		}
	}
	return out, true
}

func (v listValue) render(c *content) (any, bool) {
	if !c.take(2) {
		return nil, false
	}
	out := []any{}
	for _, e := range v {
		if rendered, ok := e.render(c); ok {
			out = append(out, rendered)
		}
	}
	return out, true
}

func (v typedValue) render(c *content) (any, bool) {
	s := c.value(v.name)
	if s == "" && v.optional {
		return nil, false
	}
	switch v.as {
	case "number":
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) { // JSON has no such numbers
			return s, true // the gateway refuses it
		}
		if v.most > 0 && n > v.most {
			return v.most, true
		}
		if json.Valid([]byte(s)) { // a float64 would change digits
			return json.Number(s), true
		}
		if i, err := strconv.ParseInt(s, 10, 64); err == nil { // with a plus or zeros in front
			return i, true
		}
		return n, true
	case "boolean":
		return s == "true", true
	}
	return s, true
}

func (v eachValue) render(c *content) (any, bool) {
	out := []any{}
	for i := range c.a.Messages {
		one := *c
		one.part = i
		if rendered, ok := v.of.render(&one); ok {
			out = append(out, rendered)
		}
	}
	return out, true
}

// renderText renders a value of a form, a query or a header with this name.
func renderText(name string, v value, c *content) ([]string, bool) {
	rendered, ok := v.render(c)
	if !ok {
		return nil, false
	}
	list, isList := rendered.([]any)
	if !isList {
		list = []any{rendered}
	}
	if !c.take(len(list) * (len(name) + 1)) { // forms and queries repeat the name for each element
		return nil, false
	}
	var out []string
	for _, e := range list {
		if s, isText := e.(string); isText {
			out = append(out, s)
			continue
		}
		raw, _ := json.Marshal(e)
		out = append(out, string(raw))
	}
	return out, true
}
