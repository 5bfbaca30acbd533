package channels

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestGoroutines_BeginAllWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGoroutines()
		defer g.end() // else the test fails, because goroutines are left
		for range 3 {
			var begun atomic.Int32
			release := make(chan struct{})
			for range 3 * spareGoroutines {
				g.Schedule(func() { begun.Add(1); <-release })
			}
			synctest.Wait()
			if n := begun.Load(); n != 3*spareGoroutines {
				t.Fatalf("%d of %d have begun", n, 3*spareGoroutines)
			}
			close(release)
			synctest.Wait()
			if n := g.spare.Load(); n != spareGoroutines {
				t.Fatalf("%d goroutines wait for work, want %d", n, spareGoroutines)
			}
		}
	})
}

func TestGoroutines_RunWorkAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGoroutines()
		g.Schedule(func() {})
		synctest.Wait()
		g.end()
		done := make(chan struct{})
		g.Schedule(func() { close(done) })
		<-done
	})
}

func TestGoroutines_AreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGoroutines()
		defer g.end()
		for range 100 {
			g.Schedule(func() {})
			synctest.Wait()
		}
		if n := g.spare.Load(); n != 1 {
			t.Errorf("%d goroutines for work that never overlaps", n)
		}
	})
}
