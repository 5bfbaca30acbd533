package dashboard

import (
	"sync"
	"time"

	"weir/web"
)

// mostShared bounds what is kept of a kind; more is made anew each time. Streams
// are no more than that, and what others keep by asking for ever new addresses
// is no use to anybody.
const mostShared = web.MaxStreams

// shared keeps what was made for one browser for a moment, for all who may see
// the same: ten browsers cost about what one does. Its keys name the rights.
type shared[T any] struct {
	life    time.Duration
	now     func() time.Time
	mu      sync.Mutex
	swept   time.Time
	entries map[string]*sharedEntry[T]
}

type sharedEntry[T any] struct {
	asked time.Time // under the lock of shared
	mu    sync.Mutex
	made  time.Time // when it was begun to be made
	value T
}

func newShared[T any](life time.Duration, now func() time.Time) *shared[T] {
	return &shared[T]{life: life, now: now, entries: map[string]*sharedEntry[T]{}}
}

// of gives what key stands for. Who comes while it is being made waits for it.
// What could not be made is not kept.
func (s *shared[T]) of(key string, read func() (T, error)) (T, error) {
	return s.since(key, time.Time{}, read)
}

// since gives what key stands for as it was at an instant, or later: for who
// has seen what was then.
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
