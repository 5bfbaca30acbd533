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

// ConcurrencyLimit limits concurrent operations: in total, and per token, so that
// no client takes all of the capacity.
type ConcurrencyLimit struct {
	max, perToken int

	mu    sync.Mutex
	used  int
	of    map[string]int // by token
	freed chan struct{}  // closed when an operation ends
}

// NewConcurrencyLimit returns a limit with no operation in progress.
func NewConcurrencyLimit(maximum, perToken int) *ConcurrencyLimit {
	return &ConcurrencyLimit{max: maximum, perToken: perToken, of: map[string]int{}, freed: make(chan struct{})}
}

// Acquire waits up to within until the token who may begin an operation; ok is
// false if that time or ctx ends first. The caller ends the operation with release. An empty
// who, while no token is needed, is subject only to the total limit.
func (s *ConcurrencyLimit) Acquire(ctx context.Context, who string, within time.Duration) (release func(), ok bool) {
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
	if s.used >= s.max || who != "" && s.of[who] >= s.perToken {
		return s.freed, false
	}
	s.used++
	s.of[who]++
	return nil, true
}

func (s *ConcurrencyLimit) release(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.of[who]--; s.of[who] == 0 {
		delete(s.of, who)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}
