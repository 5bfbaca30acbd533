package routing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/routing"
)

// A segment's data decodes to its events; truncated data is an error and never
// a shorter list.
func TestSegmentsAreReadBack(t *testing.T) {
	t.Parallel()
	data, err := routing.AppendEvents(nil, routing.Examples()...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := routing.NewDecoder().DecodeEvents(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := routing.AppendEvents(nil, found...)
	if diff := cmp.Diff(string(data), string(again)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	whole := len(found)
	for cut := 1; cut < len(data); cut++ {
		if found, err := routing.NewDecoder().DecodeEvents(data[:cut]); err == nil && data[cut-1] != '\n' {
			t.Fatalf("%d of %d bytes gave %d of %d events", cut, len(data), len(found), whole)
		}
	}
}

func FuzzDecodeEvents(f *testing.F) {
	data, err := routing.AppendEvents(nil, routing.Examples()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("jobForgotten {}\n"))
	f.Add([]byte("nothing {}\nRouterJobQueued {\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := routing.NewDecoder().DecodeEvents(data)
		if err != nil {
			return
		}
		once, err := routing.AppendEvents(nil, found...)
		if err != nil {
			t.Fatal(err)
		}
		found, err = routing.NewDecoder().DecodeEvents(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := routing.AppendEvents(nil, found...); string(twice) != string(once) {
			t.Errorf("%s became %s", once, twice)
		}
	})
}
