package plainjson_test

import (
	"encoding/json"
	"testing"

	"weir/internal/plainjson"
)

// Parse reads the usual bodies of requests by hand, which takes half as long as
// encoding/json.
func TestParse_ReadsUsualBodiesByHand(t *testing.T) {
	body := []byte(`{"contacts":[{"key":"k-1","to":"+15550001","priority":"high","messages":["Hello"]},{"key":"k-2","to":"+15550002","messages":["Hello"]}]}`)
	count := func(read func()) float64 { return testing.AllocsPerRun(100, read) }
	parse := count(func() { _, _ = plainjson.Parse(body) })
	value := count(func() { _, _ = plainjson.Value(body) })
	decode := count(func() {
		var v any
		_ = json.Unmarshal(body, &v)
	})
	if parse > value || value >= decode {
		t.Errorf("%v allocations; by hand %v, encoding/json %v", parse, value, decode)
	}
}
