package supervise

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// However many functions are started at once, each runs, none waits for another,
// and no more goroutines are kept than allowed. The bubble ends only when no
// goroutine is left.
func TestPoolRunsEverythingAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, many = 3, 50
		c := NewPool(most)
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
		c.Go(func() { ran.Add(1) }) // a function started after Close runs too, and leaves no goroutine behind
		synctest.Wait()
		if n := ran.Load(); n != 4*many+1 {
			t.Errorf("after Close %d functions had run", n)
		}
	})
}

// The goroutine that finished last is reused first.
func TestPoolUsesWarmGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewPool(3)
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
