package page

import (
	"sync"
	"time"

	"weir/web/auth"
)

// MaxCached is the maximum number of entries kept of a kind; beyond it, values are
// computed every time. There are never more streams than that, and entries created
// by requesting ever new addresses would be of no use.
const MaxCached = auth.MaxStreams

// Cache keeps a value computed for one browser for a moment, for all with the same
// rights: ten browsers cost about as much as one. The keys include the rights.
type Cache[T any] struct {
	life    time.Duration
	mu      sync.Mutex
	swept   time.Time
	entries map[string]*cacheEntry[T]
}

type cacheEntry[T any] struct {
	asked time.Time // guarded by the lock of the cache
	mu    sync.Mutex
	made  time.Time // start of the computation
	value T
}

// NewCache returns a cache that keeps values for a while.
func NewCache[T any](life time.Duration) *Cache[T] {
	return &Cache[T]{life: life, entries: map[string]*cacheEntry[T]{}}
}

// Get returns the value of a key. Concurrent callers wait for one computation. A
// failed computation is not cached.
func (c *Cache[T]) Get(key string, read func() (T, error)) (T, error) {
	return c.getSince(key, time.Time{}, read)
}

// getSince returns the value of a key as of at or later, for a caller that has already
// seen the state at that time.
func (c *Cache[T]) getSince(key string, at time.Time, read func() (T, error)) (T, error) {
	e := c.entryOf(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if !e.made.IsZero() && !e.made.Before(at) && now.Sub(e.made) < c.life {
		return e.value, nil
	}
	value, err := read()
	if err == nil {
		e.value, e.made = value, now
	}
	return value, err
}

func (c *Cache[T]) entryOf(key string) *cacheEntry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.swept) > 10*c.life {
		c.swept = now
		for k, e := range c.entries {
			if now.Sub(e.asked) > 10*c.life {
				delete(c.entries, k)
			}
		}
	}
	e := c.entries[key]
	if e == nil {
		e = &cacheEntry[T]{}
		if len(c.entries) < MaxCached {
			c.entries[key] = e
		}
	}
	e.asked = now
	return e
}

// ChartsLife is how long charts are cached: their steps are minutes long.
const ChartsLife = 10 * time.Second
