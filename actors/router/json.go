package router

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"weir/routing/label"
)

// object writes a JSON object member by member. The data of public events is
// written by hand because there is so much of it.
type object struct{ b []byte }

func newObject() object { return object{append(make([]byte, 0, 512), '{')} }

func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

func (o *object) end() json.RawMessage { return append(o.b, '}') }

func (o *object) text(k, v string) {
	o.key(k)
	o.b = appendText(o.b, v)
}

// optional omits an empty text.
func (o *object) optional(k, v string) {
	if v != "" {
		o.text(k, v)
	}
}

func (o *object) integer(k string, v int) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, int64(v), 10)
}

func (o *object) truth(k string, v bool) {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
}

// instant writes a time under both published names and omits the zero time.
func (o *object) instant(older, newer string, v time.Time) {
	if v.IsZero() {
		return
	}
	for _, k := range []string{older, newer} {
		o.key(k)
		o.b = appendTime(o.b, v)
	}
}

func (o *object) labels(k string, v label.Set) {
	o.key(k)
	o.b = appendLabels(o.b, v)
}

func appendTime(b []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}

func appendLabels(b []byte, labels label.Set) []byte {
	b = append(b, '{')
	switch len(labels) {
	case 0:
	case 1:
		for k, v := range labels {
			b = appendValue(append(appendText(b, k), ':'), v)
		}
	default:
		for i, k := range slices.Sorted(maps.Keys(labels)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, k), ':'), labels[k])
		}
	}
	return append(b, '}')
}

func appendValue(b []byte, v label.Value) []byte {
	if text, ok := v.Text(); ok {
		return appendText(b, text)
	}
	if n, ok := v.Number(); ok {
		return appendNumber(b, n)
	}
	if is, ok := v.Bool(); ok {
		return strconv.AppendBool(b, is)
	}
	return append(b, "null"...)
}

func appendNumber(b []byte, n float64) []byte {
	if a := math.Abs(n); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, n, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, n, 'f', -1, 64)
}

func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) //nolint:errchkjson // a string has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
