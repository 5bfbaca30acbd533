package label

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"weir/internal/plainjson"
)

// Value is the value of a label: a text, a number or a truth value. It is
// comparable, so it can be a map key. The zero Value is empty.
type Value struct {
	kind valueKind
	num  float64
	str  string
}

type valueKind uint8

const (
	kindNone valueKind = iota
	kindText
	kindNumber
	kindBool
)

// Text returns a Value that holds a text.
func Text(s string) Value { return Value{kind: kindText, str: s} }

// Number returns a Value that holds a number.
func Number(f float64) Value { return Value{kind: kindNumber, num: f} }

// Bool returns a Value that holds a truth value.
func Bool(b bool) Value {
	if b {
		return Value{kind: kindBool, num: 1}
	}
	return Value{kind: kindBool}
}

// IsZero reports whether the Value is empty.
func (v Value) IsZero() bool { return v.kind == kindNone }

// Text returns the text and whether the Value holds one.
func (v Value) Text() (string, bool) { return v.str, v.kind == kindText }

// Number returns the number and whether the Value holds one.
func (v Value) Number() (float64, bool) { return v.num, v.kind == kindNumber }

// Bool returns the truth value and whether the Value holds one.
func (v Value) Bool() (bool, bool) { return v.num == 1, v.kind == kindBool }

// Valid reports whether the Value survives a JSON round trip.
func (v Value) Valid() bool {
	return v.kind != kindNumber || !math.IsNaN(v.num) && !math.IsInf(v.num, 0)
}

// String returns the value for messages and for text comparison.
func (v Value) String() string {
	switch v.kind {
	case kindText:
		return v.str
	case kindNumber:
		return fmt.Sprint(v.num)
	case kindBool:
		return fmt.Sprint(v.num == 1)
	case kindNone:
	}
	return ""
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	if b, ok := v.AppendJSON(nil); ok {
		return b, nil
	}
	return json.Marshal(v.num)
}

// AppendJSON appends the Value as encoding/json writes it. ok is false for numbers
// that encoding/json writes with an exponent, or refuses.
func (v Value) AppendJSON(b []byte) (_ []byte, ok bool) {
	switch v.kind {
	case kindText:
		return plainjson.AppendText(b, v.str), true
	case kindNumber:
		abs := math.Abs(v.num)
		return strconv.AppendFloat(b, v.num, 'f', -1, 64), abs == 0 || abs >= 1e-6 && abs < 1e21
	case kindBool:
		return strconv.AppendBool(b, v.num == 1), true
	case kindNone:
	}
	return append(b, "null"...), true
}

// UnmarshalJSON implements json.Unmarshaler. Objects and arrays are refused.
func (v *Value) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	switch x := value.(type) {
	case nil:
		*v = Value{}
	case string:
		*v = Text(x)
	case float64:
		*v = Number(x)
	case bool:
		*v = Bool(x)
	default:
		return fmt.Errorf("a label's value must be a string, a number or a boolean")
	}
	return nil
}

// Set is the labels or the tags of a resource. It must not be changed once it was
// passed to the engine: events and state share it.
type Set map[string]Value

// With returns a copy with one label set.
func (l Set) With(key string, v Value) Set {
	out := make(Set, len(l)+1)
	maps.Copy(out, l)
	out[key] = v
	return out
}

// Equal reports whether both sets have the same labels and values.
func (l Set) Equal(other Set) bool { return maps.Equal(l, other) }

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
		if v := Number(f); v.Valid() {
			return v
		}
	}
	return Text(text)
}

// IsTrue reports whether the Value is true, or a text equal to "true" in any case.
func (v Value) IsTrue() bool {
	if b, ok := v.Bool(); ok {
		return b
	}
	text, _ := v.Text()
	return strings.EqualFold(text, "true")
}
