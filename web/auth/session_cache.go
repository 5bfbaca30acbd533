package auth

import (
	"sync"
	"time"

	"weir/operators"
)

const (
	// SessionLife is the max lifetime of a session, even if it is in use.
	SessionLife = 12 * time.Hour
	sessionIdle = 2 * time.Hour // an unused session ends after this time
	// sessionStep is the min extension of a session that is written to the
	// store.
	sessionStep = 5 * time.Minute
	// sessionMaxAge is how long a session is cached: a logout in one process
	// reaches the others within this time.
	sessionMaxAge = 5 * time.Second
	sessionRead   = 2 * time.Second // timeout of the read
	maxSessions   = 4096            // cached
)

// sessionEnd returns when a session that is used now expires.
func sessionEnd(created, now time.Time) time.Time {
	end, idle := created.Add(SessionLife), now.Add(sessionIdle)
	if idle.Before(end) {
		return idle
	}
	return end
}

// sessions caches sessions of the store, including ids without one.
type sessions struct {
	store operators.SessionStore
	mu    sync.Mutex
	known map[operators.TokenHash]*session
}

// session is a cached row of the store. It is immutable.
type session struct {
	key     *key // nil: there is no session
	expires time.Time
	stale   time.Time // when it must be read again
}

// opens returns the key of a session; nil: the session has ended.
func (s *session) opens(now time.Time) *key {
	if s.key == nil || s.key.revoked.Load() || !s.key.Live(now) || !now.Before(s.expires) {
		return nil
	}
	return s.key
}

func (c *sessions) get(id operators.TokenHash) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}

// put replaces the cached entry, unless it changed during the read: a session
// that ended meanwhile stays ended. If the entry was evicted meanwhile, put
// caches it again. It returns the entry now cached.
func (c *sessions) put(id operators.TokenHash, was, is *session, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cur := c.known[id]; cur != was && cur != nil {
		return cur
	}
	c.set(id, is, now)
	return is
}

// set evicts entries if the cache is full. The caller holds the lock.
func (c *sessions) set(id operators.TokenHash, is *session, now time.Time) {
	if len(c.known) >= maxSessions {
		for old, s := range c.known {
			if !now.Before(s.stale) || len(c.known) >= maxSessions {
				delete(c.known, old)
			}
		}
	}
	c.known[id] = is
}
