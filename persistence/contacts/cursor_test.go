package contacts

import (
	"testing"

	"weir"
)

func FuzzCursor(f *testing.F) {
	f.Add(cursor{Channel: 1, ID: 2}.String())
	f.Add(cursor{Channel: 1, State: 1, Lane: -5, Pos: 7, ID: 2}.String())
	f.Add("e30")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, filter := range []weir.ContactFilter{{}, {States: []weir.State{weir.Queued}}, {Key: "k"}} {
			c, err := parseCursor(text, &filter)
			if err != nil {
				if weir.CodeOf(err) != weir.CodeInvalid {
					t.Errorf("error %v", err)
				}
				continue
			}
			if c.String() != text {
				t.Errorf("%q reads as %q", text, c.String())
			}
		}
	})
}
