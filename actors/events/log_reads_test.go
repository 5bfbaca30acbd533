package events_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
	"weir/persistence"
)

// unreadable is a store whose log cannot be read at times.
type unreadable struct {
	*persistence.Store
	down atomic.Bool
}

func (u *unreadable) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	if u.down.Load() {
		return nil, errNo
	}
	return u.Store.EventsSince(ctx, after, limit)
}

func (u *unreadable) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	if u.down.Load() {
		return events.Chunk{}, errNo
	}
	return u.Store.EventsOf(ctx, after, limit, types...)
}

// What was committed while the log could not be read arrives within seconds after that,
// and not only with the next poll.
func TestRunner_ReadsTheLogSoonAfterAReadFailed(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]bool{"every type": false, "one type": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				store := &unreadable{Store: g.store}
				g.o.Store, g.o.PollEvery = store, time.Hour
				if typed {
					g.o.Receivers[0].Types = []string{"t"}
				}
				g.start()
				defer g.stop()
				after(time.Second)
				store.down.Store(true)
				g.emit(0, 3, "a")
				after(5 * time.Second)
				if n := g.total(); n != 0 {
					t.Errorf("%d events of a log that cannot be read", n)
				}
				store.down.Store(false)
				after(2 * time.Second)
				g.wantAll("a", 3)
			})
		})
	}
}

func TestWebhooks_ReadTheLogSoonAfterAReadFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		store := &unreadable{Store: g.store}
		g.o.Store, g.o.PollEvery = store, time.Hour
		g.add("wh1")
		g.start()
		defer g.stop()
		after(time.Second)
		store.down.Store(true)
		g.emit(0, 3, "a")
		after(5 * time.Second)
		g.wantAll("wh1", "a", 0)
		store.down.Store(false)
		after(2 * time.Second)
		g.wantAll("wh1", "a", 3)
	})
}
