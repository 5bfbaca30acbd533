package auth

import (
	"context"
	"sync"
	"time"
)

// Limits of open streams: of events, and separately of the dashboard.
const (
	MaxStreams         = 256
	MaxStreamsPerToken = 64 // with one token
)

// ConcurrencyLimit limit concurrency: in total, and per token, so that no client takes all
// seats.
type ConcurrencyLimit struct {
	all, share int

	mu    sync.Mutex
	taken int
	of    map[string]int // by token
	freed chan struct{}  // closed when a seat is released
}

// NewConcurrencyLimit returns seats that are all free.
func NewConcurrencyLimit(all, share int) *ConcurrencyLimit {
	return &ConcurrencyLimit{all: all, share: share, of: map[string]int{}, freed: make(chan struct{})}
}

// Acquire waits up to within for a seat for the token who. ok is false if none
// became free. An empty who, while no token is needed, is subject only to the
// total limit.
func (s *ConcurrencyLimit) Acquire(ctx context.Context, who string, within time.Duration) (leave func(), ok bool) {
	wait := time.NewTimer(within)
	defer wait.Stop()
	for {
		freed, ok := s.try(who)
		if ok {
			return sync.OnceFunc(func() { s.release(who) }), true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false
		case <-wait.C:
			return nil, false
		}
	}
}

func (s *ConcurrencyLimit) try(who string) (freed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.all || who != "" && s.of[who] >= s.share {
		return s.freed, false
	}
	s.taken++
	s.of[who]++
	return nil, true
}

func (s *ConcurrencyLimit) release(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[who]--; s.of[who] == 0 {
		delete(s.of, who)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}
