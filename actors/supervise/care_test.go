package supervise

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPausesGrowUntilItWasQuiet(t *testing.T) {
	t.Parallel()
	var a Restarter
	now := time.Unix(0, 0).Add(time.Hour)
	last := time.Duration(0)
	for range 30 {
		last = a.crashed(now)
	}
	if first := (&Restarter{}).crashed(now); first > MinRestartDelay || last < MaxRestartDelay/2 || last > MaxRestartDelay {
		t.Errorf("pauses from %v to %v", first, last)
	}
	if again := a.crashed(now.Add(restartQuiet + time.Second)); again > MinRestartDelay {
		t.Errorf("after a quiet time the pause is %v", again)
	}
}

func TestPanicsAreToldWithoutTheirData(t *testing.T) {
	t.Parallel()
	for _, r := range []any{"+15550100", errors.New("+15550100")} {
		if text := PanicText(r); strings.Contains(text, "5550100") {
			t.Error(text)
		}
	}
}
