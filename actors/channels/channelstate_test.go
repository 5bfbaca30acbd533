package channels

import (
	"sync"
	"testing"
)

// A broker that ends waits for its last changes while more are being issued:
// results of status requests arrive until it has ended.
func TestChannelState_WaitsForWritesWhileMoreBegin(t *testing.T) {
	t.Parallel()
	s := newChannelState(1, 1)
	var writers, waiters sync.WaitGroup
	stop := make(chan struct{})
	waiters.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.writes.wait()
			}
		}
	})
	writers.Go(func() {
		for range 5_000 {
			s.writes.begin()
			done := make(chan struct{})
			go func() {
				s.writes.end() // as the writer's goroutine does
				close(done)
			}()
			<-done
		}
	})
	writers.Wait()
	close(stop)
	waiters.Wait()
}
