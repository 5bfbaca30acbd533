package router

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/plainjson"
	"weir/router/label"
)

// object writes a JSON object member by member. The data of public events is
// written by hand because there is so much of it: encoding/json takes 21 µs of CPU
// for the events of a job instead of 13 (BenchmarkAnnounce), of 190 that the job takes
// in all (BenchmarkCycle), and needs a type for each event.
type object struct{ b []byte }

func newObject() object { return object{append(make([]byte, 0, 512), '{')} }

// key needs no escaping: keys are constants of this package.
func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), '"', ':')
}

func (o *object) end() json.RawMessage { return append(o.b, '}') }

func (o *object) text(k, v string) {
	o.key(k)
	o.b = plainjson.AppendText(o.b, v)
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
	for i, k := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(append(plainjson.AppendText(b, k), ':'), labels[k])
	}
	return append(b, '}')
}

func appendValue(b []byte, v label.Value) []byte {
	if out, ok := v.AppendJSON(b); ok {
		return out
	}
	text, _ := json.Marshal(v) //nolint:errchkjson // labels have only finite numbers
	return append(b, text...)
}
