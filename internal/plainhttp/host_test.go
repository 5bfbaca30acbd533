package plainhttp

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Idle connections are closed when their time is over, each at its own, and no
// more of them are kept than allowed.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{most: 3, keep: time.Minute}
		var mu sync.Mutex
		var ends []time.Duration
		begun := time.Now()
		add := func() {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 1)) // until it is closed
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, time.Since(begun))
			}()
			h.put(newConn(ours, 0), time.Now())
		}
		add()
		time.Sleep(20 * time.Second)
		add()
		time.Sleep(10 * time.Second)
		add()
		add() // one too many
		synctest.Wait()
		time.Sleep(45 * time.Second) // 75 s: the first is closed
		c := h.take()                // the latest
		time.Sleep(3 * time.Minute)
		c.close()
		synctest.Wait()
		want := []time.Duration{30 * time.Second, time.Minute, 80 * time.Second, 255 * time.Second}
		mu.Lock()
		defer mu.Unlock()
		if d := cmp.Diff(want, ends); d != "" {
			t.Errorf("ends (-want +got):\n%s", d)
		}
		h.close()
	})
}
