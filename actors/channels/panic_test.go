package channels

import (
	"errors"
	"strings"
	"testing"

	"weir/actors/supervise"
)

// TestPanicText_HoldsNoData: a driver that panics with a phone number in the value
// must not put it into the log.
func TestPanicText_HoldsNoData(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"bad number +15550100", errors.New("bad number +15550100")} {
		if text := supervise.PanicText(value); strings.Contains(text, "5550100") {
			t.Errorf("%q", text)
		}
	}
	text := func() (text string) {
		defer func() { text = supervise.PanicText(recover()) }()
		var list []int
		return string(rune(list[len(list)]))
	}()
	if !strings.Contains(text, "index out of range") {
		t.Errorf("a fault of the program is not told: %q", text)
	}
}
