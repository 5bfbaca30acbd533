package dashboard

import (
	"sync"
	"time"

	"weir/web"
)

// mostShared is the maximum number of entries kept of a kind; beyond it, values are
// computed every time. There are never more streams than that, and entries created
// by requesting ever new addresses would be of no use.
const mostShared = web.MaxStreams

// shared caches a value computed for one browser for a moment, for all with the
// same rights: ten browsers cost about as much as one. The keys include the rights.
type shared[T any] struct {
	life    time.Duration
	now     func() time.Time
	mu      sync.Mutex
	swept   time.Time
	entries map[string]*sharedEntry[T]
}

type sharedEntry[T any] struct {
	asked time.Time // guarded by the lock of shared
	mu    sync.Mutex
	made  time.Time // start of the computation
	value T
}

func newShared[T any](life time.Duration, now func() time.Time) *shared[T] {
	return &shared[T]{life: life, now: now, entries: map[string]*sharedEntry[T]{}}
}

// of returns the value of a key. Concurrent callers wait for one computation. A
// failed computation is not cached.
func (s *shared[T]) of(key string, read func() (T, error)) (T, error) {
	return s.since(key, time.Time{}, read)
}

// since returns the value of a key as of at or later, for a caller that has already
// seen the state at that time.
func (s *shared[T]) since(key string, at time.Time, read func() (T, error)) (T, error) {
	e := s.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := s.now()
	if !e.made.IsZero() && !e.made.Before(at) && now.Sub(e.made) < s.life {
		return e.value, nil
	}
	value, err := read()
	if err == nil {
		e.value, e.made = value, now
	}
	return value, err
}

func (s *shared[T]) entry(key string) *sharedEntry[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.swept) > 10*s.life {
		s.swept = now
		for k, e := range s.entries {
			if now.Sub(e.asked) > 10*s.life {
				delete(s.entries, k)
			}
		}
	}
	e := s.entries[key]
	if e == nil {
		e = &sharedEntry[T]{}
		if len(s.entries) < mostShared {
			s.entries[key] = e
		}
	}
	e.asked = now
	return e
}
