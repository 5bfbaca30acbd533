package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/outbound"
	"weir/internal/webhooksign"
	"weir/persistence"
)

// Scenario 254.
func TestWebhooks_BothSecretsSignDuringARotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		old := g.add("wh1")
		g.start()
		defer g.stop()
		after(time.Second)
		fresh := webhooksign.NewSecret()
		g.emit(0, 1, "a")
		after(time.Second)
		g.change("wh1", func(w *events.Webhook) {
			if err := w.Rotate(fresh, time.Now(), time.Hour); err != nil {
				t.Error(err)
			}
		})
		after(time.Second)
		g.emit(1, 2, "a")
		after(time.Hour)
		g.emit(2, 3, "a")
		after(time.Second)
		for i, secrets := range [][]string{{old.Secret}, {fresh, old.Secret}, {fresh}} {
			e := g.tried("wh1")[i]
			want, err := webhooksign.Header(e.id, e.at, []byte(e.body), secrets...)
			if err != nil || e.header.Get("Webhook-Signature") != want.Get("Webhook-Signature") {
				t.Errorf("event %d has the signature %s, want %s", i, e.header.Get("Webhook-Signature"), want.Get("Webhook-Signature"))
			}
		}
	})
}

// Scenario 255.
func TestWebhooks_ReplayedEventsKeepTheirIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.o.GiveUp = 10 * time.Minute
		g.add("wh1")
		g.start()
		defer g.stop()
		after(time.Second)
		begun := time.Now()
		// Two of four subjects fail for so long that their events are abandoned.
		g.judged(func(_ string, e hookEvent) (int, string, error) {
			if e.subject == "a" || e.subject == "b" {
				return 400, "", nil
			}
			return 200, "", nil
		})
		g.emit(0, 3, "a", "b", "c", "d")
		for range 16 { // others go on, and keep it enabled
			after(time.Minute)
			g.emit(1000, 1001, "x")
		}
		g.wantAll("wh1", "c", 3)
		g.wantAll("wh1", "a", 0)
		list, err := g.store.Tries(t.Context(), "wh1", 0, 200)
		if err != nil || !slices.ContainsFunc(list, func(x events.Try) bool { return x.Abandoned && x.Status == 400 && x.Error == "status" }) ||
			!slices.ContainsFunc(list, func(x events.Try) bool { return x.Error == "" && x.Status == 200 }) {
			t.Errorf("tries: %+v (%v)", list, err)
		}
		g.judged(nil)
		n, more, err := g.store.ReplayFailed(t.Context(), "wh1", begun)
		if err != nil || n != 6 || more {
			t.Errorf("%d replayed, more %v (%v)", n, more, err)
		}
		after(time.Second)
		g.wantAll("wh1", "a", 3)
		g.wantAll("wh1", "b", 3)
		done := len(g.tried("wh1"))
		first, err := g.store.EventsSince(t.Context(), 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.store.ReplayEvent(t.Context(), "wh1", first[0], time.Now()); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if list := g.tried("wh1"); len(list) != done+1 || list[done].n != 0 || list[done].subject != "a" {
			t.Errorf("%d tries after the replay of one, %d before", len(list), done)
		}
		g.wantAll("wh1", "a", 3) // with the id that it had
	})
}

var errCrash = errors.New("crashed")

// crashing is a store and a caller that end a process at its nth step, before the step or
// after it.
type crashing struct {
	*persistence.Store
	g     *hookRig
	mu    sync.Mutex
	left  int
	late  bool // after the step
	dead  bool
	crash func()
}

// step counts a step and reports whether the process is dead before it, or after it.
func (c *crashing) step() (before, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return true, true
	}
	if c.left--; c.left != 0 {
		return false, false
	}
	c.dead = true
	go c.crash()
	return !c.late, true
}

func (c *crashing) do(f func() error) error {
	before, behind := c.step()
	if before {
		return errCrash
	}
	if err := f(); err != nil || !behind {
		return err
	}
	return errCrash
}

func (c *crashing) Advance(ctx context.Context, s events.Step) error {
	return c.do(func() error { return c.Store.Advance(ctx, s) })
}

func (c *crashing) AdoptReplays(ctx context.Context, id string, now time.Time) error {
	return c.do(func() error { return c.Store.AdoptReplays(ctx, id, now) })
}

func (c *crashing) Do(ctx context.Context, method, url string, header http.Header, body []byte) (answer outbound.Answer, err error) {
	err = c.do(func() error {
		answer, err = c.g.Do(ctx, method, url, header, body)
		return err
	})
	if err != nil {
		return outbound.Answer{}, &outbound.Error{Kind: outbound.Unreachable, Message: "crashed", Cause: err}
	}
	return answer, nil
}

// The process dies before and after each of its first steps: a request, the progress
// behind it, the adoption of a replay. The next one delivers everything, in order.
// Scenario 256.
func TestWebhooks_LoseNothingWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 24; step++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %v", step, late), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { crashAt(t, step, late) })
			})
		}
	}
}

func crashAt(t *testing.T, step int, late bool) {
	g := newHookRig(t)
	g.add("wh1")
	g.judged(func(_ string, e hookEvent) (int, string, error) {
		if len(g.tried("wh1")) < 4 || e.subject == "b" && e.at.Before(time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)) {
			return 500, "", nil
		}
		return 200, "", nil
	})
	crashed, started := make(chan struct{}), make(chan struct{})
	c := &crashing{Store: g.store, g: g, left: step, late: late}
	c.crash = func() {
		<-started // the first step may come before Start returns
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = g.system.Close(ctx)
		close(crashed)
	}
	o, h := g.o, g.h
	o.Store, h.Store, h.Calls, o.Webhooks = c, c, c, &h
	s, err := delivery.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	g.system = s
	close(started)
	g.emit(0, 3, "a", "b")
	after(2 * time.Second)
	// If it crashed early, the event is still to be delivered.
	if err := g.store.ReplayEvent(t.Context(), "wh1", events.Event{ID: 1, Subject: "a"}, time.Now()); err != nil && weir.CodeOf(err) != weir.CodeConflict {
		t.Fatal(err)
	}
	g.emit(3, 5, "a", "b")
	select {
	case <-crashed:
	case <-time.After(2 * time.Minute):
		t.Fatalf("there is no step %d", step)
	}
	g.start()
	defer g.stop()
	after(10 * time.Minute)
	g.wantAll("wh1", "a", 5)
	g.wantAll("wh1", "b", 5)
	g.mu.Lock()
	defer g.mu.Unlock()
	firsts := 0
	for _, e := range g.got["wh1"] {
		if e.subject == "a" && e.n == 0 {
			firsts++
		}
	}
	if firsts < 1 {
		t.Error("the replayed event never came")
	}
}
