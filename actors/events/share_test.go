package events_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
)

// One place behind a receiver gets three quarters of the concurrency while it works, and
// an eighth while it fails.
func TestRunner_BoundsTheShareOfOnePlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want int
	}{"works": {nil, 12}, "fails": {errNo, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.o.Concurrency = 16
				g.o.Receivers[0].Group = func(order string) string { return order[:1] }
				var mu sync.Mutex
				inFlight, most := 0, 0
				g.judge = func(events.Event, int) error {
					mu.Lock()
					inFlight++
					most = max(most, inFlight)
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					inFlight--
					return tt.err
				}
				g.start()
				g.emit(0, 1, "a0")
				after(time.Second)
				var subjects []string
				for n := range 100 {
					subjects = append(subjects, fmt.Sprint("a", n+1))
				}
				g.emit(0, 1, subjects...)
				after(350 * time.Millisecond) // it is known whether the place works
				mu.Lock()
				most = 0
				mu.Unlock()
				after(300 * time.Millisecond)
				mu.Lock()
				got := most
				mu.Unlock()
				if got != tt.want {
					t.Errorf("%d deliveries at once, want %d of 16", got, tt.want)
				}
				g.stop()
			})
		})
	}
}

// A webhook that fails gets one event at a time, after pauses that grow from a second; a
// success ends them.
func TestRunner_PausesOfAFailingWebhookGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.add("a")
		g.judged(down(500))
		g.latency["a"] = 10 * time.Millisecond
		g.start()
		after(time.Second)
		var subjects []string
		for n := range 40 {
			subjects = append(subjects, fmt.Sprint("s", n))
		}
		g.emit(0, 1, subjects...)
		after(2 * time.Minute)
		list := g.tried("a")
		if len(list) < 10 {
			t.Fatalf("%d tries in two minutes", len(list))
		}
		for i, e := range list[1:] {
			pause, low, high := e.at.Sub(list[i].at), time.Duration(0), 100*time.Millisecond
			if i >= 4 { // the pause after the nth failure is doubled each time, half of it at random
				high = time.Second<<(i-4) + 100*time.Millisecond
				low = time.Second << (i - 4) / 2
			}
			if pause < low || pause > high {
				t.Errorf("the pause after failure %d is %v, want %v to %v", i+1, pause, low, high)
			}
		}
		g.judged(nil)
		after(5 * time.Minute)
		for _, s := range subjects {
			g.wantAll("a", s, 1)
		}
		g.stop()
	})
}

// Places that fail leave room for one that works, however many events they have.
func TestRunner_FailingPlacesLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.o.Concurrency = 16
		g.o.Receivers[0].Group = func(order string) string { return order[:1] }
		g.judge = func(e events.Event, _ int) error {
			if e.Subject[0] == 'c' {
				return nil
			}
			time.Sleep(10 * time.Second)
			return errNo
		}
		g.start()
		g.emit(0, 1, "a", "b")
		after(10100 * time.Millisecond) // it is known that they fail
		var subjects []string
		for n := range 50 {
			subjects = append(subjects, fmt.Sprint("a", n), fmt.Sprint("b", n))
		}
		g.emit(0, 1, subjects...)
		after(time.Second)
		g.emit(0, 1, "c")
		after(time.Second)
		g.wantAll("c", 1)
		g.stop()
	})
}
