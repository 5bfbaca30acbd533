package persistence_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/events"
	"weir/persistence"
)

// row is an event as encoding/json writes it into a row.
type row struct {
	Type    string          `json:"t"`
	Source  string          `json:"s"`
	Subject string          `json:"u"`
	At      int64           `json:"a"`
	Data    json.RawMessage `json:"d"`
}

// The codec writes and reads exactly as encoding/json does.
func TestBlocksAreAsTheyWere(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "router", "job/1", `"`, `\`, "<&>", "é", "\u2028", "\xff", "a\nb"}), rapid.String())
	data := rapid.OneOf(
		rapid.SampledFrom([]string{
			`{}`, `[]`, `null`, `true`, `false`, `0`, `-0.5e+7`, `01`, `1.`, `1e`, `-`, `"a`, `"\u12g4"`, `"\u12F4\n"`, `{"a":}`, `{"a":1,}`, `[1,2]`,
			`[1,]`, ` 1`, `1 `, `{"a": 1}`, `"<"`, "\"\u2028\"", "\"\u2029\"", "\"é\"", "\"\xe2\"", "\"\xff\"", "\"a\tb\"", `nul`, `{"a":{"b":[{},[],"",1.5E-3]}}`, `{}{}`, "",
			`{"jobId":"7","labels":{"skill":"x","n":1,"b":true}}`, `"\`, `"\u1`, `{"a"`, `{1:2}`, `[`, `]`, `"&\u0026"`,
		}),
		rapid.Map(rapid.MapOf(text, text), func(m map[string]string) string {
			b, _ := json.Marshal(m)
			return string(b)
		}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		var list []events.Event
		var want []row
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			e := events.Event{
				Type: text.Draw(t, "type"), Source: text.Draw(t, "source"), Subject: text.Draw(t, "subject"),
				At: time.UnixMicro(rapid.Int64Range(1, 1e16).Draw(t, "at")).UTC(), Data: json.RawMessage(data.Draw(t, "data")),
			}
			list = append(list, e)
			want = append(want, row{e.Type, e.Source, e.Subject, e.At.UnixMicro(), e.Data})
		}
		if want == nil {
			want = []row{}
		}
		expected, expectedErr := json.Marshal(want)
		got, err := persistence.EncodeBlock(list)
		if (err != nil) != (expectedErr != nil) {
			t.Fatalf("%v; want %v", err, expectedErr)
		}
		if err != nil {
			return
		}
		if string(got) != string(expected) {
			t.Fatalf("written as\n%s; want\n%s", got, expected)
		}
		var rows []row
		if err := json.Unmarshal(expected, &rows); err != nil {
			t.Fatal(err)
		}
		read, err := persistence.DecodeBlock(int64(len(rows)), got)
		if err != nil {
			t.Fatal(err)
		}
		again := make([]row, len(read))
		for i, e := range read {
			again[i] = row{e.Type, e.Source, e.Subject, e.At.UnixMicro(), e.Data}
			if e.ID != int64(i+1) {
				t.Errorf("event %d has the id %d", i, e.ID)
			}
		}
		if diff := cmp.Diff(rows, again); diff != "" {
			t.Errorf("read otherwise (-want +got):\n%s", diff)
		}
	})
}
