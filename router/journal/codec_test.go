package journal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/router/journal"
)

// A segment's data decodes to its events; truncated data is an error and never
// a shorter list.
func TestCodec_SegmentsRoundTrip(t *testing.T) {
	t.Parallel()
	data, err := journal.Append(nil, journal.Examples()...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := journal.NewDecoder().Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := journal.Append(nil, found...)
	if diff := cmp.Diff(string(data), string(again)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	whole := len(found)
	for cut := 1; cut < len(data); cut++ {
		if found, err := journal.NewDecoder().Decode(data[:cut]); err == nil && data[cut-1] != '\n' {
			t.Fatalf("%d of %d bytes gave %d of %d events", cut, len(data), len(found), whole)
		}
	}
}

func FuzzDecodeEvents(f *testing.F) {
	data, err := journal.Append(nil, journal.Examples()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("jobForgotten {}\n"))
	f.Add([]byte("nothing {}\nRouterJobQueued {\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := journal.NewDecoder().Decode(data)
		if err != nil {
			return
		}
		once, err := journal.Append(nil, found...)
		if err != nil {
			t.Fatal(err)
		}
		found, err = journal.NewDecoder().Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := journal.Append(nil, found...); string(twice) != string(once) {
			t.Errorf("%s became %s", once, twice)
		}
	})
}
