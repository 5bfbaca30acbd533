package events_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
	"weir/persistence"
)

// faultyLog is a store whose log single events cannot be read from for a while, and which
// reports no events of its own process if silent is set.
type faultyLog struct {
	*persistence.Store
	broken atomic.Bool
	silent bool
	lists  atomic.Int64 // times that the webhooks were read
}

func (f *faultyLog) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	if f.broken.Load() && limit == 1 {
		return nil, errors.New("the log cannot be read")
	}
	return f.Store.EventsSince(ctx, after, limit)
}

func (f *faultyLog) OnEvents(called func()) (stop func()) {
	if f.silent {
		return func() {}
	}
	return f.Store.OnEvents(called)
}

func (f *faultyLog) Webhooks(ctx context.Context, after string, limit int) ([]events.Webhook, error) {
	f.lists.Add(1)
	return f.Store.Webhooks(ctx, after, limit)
}

// A deferred event that cannot be read from the log is not the receiver's failure: however
// old it is by then, it is delivered once the log can be read.
func TestRunner_UnreadableLogDeclaresNoEventDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		log := &faultyLog{Store: g.store}
		g.o.Store, g.o.GiveUp = log, 10*time.Minute
		g.judge = func(_ events.Event, try int) error {
			if try == 1 {
				return errNo
			}
			return nil
		}
		g.start()
		g.emit(0, 1, "a")
		after(10 * time.Millisecond)
		g.stop() // the event is deferred: it is in the log alone
		log.broken.Store(true)
		g.start()
		after(time.Hour)
		if n := g.tried(1); n != 1 {
			t.Errorf("%d deliveries of an event that cannot be read, want 1", n)
		}
		log.broken.Store(false)
		after(time.Minute)
		g.wantAll("a", 1)
		if n := g.count("dead"); n != 0 {
			t.Errorf("%d events were abandoned", n)
		}
		g.stop()
	})
}

// Events of other processes are found by polling.
func TestRunner_PollsForOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Store, g.o.PollEvery = &faultyLog{Store: g.store, silent: true}, 30*time.Second
		g.start()
		after(time.Second)
		for n := range 3 {
			g.emit(n, n+1, "a")
			after(31 * time.Second)
			g.wantAll("a", n+1)
		}
		g.stop()
	})
}

// A place of a receiver that failed gets another delivery, however small the concurrency is.
func TestRunner_FailingPlaceIsTriedAtASmallConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Concurrency = 4
		g.o.Receivers[0].Order = func(e events.Event) string { return e.Subject }
		g.o.Receivers[0].Group = func(order string) string { return strings.TrimRight(order, "0123456789") }
		g.judge = func(e events.Event, try int) error {
			if strings.HasPrefix(e.Subject, "bad") && try <= 2 {
				return errNo
			}
			return nil
		}
		g.start()
		g.emit(0, 3, "bad1", "bad2", "good1")
		after(time.Hour)
		for _, s := range []string{"bad1", "bad2", "good1"} {
			g.wantAll(s, 3)
		}
		g.stop()
	})
}

// A webhook that is behind gets all of its events, while others are written that it does
// not want.
func TestFeed_WebhookThatIsBehindMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.latency["a"] = 100 * time.Millisecond
		g.add("a", func(w *events.Webhook) { w.Survey = "wanted" })
		g.start()
		after(time.Second)
		g.emit(0, 500, "wanted") // more than are read ahead
		for n := range 100 {
			after(100 * time.Millisecond)
			g.emit(n, n+1, "other")
		}
		after(10 * time.Minute)
		g.wantAll("a", "wanted", 500)
		g.stop()
	})
}

// The webhooks are read again when one was changed, and beside that as often as other
// processes are polled.
func TestDispatcher_ReadsWebhooksAgainOnlyWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		log := &faultyLog{Store: g.store}
		g.h.Store = log
		g.add("a")
		g.start()
		after(20 * time.Second)
		if n := log.lists.Load(); n != 1 {
			t.Errorf("the webhooks were read %d times in 20 s, want once", n)
		}
		g.change("a", func(w *events.Webhook) { w.Description = "changed" })
		after(time.Second)
		if n := log.lists.Load(); n != 2 {
			t.Errorf("the webhooks were read %d times with one change, want twice", n)
		}
		g.stop()
	})
}

// A try names the event and its type, and tells how long it took. Nothing is wrong then.
func TestDispatcher_TriesNameTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		var log bytes.Buffer
		g.o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		g.add("a")
		g.start()
		after(time.Second)
		g.emit(0, 1, "s")
		after(5 * time.Second)
		tries, err := g.store.Tries(t.Context(), "a", 0, 10)
		if err != nil || len(tries) != 1 || tries[0].Event != 1 || tries[0].Type != "weir.survey.state" || tries[0].Status != 204 ||
			tries[0].Duration != 3*time.Millisecond || time.Since(tries[0].At) != 5*time.Second {
			t.Errorf("%+v (%v)", tries, err)
		}
		g.stop()
		if log.Len() > 0 {
			t.Errorf("warnings: %s", log.String())
		}
	})
}
