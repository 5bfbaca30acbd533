package events_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	delivery "weir/actors/events"
	"weir/events"
)

// After a restart, the age of the oldest undelivered event is known before the next try.
func TestRunner_KnowsTheAgeOfDeferredEventsAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.PollEvery = time.Minute
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 1, "a")
		after(30 * time.Minute)
		g.stop()
		tries := g.tried(1)
		g.start()
		after(2 * time.Second)
		if age := g.gauge("weir_event_oldest_undelivered_seconds"); g.tried(1) == tries && (age < 1800 || age > 1810) {
			t.Errorf("the age is %v seconds after half an hour", age)
		}
		g.stop()
	})
}

// An event that was purged while it was deferred is dead; those behind it go on.
func TestRunner_PurgedDeferredEventIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.PollEvery = time.Minute
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 1, "a")
		after(time.Minute)
		g.stop()
		if _, err := g.store.PurgeEvents(t.Context(), time.Now().Add(time.Hour), 10); err != nil {
			t.Fatal(err)
		}
		tries := g.total()
		g.judge = nil
		g.start()
		after(10 * time.Minute)
		if n := g.count("dead"); n != 1 || g.total() != tries {
			t.Errorf("%d events are dead, %d were delivered", n, g.total()-tries)
		}
		g.emit(0, 1, "a")
		after(time.Minute)
		g.wantAll("a", 1)
		if p, err := g.store.Progress(t.Context(), "r"); err != nil || len(p.Deferred) != 0 {
			t.Errorf("%+v (%v)", p, err)
		}
		g.stop()
	})
}

// A webhook with a filter that is behind what is in memory reads the log, and gets what
// it wants alone.
func TestFeed_FilterHoldsWhileTheLogIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.add("a", func(w *events.Webhook) { w.Survey = "wanted" })
		g.emit(0, 5, "wanted", "other")
		g.start()
		after(time.Second)
		g.wantAll("a", "wanted", 5)
		g.wantAll("a", "other", 0)
		g.stop()
	})
}

// The tries of a webhook that is changed right after them are kept.
func TestDispatcher_KeepsTheTriesBeforeAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.add("a")
		g.start()
		after(1100 * time.Millisecond)
		g.emit(0, 1, "s")
		after(100 * time.Millisecond)
		g.change("a", func(w *events.Webhook) { w.Types = append(w.Types, "weir.contact.*") })
		after(5 * time.Second)
		if tries, err := g.store.Tries(t.Context(), "a", 0, 10); err != nil || len(tries) != 1 {
			t.Errorf("%+v (%v)", tries, err)
		}
		g.stop()
	})
}

// The metrics count webhooks by state; one that was deleted while it failed counts no more.
func TestDispatcher_CountsWebhooksByState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		reg := prometheus.NewRegistry()
		g.o.Metrics = delivery.NewMetrics(reg)
		check := func(when, enabled, failing, deferred string) {
			t.Helper()
			want := `
# HELP weir_event_deliveries_aside Events deferred because they, or an event ahead of them, failed.
# TYPE weir_event_deliveries_aside gauge
weir_event_deliveries_aside{receiver="webhooks"} ` + deferred + `
# HELP weir_webhooks Webhooks by state, in the process that delivers events.
# TYPE weir_webhooks gauge
weir_webhooks{state="disabled"} 1
weir_webhooks{state="enabled"} ` + enabled + `
weir_webhooks{state="failing"} ` + failing + `
weir_webhooks{state="paused"} 1
`
			if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "weir_webhooks", "weir_event_deliveries_aside"); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		g.add("works")
		g.add("fails")
		g.add("paused", func(w *events.Webhook) { w.Enabled = false })
		g.add("disabled", func(w *events.Webhook) { w.Enabled, w.Disabled = false, events.DisabledGone })
		g.judged(func(url string, _ hookEvent) (int, string, error) {
			if url == "fails" {
				return 500, "", nil
			}
			return 200, "", nil
		})
		g.start()
		after(2 * time.Second)
		check("at the beginning", "2", "0", "0")
		g.emit(0, 1, "s", "t")
		after(5 * time.Minute)
		check("while one fails", "1", "1", "2")
		if err := g.store.DeleteWebhook(t.Context(), "fails", 0); err != nil {
			t.Fatal(err)
		}
		after(10 * time.Second)
		check("without it", "1", "0", "0")
		g.stop()
	})
}

// A restart does not shorten the rest that a receiver has after many failures.
func TestRunner_RestartDoesNotShortenARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.PollEvery = time.Minute
		g.o.FirstPause, g.o.LastPause = time.Hour, time.Hour
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 1, "a")
		after(time.Minute)
		g.stop()
		g.start()
		defer g.stop()
		after(20 * time.Minute) // half of a pause is not random
		if n := g.tried(1); n != 1 {
			t.Errorf("%d tries before the end of the rest", n)
		}
		after(time.Hour)
		if n := g.tried(1); n < 2 {
			t.Error("no try after the rest")
		}
	})
}
