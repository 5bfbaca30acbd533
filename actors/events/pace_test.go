package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
	"weir/internal/race"
	"weir/persistence"
)

// TestPace_SlowSubjectHoldsUpNoOther: nothing fails, but one event takes long, or
// each of many does.
func TestPace_SlowSubjectHoldsUpNoOther(t *testing.T) {
	for name, slow := range map[string]time.Duration{"one": time.Minute, "many": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.o.Window, g.o.PollEvery = 600, time.Minute
				g.judge = func(e events.Event, _ int) error {
					if e.Subject == "bad" {
						time.Sleep(slow)
					}
					return nil
				}
				g.start()
				for n := 0; n < 700; n += 20 { // a deferred event is read again together with the others of its row
					g.emit(n, n+20, "bad", "good")
				}
				after(20 * time.Second)
				g.wantAll("good", 700)
				after(700*slow + time.Minute)
				g.wantAll("bad", 700)
				g.stop()
			})
		})
	}
}

func TestPace_NewsAreDeliveredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.PollEvery = time.Hour
		g.start()
		after(10 * time.Minute)
		for n := range 5 { // one soon after the other
			g.emit(n, n+1, "a")
			after(20 * time.Millisecond)
			g.wantAll("a", n+1)
		}
		g.stop()
	})
}

func TestPace_TriesSurviveACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 1, "a")
		after(time.Minute)
		g.crash()
		p, err := g.store.Progress(t.Context(), "r")
		if err != nil || len(p.Deferred) != 1 || p.Deferred[0].Tries < g.tried(1)-1 || p.Deferred[0].Tries < 3 {
			t.Errorf("%d tries, stored %+v (%v)", g.tried(1), p, err)
		}
	})
}

// late is a slow store that counts concurrent writes.
type late struct {
	*persistence.Store
	writing, most atomic.Int32
}

func (s *late) Advance(ctx context.Context, step events.Step) error {
	if n := s.writing.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.writing.Add(-1)
	if err := takes(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	return s.Store.Advance(ctx, step)
}

func TestPace_StepsAreWrittenOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		s := &late{Store: g.store}
		g.o.Store = s
		g.start()
		g.emit(0, 300, "a", "b")
		after(10 * time.Second)
		g.wantAll("a", 300)
		g.stop()
		if s.most.Load() != 1 {
			t.Errorf("%d steps were written at once", s.most.Load())
		}
	})
}

// reads is a store that counts reads of the log, and slows down endless ones.
type reads struct {
	*persistence.Store
	n, steps atomic.Int32
}

func (s *reads) Advance(ctx context.Context, step events.Step) error {
	s.steps.Add(1)
	return s.Store.Advance(ctx, step)
}

func (s *reads) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	if s.n.Add(1) > 5000 {
		if err := takes(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return s.Store.EventsSince(ctx, after, limit)
}

func (s *reads) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	s.n.Add(1)
	return s.Store.EventsOf(ctx, after, limit, types...)
}

// Events that others commit all the time and a receiver does not want cost it few
// reads and few writes, and the events that it wants still come soon, whether it
// selects them by a function or by types.
func TestPace_UnwantedEventsAreCheap(t *testing.T) {
	race.Skip(t, "thousands of events for one receiver")
	t.Run("by a function", func(t *testing.T) { testPassedByCheaply(t, nil) })
	t.Run("by types", func(t *testing.T) { testPassedByCheaply(t, []string{"t"}) })
}

func testPassedByCheaply(t *testing.T, types []string) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		s := &reads{Store: g.store}
		g.o.Store, g.o.PollEvery = s, time.Hour
		if types != nil {
			g.o.Receivers[0].Types, g.o.Receivers[0].Wants = types, nil
		}
		g.start()
		after(time.Minute)
		began := s.n.Load()
		for range 2000 {
			if err := g.store.Emit(t.Context(), events.Event{Type: "other", Source: "others", Data: json.RawMessage("1")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := s.n.Load() - began; n > 200 || s.steps.Load() > 5 {
			t.Errorf("%d looks and %d writes in two seconds", n, s.steps.Load())
		}
		g.emit(0, 5, "a")
		after(200 * time.Millisecond)
		g.wantAll("a", 5)
		after(2 * time.Second)
		if p, err := g.store.Progress(t.Context(), "r"); err != nil || p.Cursor != 2005 {
			t.Errorf("it is at %d of 2005 (%v)", p.Cursor, err)
		}
		g.stop()
	})
}

// Events behind a delivery that does not take long stay in the window: nothing is written
// about each of them.
func TestRunner_NothingIsDeferredAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.judge = func(events.Event, int) error {
			time.Sleep(time.Second)
			return nil
		}
		g.start()
		defer g.stop()
		g.emit(0, 5, "a")
		after(1500 * time.Millisecond)
		if p, err := g.store.Progress(t.Context(), "r"); err != nil || len(p.Deferred) != 0 || p.Cursor != 1 {
			t.Errorf("at %d with %d deferred (%v)", p.Cursor, len(p.Deferred), err)
		}
	})
}

// At max concurrency, due events wait for a delivery to finish.
func TestPace_DueEventsWaitForAReceiverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		s := &reads{Store: g.store}
		g.o.Store, g.o.Concurrency = s, 2
		g.judge = func(_ events.Event, try int) error {
			switch try {
			case 1:
				return errNo
			case 2:
				time.Sleep(10 * time.Second)
			}
			return nil
		}
		g.start()
		g.emit(0, 1, "a", "b", "c", "d", "e", "f")
		after(40 * time.Second)
		for _, subject := range []string{"a", "b", "c", "d", "e", "f"} {
			g.wantAll(subject, 1)
		}
		g.stop()
		if n := s.n.Load(); n > 1000 {
			t.Errorf("the log was looked into %d times", n)
		}
	})
}

// endless is a log to which others write faster than it can be read.
type endless struct {
	*persistence.Store
}

func (s *endless) EventsSince(ctx context.Context, after int64, limit int) ([]events.Event, error) {
	if err := takes(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	list := make([]events.Event, min(limit, 50))
	for i := range list {
		list[i] = events.Event{ID: after + 1 + int64(i), Source: "other"}
		if list[i].ID%1000 == 0 {
			list[i].Source, list[i].Subject = "router", "a"
		}
	}
	return list, nil
}

// Unwanted events that others write all the time delay neither wanted ones nor the
// writing of the cursor.
func TestPace_GrowingLogDelaysNoWantedEvent(t *testing.T) {
	race.Skip(t, "40,000 events for one receiver")
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Store = &endless{Store: g.store}
		g.start()
		after(10 * time.Second)
		if n := g.total(); n < 40 {
			t.Errorf("%d events came", n)
		}
		if p, err := g.store.Progress(t.Context(), "r"); err != nil || p.Cursor < 40_000 {
			t.Errorf("at %d (%v)", p.Cursor, err)
		}
		g.stop()
	})
}

// One of the places behind a receiver hangs, with many events for it; the others
// get theirs at once.
func TestPace_HangingPlaceHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Receivers[0].Group = func(order string) string { return order[:1] }
		g.judge = func(e events.Event, _ int) error {
			if e.Subject[0] == 'a' {
				time.Sleep(10 * time.Second)
				return errNo
			}
			return nil
		}
		g.start()
		var dead []string
		for i := range 300 {
			dead = append(dead, fmt.Sprintf("a%d", i))
		}
		g.emit(0, 1, dead...)
		after(time.Second)
		for n := range 20 {
			g.emit(n, n+1, "b", "c")
			after(time.Second)
			g.wantAll("b", n+1)
			g.wantAll("c", n+1)
		}
		g.stop()
	})
}

// A place that failed gets its full share of the concurrency once it works again.
func TestPace_PlaceThatWorksAgainGetsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Receivers[0].Group = func(order string) string { return order[:1] }
		g.judge = func(e events.Event, try int) error {
			switch {
			case e.Subject == "a-long": // there is always something for the place
				time.Sleep(10 * time.Second)
			case e.Subject == "a-fails" && try == 1:
				return errNo
			default:
				time.Sleep(time.Second)
			}
			return nil
		}
		g.start()
		defer g.stop()
		g.emit(0, 1, "a-long", "a-fails")
		after(5 * time.Second)
		for i := range 23 { // three quarters of 32, but for the long one
			g.emit(0, 1, fmt.Sprintf("a%d", i))
		}
		after(1500 * time.Millisecond)
		if n := g.total(); n != 24 {
			t.Errorf("%d of 24 events came", n)
		}
	})
}
