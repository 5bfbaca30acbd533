package supervise

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The delay grows with each crash of the same actor; a quiet time resets it. Other
// actors are not affected.
func TestRestarter_DelaysGrowUntilAQuietTime(t *testing.T) {
	t.Parallel()
	r := NewRestarter(func(string) {})
	now := time.Now()
	for n := 1; n <= 30; n++ {
		d := r.crashed("a", now)
		if n < faultedAfter && r.Faulted("a") || n >= faultedAfter && (!r.Faulted("a") || d != maxRestartDelay) {
			t.Errorf("crash %d: restart after %v, faulted %v", n, d, r.Faulted("a"))
		}
	}
	for id, at := range map[string]time.Time{"b": now, "a": now.Add(restartReset + time.Second)} {
		if d := r.crashed(id, at); d < minRestartDelay/2 || d > minRestartDelay {
			t.Errorf("the first crash of %s: restart after %v", id, d)
		}
	}
	r.Forget("b")
	if len(r.crashes) != 1 {
		t.Errorf("%d actors are remembered", len(r.crashes))
	}
}

func TestPanics_AreLoggedWithoutTheirData(t *testing.T) {
	t.Parallel()
	for _, r := range []any{"+15550100", errors.New("+15550100")} {
		if text := PanicText(r); strings.Contains(text, "5550100") {
			t.Error(text)
		}
	}
}

// A message to an actor that has stopped starts a goroutine of the library. It has
// ended when Shutdown returns: a bubble whose test ends before it panics.
func TestShutdown_WaitsForTheLibrarysGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		system := NewSystem(slog.New(slog.DiscardHandler))
		stopped := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
		if err := system.Root.StopFuture(stopped).Wait(); err != nil {
			t.Error(err)
		}
		system.Root.Send(stopped, "late")
		Shutdown(system)
	})
}
