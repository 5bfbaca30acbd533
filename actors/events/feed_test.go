package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
	"weir/internal/race"
	"weir/persistence"
)

// Events of a webhook's types that its filter does not want cost it no read of the log,
// and do not delay what it wants.
func TestFeed_UnwantedEventsCostNoRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		store := &catchUps{Store: g.store}
		g.o.Store = store
		g.add("a", func(w *events.Webhook) { w.Survey = "wanted" })
		g.start()
		defer g.stop()
		after(time.Second)
		begun := store.n.Load()
		for range 2 {
			g.emit(0, 2500, "other") // together more than the feed keeps
			after(time.Second)
		}
		g.emit(0, 1, "wanted")
		after(time.Second)
		g.wantAll("a", "wanted", 1)
		if n := store.n.Load() - begun; n > 0 {
			t.Errorf("it read the log %d times by itself", n)
		}
	})
}

// The feed keeps 8 MiB of events at most: a webhook that is further behind reads the log.
func TestFeed_KeepsEightMegabytesAtMost(t *testing.T) {
	race.Skip(t, "megabytes of events")
	t.Parallel()
	for size, behind := range map[int]bool{100: false, 1 << 20: true} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newHookRig(t)
				store := &catchUps{Store: g.store}
				g.o.Store = store
				g.latency["a"] = time.Second
				g.add("a")
				g.start()
				defer g.stop()
				after(time.Second)
				begun := store.n.Load()
				g.emit(0, 70, "s") // more than it reads ahead
				after(100 * time.Millisecond)
				pad := strings.Repeat("x", size)
				for n := 70; n < 79; n++ {
					if err := g.store.Emit(t.Context(), events.Event{
						Type: "weir.survey.state", Source: "surveys", Subject: "s", Data: json.RawMessage(fmt.Sprintf(`{"n":%d,"pad":%q}`, n, pad)),
					}); err != nil {
						t.Fatal(err)
					}
				}
				after(2 * time.Minute)
				g.wantAll("a", "s", 79)
				if n := store.n.Load() - begun; (n > 0) != behind {
					t.Errorf("it read the log %d times by itself", n)
				}
			})
		})
	}
}

// slowFeed is a store that the feed reads slowly at times.
type slowFeed struct {
	*persistence.Store
	slow atomic.Bool
}

func (s *slowFeed) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	if s.slow.Load() {
		if err := takes(ctx, time.Second); err != nil {
			return events.Chunk{}, err
		}
	}
	return s.Store.EventsOf(ctx, after, limit, types...)
}

// A webhook that is created while the log is read for the types of the others gets its own
// events, and the others theirs, also if the log was empty before.
func TestFeed_WebhookCreatedDuringAReadGetsItsEvents(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newHookRig(t)
				store := &slowFeed{Store: g.store}
				g.o.Store = store
				g.add("a")
				g.start()
				defer g.stop()
				g.emit(0, before, "s")
				after(time.Second)
				store.slow.Store(true)
				g.emit(before, before+1, "s")
				after(300 * time.Millisecond)
				g.add("b", func(w *events.Webhook) { w.Types = []string{"weir.contact.*"} })
				after(300 * time.Millisecond)
				if err := g.store.Emit(t.Context(), events.Event{Type: events.ContactDone, Source: "contacts", Subject: "c", Data: json.RawMessage(`{"n":0}`)}); err != nil {
					t.Fatal(err)
				}
				after(10 * time.Second)
				g.wantAll("a", "s", before+1)
				g.wantAll("b", "c", 1)
			})
		})
	}
}
