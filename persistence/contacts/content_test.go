package contacts_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/persistence/contacts"
)

// FuzzContent writes and reads messages and compares with the encoder of the
// standard library: what is stored stays JSON that anybody reads.
func FuzzContent(f *testing.F) {
	for _, seed := range [][2]string{{"plain", ""}, {`"quoted"`, "\\"}, {`a","b`, `"]}`}, {"Grüße\n", "\u2028<&>"}, {"\xff", "\x00"}, {"", ""}} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	f.Fuzz(func(t *testing.T, a, b string, both bool) {
		messages := []string{a}
		if both {
			messages = append(messages, b)
		}
		text, err := contacts.EncodeContent(&weir.Spec{Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		standard, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if err := json.Unmarshal(standard, &want); err != nil {
			t.Fatal(err)
		}
		var plain struct{ Messages []string }
		if err := json.Unmarshal([]byte(text), &plain); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := contacts.DecodeContent(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, list := range [][]string{plain.Messages, got} {
			if d := cmp.Diff(want, list); d != "" {
				t.Errorf("%s (-want +got):\n%s", text, d)
			}
		}
	})
}
