package care

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// However many functions are begun at once, each runs, none waits for another,
// and no more goroutines stay than were asked for. The bubble ends only when
// none is left.
func TestCrewRunsEverythingAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, many = 3, 50
		c := NewCrew(most)
		var ran atomic.Int32
		for range 4 {
			hold := make(chan struct{})
			for range many {
				c.Go(func() { ran.Add(1); <-hold })
			}
			synctest.Wait()
			close(hold)
			synctest.Wait()
			if len(c.idle) != most {
				t.Errorf("%d goroutines wait, want %d", len(c.idle), most)
			}
		}
		if n := ran.Load(); n != 4*many {
			t.Errorf("%d functions ran of %d", n, 4*many)
		}
		c.Close()
		c.Close()
		c.Go(func() { ran.Add(1) }) // what comes after the end runs too, and leaves nobody behind
		synctest.Wait()
		if n := ran.Load(); n != 4*many+1 {
			t.Errorf("after Close %d functions had run", n)
		}
	})
}

// A goroutine that ended its function is the next to be used.
func TestCrewUsesWarmGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewCrew(3)
		defer c.Close()
		seen := map[string]bool{}
		for range 20 {
			c.Go(func() {
				text := make([]byte, 32)
				seen[string(text[:runtime.Stack(text, false)])] = true // goroutine 7 [running]: …
			})
			synctest.Wait()
		}
		if len(seen) != 1 {
			t.Errorf("one after the other ran on %d goroutines", len(seen))
		}
	})
}
