package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"weir/config"
	"weir/persistence/storetest"
)

// A client that disconnects while it resumes Weir leaves no channel held: the next
// read of the hold reaches the channels that the request did not reach.
func TestResume_EndOfAHoldIsRetried(t *testing.T) {
	t.Parallel()
	store := storetest.SQLite(t)
	h, err := openHold(t.Context(), config.Config{Paused: true}, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tries, broken := 0, errors.New("the client went away")
	h.onEnd = func(context.Context) error {
		if tries++; tries == 1 {
			return broken
		}
		return nil
	}
	if err := h.Release(t.Context()); !errors.Is(err, broken) || !h.Since().IsZero() {
		t.Errorf("%v, held since %v", err, h.Since())
	}
	for range 2 {
		if err := h.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if tries != 2 {
		t.Errorf("onEnd was called %d times, want 2", tries)
	}
	if ended, err := h.wait(t.Context()); err != nil || time.Since(ended) > time.Minute {
		t.Errorf("it ended at %v: %v", ended, err)
	}
}
