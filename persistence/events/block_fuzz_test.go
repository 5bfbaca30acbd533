package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/events"
	eventstore "weir/persistence/events"
)

// FuzzDecodeBlock: a row of the log is refused or gives events whose ids end
// with the row's, and which can be written again.
func FuzzDecodeBlock(f *testing.F) {
	for _, s := range []string{
		`[{"t":"a","s":"router","u":"job/1","a":1700000000000000,"d":{"jobId":"1"}},{"t":"b","s":"surveys","u":"","a":1,"d":null}]`,
		`[]`, `null`, `{}`, `[{}]`, `[{"d":[1,2]},null]`, `[{"a":1e3}]`, `[{"a":-9223372036854775808}]`, `[{"d":"\ud800"}]`, `[`,
	} {
		f.Add(int64(2), []byte(s))
	}
	f.Add(int64(2), eventstore.EncodeContacts(eventstore.ContactEvent{Type: events.ContactDone, At: time.UnixMicro(1_700_000_000_000_000), Ref: weir.Ref{Channel: 1, ID: 2}, Data: events.ContactData{
		Key: "k", Channel: "c", To: "+1555", Survey: "s", Labels: map[string]string{"a": "b"}, Attempts: 3, ProviderRef: "ref", Outcome: weir.Failed, Reason: "r", QueuedAt: time.UnixMicro(1), FinishedAt: time.UnixMicro(1 << 50),
	}}, eventstore.ContactEvent{Type: events.ContactDispatched}))
	for _, broken := range [][]byte{{1}, {1, 0}, {1, 0, 0}, {1, 1, 0, 9}, {1, 255, 255, 255, 255, 255, 255, 255, 255, 127, 0}} {
		f.Add(int64(2), broken)
	}
	f.Fuzz(func(t *testing.T, last int64, payload []byte) {
		list, err := eventstore.DecodeBlock(last, payload)
		if err != nil {
			return
		}
		for i, e := range list {
			if e.ID != last-int64(len(list)-1-i) {
				t.Errorf("event %d of %d before %d has the id %d", i, len(list), last, e.ID)
			}
			if e.Source == events.SourceContacts && !json.Valid(e.Data) {
				t.Errorf("%q is no JSON", e.Data)
			}
			if e.At.IsZero() {
				return // the time of writing would be put in its place
			}
		}
		again, err := eventstore.EncodeBlock(list)
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		same, err := eventstore.DecodeBlock(last, again)
		if err != nil || len(same) != len(list) {
			t.Fatalf("%s became %s: %v", payload, again, err)
		}
		for i := range list {
			list[i].Data, same[i].Data = nil, nil // written compactly
		}
		if diff := cmp.Diff(list, same); diff != "" {
			t.Errorf("%s became %s (-first +second):\n%s", payload, again, diff)
		}
	})
}
