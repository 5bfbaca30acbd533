package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/race"
	"weir/persistence"
	"weir/persistence/storetest"
)

func TestDelivery_DeliversEachEventOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.emit(0, 3, "before") // before any receiver is registered
		g.start()
		g.emit(0, 100, "a", "b", "c")
		if err := g.store.Emit(t.Context(), events.Event{Source: "surveys", Subject: "a", Data: json.RawMessage("99")}); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		for _, s := range []string{"a", "b", "c"} {
			g.wantAll(s, 100)
		}
		g.wantAll("before", 0)
		g.stop()
		if n := g.count("delivered"); n != 300 {
			t.Errorf("%d deliveries", n)
		}
		g.emit(100, 110, "a")
		g.start()
		after(time.Second)
		g.wantAll("a", 110)
		if n := g.total(); n != 310 {
			t.Errorf("%d deliveries: an orderly restart repeats some", n)
		}
		g.stop()
	})
}

// TestDelivery_FailingSubjectHoldsUpNoOther: other subjects do not wait, not even for
// long, and its own events stay in order.
func TestDelivery_FailingSubjectHoldsUpNoOther(t *testing.T) {
	for name, takes := range map[string]time.Duration{
		"fails":            0,
		"fails after long": 10 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				var well atomic.Bool
				g.judge = func(e events.Event, _ int) error {
					if e.Subject == "bad" && !well.Load() {
						time.Sleep(takes)
						return errNo
					}
					return nil
				}
				g.start()
				for n := range 20 {
					g.emit(n*50, n*50+50, "bad", "good")
					after(200 * time.Millisecond)
				}
				after(time.Minute)
				g.wantAll("good", 1000)
				g.wantAll("bad", 0)
				p, err := g.store.Progress(t.Context(), "r")
				if err != nil || len(p.Deferred) != 1000 || p.Cursor != 2000 {
					t.Errorf("at %d with %d aside (%v)", p.Cursor, len(p.Deferred), err)
				}
				g.stop()
				g.start() // deferred events survive
				well.Store(true)
				after(7 * time.Minute)
				g.wantAll("bad", 1000)
				if p, err := g.store.Progress(t.Context(), "r"); err != nil || len(p.Deferred) != 0 {
					t.Errorf("%d are still aside (%v)", len(p.Deferred), err)
				}
				g.stop()
			})
		})
	}
}

func TestDelivery_WhatFailsForADayIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.PollEvery = time.Minute
		var log bytes.Buffer
		g.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		g.judge = func(e events.Event, _ int) error {
			if string(e.Data) == "0" {
				return errNo
			}
			return nil
		}
		g.start()
		g.emit(0, 2, "a")
		after(23*time.Hour + 50*time.Minute)
		if list := g.of("a"); len(list) != 0 {
			t.Errorf("%v overtook", list)
		}
		first := g.tried(1)
		if first < 24*12-1 || first > 24*60 {
			t.Errorf("%d tries in a day", first)
		}
		after(16 * time.Minute)
		if list := g.of("a"); len(list) != 1 || list[0] != "1" || g.count("dead") != 1 {
			t.Errorf("got %v, %d dead", list, g.count("dead"))
		}
		tries := g.tried(1)
		after(time.Hour)
		if g.tried(1) != tries {
			t.Error("a dead event is tried")
		}
		g.stop()
		if said := fmt.Sprintf("event=1 tries=%d\n", tries); !strings.Contains(log.String(), said) {
			t.Errorf("the log does not say %q: %s", said, log.String())
		}
	})
}

// TestDelivery_OutageOfTheReceiverTakesNoMemory lasts longer than the max number of deferred events
// covers: the log is the queue then, and memory stays bounded.
func TestDelivery_OutageOfTheReceiverTakesNoMemory(t *testing.T) {
	race.Skip(t, "hours of events for one receiver")
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.MaxDeferred, g.o.Window = 50, 100
		var well atomic.Bool
		g.judge = func(events.Event, int) error {
			if !well.Load() {
				return errNo
			}
			return nil
		}
		g.start()
		for n := range 20 {
			g.emit(n*10, n*10+10, "a", "b", "c", "d", "e")
			after(time.Second)
		}
		after(time.Minute)
		if p, err := g.store.Progress(t.Context(), "r"); err != nil || len(p.Deferred) != 50 || p.Cursor != 50 {
			t.Errorf("at %d with %d aside (%v)", p.Cursor, len(p.Deferred), err)
		}
		well.Store(true)
		after(10 * time.Minute)
		for _, s := range []string{"a", "b", "c", "d", "e"} {
			g.wantAll(s, 200)
		}
		g.stop()
	})
}

// TestDelivery_CrashesLoseNothing ends the process at arbitrary instants, with a receiver
// that fails occasionally.
func TestDelivery_CrashesLoseNothing(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 1))
			failing, n, rounds := 2+chance.IntN(19), 0, 1+chance.IntN(6)
			g := newRig(t)
			g.o.MaxDeferred, g.o.Window, g.o.Concurrency, g.o.PollEvery = 1+chance.IntN(60), 40, 3, 10*time.Second
			g.judge = func(events.Event, int) error {
				g.mu.Lock()
				defer g.mu.Unlock()
				if n++; n%failing == 0 {
					return errNo
				}
				return nil
			}
			for i := range rounds {
				g.start()
				g.emit(i*20, i*20+20, "a", "b", "c")
				after(time.Duration(chance.IntN(400)) * time.Millisecond)
				g.crash()
			}
			g.start()
			after(15 * time.Minute)
			for _, s := range []string{"a", "b", "c"} {
				g.wantAll(s, 20*rounds)
			}
			g.stop()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

func TestDelivery_PurgedEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.start()
		g.stop()
		g.emit(0, 10, "a")
		if _, err := g.store.PurgeEvents(t.Context(), time.Now().Add(time.Hour), 10); err != nil {
			t.Fatal(err)
		}
		g.emit(10, 11, "a")
		g.start()
		after(time.Second)
		if list := g.of("a"); len(list) != 1 || g.count("lost") != 10 {
			t.Errorf("got %v, %d lost", list, g.count("lost"))
		}
		g.stop()
	})
}

// TestDelivery_PanicIsAFailure: the event is delivered again, and the log has the stack
// without the value, which may hold personal data.
func TestDelivery_PanicIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var log bytes.Buffer
		g.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		g.judge = func(_ events.Event, try int) error {
			if try == 1 {
				panic("+15550100")
			}
			return nil
		}
		g.start()
		g.emit(0, 3, "a")
		after(time.Minute)
		g.wantAll("a", 3)
		g.stop()
		if text := log.String(); strings.Contains(text, "5550100") || strings.Count(text, "delivery_test.go") < 3 {
			t.Errorf("the log: %s", text)
		}
	})
}

func TestDelivery_OptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := delivery.Receiver{Name: "r", Wants: func(events.Event) bool { return true }, Deliver: nil}
	for i, o := range []delivery.Options{{}, {Store: (*persistence.Store)(nil), Receivers: []delivery.Receiver{good}}} {
		if _, err := delivery.Start(t.Context(), o); err == nil {
			t.Errorf("options %d were taken", i)
		}
	}
	for length, ok := range map[int]bool{100: true, 101: false} {
		r := delivery.Receiver{Name: strings.Repeat("r", length), Types: []string{"t"}, Deliver: func(context.Context, events.Event) error { return nil }}
		s, err := delivery.Start(t.Context(), delivery.Options{Store: storetest.SQLite(t), Receivers: []delivery.Receiver{r}})
		if (err == nil) != ok {
			t.Errorf("a name of %d characters: %v", length, err)
		}
		if err == nil {
			_ = s.Close(t.Context())
		}
	}
	s, err := delivery.Start(t.Context(), delivery.Options{Store: storetest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(fmt.Errorf("without receivers: %w", err))
	}
}
